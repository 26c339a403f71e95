/**
 * The space-time diagram: time to the right, a line for each replica, messages as arrows from the line where they left to the line where they arrived. Pure geometry, in pixels.
 *
 * Of messages that are known at one end only the arrow is as long as a message takes at least, and lost ones end on their way.
 */
import type { Point } from '../layout/ring.ts';
import type { Flight } from '../run/flights.ts';

export interface Arrow {
  readonly flight: Flight;
  readonly start: Point;
  readonly end: Point;
  readonly isLost: boolean;
}

export interface SpaceTime {
  readonly fromUs: number;
  readonly toUs: number;
  readonly left: number;
  readonly right: number;
  /** Of each replica's line. */
  readonly rows: ReadonlyMap<string, number>;
}

const arrowsMax = 2_500;
/** Of a message whose other end is not known. */
const usualUs = 800;
const lostShare = 0.5;

export function rowsOf(ids: readonly string[], top: number, bottom: number): ReadonlyMap<string, number> {
  const step = (bottom - top) / ids.length;
  return new Map(ids.map((id, index) => [id, top + step * (index + 0.5)]));
}

/** Of too many, only every so many are drawn, but of rare kinds all. */
export function arrowsOf(flights: readonly Flight[], view: SpaceTime): readonly Arrow[] {
  const common = flights.filter(({ kind }) => kind !== 'prepare' && kind !== 'promise' && kind !== 'reject');
  const every = Math.max(1, Math.ceil(common.length / arrowsMax));
  const x = (us: number): number =>
    view.left + ((us - view.fromUs) / (view.toUs - view.fromUs)) * (view.right - view.left);
  return flights.flatMap((flight, index): readonly Arrow[] => {
    if (every > 1 && index % every !== 0 && !['prepare', 'promise', 'reject'].includes(flight.kind))
      return [];
    const from = view.rows.get(flight.from);
    const to = view.rows.get(flight.to);
    if (from === undefined || to === undefined) return [];
    const leftUs = flight.leftUs ?? flight.arrivedUs! - usualUs;
    const arrivedUs = flight.arrivedUs ?? leftUs + usualUs * (flight.isLost ? 20 : 1);
    const start = { x: x(leftUs), y: from };
    const whole = { x: x(arrivedUs), y: to };
    const end = flight.isLost
      ? { x: start.x + (whole.x - start.x) * lostShare, y: from + (to - from) * lostShare }
      : whole;
    return [{ flight, start, end, isLost: flight.isLost }];
  });
}

const reach = 8;

/** The arrow under the pointer; null: none. */
export function arrowAt(arrows: readonly Arrow[], at: Point): Arrow | null {
  let best: Arrow | null = null;
  let bestDistance = reach;
  for (const arrow of arrows) {
    const distance = distanceTo(arrow, at);
    if (distance >= bestDistance) continue;
    best = arrow;
    bestDistance = distance;
  }
  return best;
}

function distanceTo({ start, end }: Arrow, { x, y }: Point): number {
  const [dx, dy] = [end.x - start.x, end.y - start.y];
  const length = dx * dx + dy * dy || 1;
  const share = Math.min(1, Math.max(0, ((x - start.x) * dx + (y - start.y) * dy) / length));
  return Math.hypot(start.x + share * dx - x, start.y + share * dy - y);
}
