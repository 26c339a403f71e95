/**
 * The directed links between replicas as curves, and which one is under the pointer. Pure geometry, in the stage's pixels.
 *
 * Keeps: the two directions of a link never share a point (each bends to the left as its sender sees it), and a curve starts and ends outside of the discs.
 */
import type { Point } from '../layout/ring.ts';
import type { Places } from './places.ts';

export interface Curve {
  readonly start: Point;
  readonly control: Point;
  readonly end: Point;
}

const gap = 7;
/** Of the distance between both replicas. */
const bend = 0.09;

export function curveOf(from: Point, to: Point, radius: number): Curve {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const offset = Math.min(44, Math.max(16, length * bend));
  const control = {
    x: (from.x + to.x) / 2 + ((to.y - from.y) / length) * offset,
    y: (from.y + to.y) / 2 - ((to.x - from.x) / length) * offset,
  };
  return { start: towards(from, control, radius + gap), control, end: towards(to, control, radius + gap) };
}

/** `share`: 0 where it starts, 1 where it ends. */
export function pointOn(
  { start, control, end }: Curve,
  share: number,
): { readonly at: Point; readonly heading: number } {
  const rest = 1 - share;
  const along = (a: number, b: number, c: number): number =>
    rest * rest * a + 2 * rest * share * b + share * share * c;
  const slope = (a: number, b: number, c: number): number => rest * (b - a) + share * (c - b);
  return {
    at: { x: along(start.x, control.x, end.x), y: along(start.y, control.y, end.y) },
    heading: Math.atan2(slope(start.y, control.y, end.y), slope(start.x, control.x, end.x)),
  };
}

export interface Ends {
  readonly from: string;
  readonly to: string;
}

/** Every directed link of a group. */
export function linksOf(ids: readonly string[]): readonly Ends[] {
  return ids.flatMap((from) => ids.flatMap((to) => (from === to ? [] : [{ from, to }])));
}

const reach = 9;
const samples = 24;

/** The link under the pointer; null: none. */
export function linkAt(ids: readonly string[], { nodes, radius }: Places, { x, y }: Point): Ends | null {
  let best: Ends | null = null;
  let bestDistance = reach;
  for (const link of linksOf(ids)) {
    const from = nodes.get(link.from);
    const to = nodes.get(link.to);
    if (from === undefined || to === undefined) continue;
    const curve = curveOf(from, to, radius);
    for (let step = 0; step <= samples; step += 1) {
      const { at } = pointOn(curve, step / samples);
      const distance = Math.hypot(at.x - x, at.y - y);
      if (distance >= bestDistance) continue;
      best = link;
      bestDistance = distance;
    }
  }
  return best;
}

/** The replica under the pointer; null: none. */
export function nodeAt({ nodes, radius }: Places, { x, y }: Point): string | null {
  for (const [id, at] of nodes) if (Math.hypot(at.x - x, at.y - y) <= radius + 4) return id;
  return null;
}

function towards(from: Point, to: Point, distance: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  return {
    x: from.x + ((to.x - from.x) / length) * distance,
    y: from.y + ((to.y - from.y) / length) * distance,
  };
}
