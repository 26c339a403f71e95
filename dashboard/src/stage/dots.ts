/**
 * Messages as dots on their links, as of one moment of the events' clock: what left together on one link, of one kind and ballot, is one dot. Pure geometry.
 *
 * A message takes less time than an eye does, so a dot is on its way for `shownUs` at least. One that was lost, or flies over a link that is cut, ends on the way.
 */
import type { LinkFault } from '../../../server/src/api/status.ts';
import type { Point } from '../layout/ring.ts';
import { linkKey } from '../model/trace-model.ts';
import type { Flight } from '../run/flights.ts';
import type { FlightKind } from '../run/flown-message.ts';
import { curveOf, pointOn } from './links.ts';
import type { Places } from './places.ts';

export interface Dot {
  readonly at: Point;
  /** Where it is heading, in radians. */
  readonly heading: number;
  readonly kind: FlightKind;
  /** The first one of those that fly together. */
  readonly flight: Flight;
  readonly count: number;
  /** 0 to 1: how much of it is gone, if it does not arrive. */
  readonly fading: number;
  readonly radius: number;
}

export interface DotsOptions {
  readonly atUs: number;
  readonly shownUs: number;
  readonly faults: ReadonlyMap<string, LinkFault>;
}

/** Where one that does not arrive ends. */
const endsAt = 0.55;
const bucketsInFlight = 9;
const dotsMax = 400;

export function dotsOf(flights: readonly Flight[], places: Places, options: DotsOptions): readonly Dot[] {
  const { atUs, shownUs, faults } = options;
  const bucketUs = shownUs / bucketsInFlight;
  const groups = new Map<string, { readonly flight: Flight; readonly beganUs: number; count: number }>();
  for (const flight of flights) {
    // What is known by its arrival only has left hardly before it.
    const began = flight.leftUs ?? flight.arrivedUs!;
    const key = `${flight.from}>${flight.to} ${flight.kind} ${Math.floor(began / bucketUs)}`;
    const group = groups.get(key);
    if (group === undefined) groups.set(key, { flight, beganUs: began, count: 1 });
    else group.count += 1;
  }
  const dots: Dot[] = [];
  for (const { flight, beganUs, count } of groups.values()) {
    const from = places.nodes.get(flight.from);
    const to = places.nodes.get(flight.to);
    if (from === undefined || to === undefined || dots.length >= dotsMax) continue;
    const isStopped =
      flight.isLost ||
      (flight.arrivedUs === null && faults.get(linkKey(flight.from, flight.to))?.cut === true);
    const takesUs = isStopped ? shownUs : Math.max(shownUs, (flight.arrivedUs ?? beganUs) - beganUs);
    const share = (atUs - beganUs) / takesUs;
    if (share < 0 || share > 1) continue;
    const along = isStopped ? share * endsAt : share;
    const curve = curveOf(from, to, places.radius);
    const { at, heading } = pointOn(curve, along);
    dots.push({
      at,
      heading,
      kind: flight.kind,
      flight,
      count,
      fading: isStopped ? share : 0,
      radius:
        (flight.kind === 'heartbeat' || flight.kind === 'acknowledgement' ? 2.6 : 4.2) +
        Math.log2(count) * 1.3,
    });
  }
  return dots;
}

const reach = 14;

/** The dot under the pointer; null: none. */
export function dotAt(dots: readonly Dot[], { x, y }: Point): Dot | null {
  let best: Dot | null = null;
  let bestDistance = reach;
  for (const dot of dots) {
    const distance = Math.hypot(dot.at.x - x, dot.at.y - y) - dot.radius / 2;
    if (distance >= bestDistance) continue;
    best = dot;
    bestDistance = distance;
  }
  return best;
}
