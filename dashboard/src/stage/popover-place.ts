/**
 * Where what is said of a replica stands, so that the other replicas stay visible, and what lies below the stage. Pure geometry, in pixels of the screen within the stage.
 *
 * Invariant: it lies within the stage, or has no place there (null) because it does not fit.
 */
import { type Box, overlap } from '../layout/free-place.ts';
import type { Point } from '../layout/ring.ts';
import type { StageSize } from './places.ts';

export interface PopoverSurroundings {
  readonly stage: StageSize;
  readonly nodes: ReadonlyMap<string, Point>;
  readonly radius: number;
  /** The one of which it speaks. */
  readonly of: string;
  readonly size: StageSize;
}

const edge = 8;
const step = 16;
/** A replica with its caption, beside and below its disc. */
const captionWide = 64;
const captionHigh = 62;

export function popoverPlace({ stage, nodes, radius, of, size }: PopoverSurroundings): Point | null {
  const own = nodes.get(of);
  const room = { x: stage.width - size.width - edge, y: stage.height - size.height - edge };
  if (own === undefined || room.x < edge || room.y < edge) return null;
  const others = [...nodes].filter(([id]) => id !== of).map(([, at]) => at);
  const discs = others.map((at) => discOf(at, radius));
  const captioned = [...nodes.values()].map((at) => captionedOf(at, radius));
  const ownDisc = discOf(own, radius);
  let best: { readonly at: Point; readonly cost: number } | null = null;
  for (const x of [...steps(room.x), ...besides(own.x, radius, size.width, room.x)])
    for (const y of steps(room.y)) {
      const box = { left: x, top: y, right: x + size.width, bottom: y + size.height };
      // First the others, then itself, then what is written below them; and else as near as can be.
      const cost =
        hiddenBy(box, discs) * 1_000 +
        overlap(box, ownDisc) * 100 +
        hiddenBy(box, captioned) * 10 +
        distance(box, own);
      if (best === null || cost < best.cost) best = { at: { x, y }, cost };
    }
  return best?.at ?? null;
}

function steps(to: number): readonly number[] {
  return [
    ...Array.from({ length: Math.floor((to - edge) / step) + 1 }, (_, index) => edge + index * step),
    to,
  ];
}

/** Right beside it. */
function besides(x: number, radius: number, width: number, to: number): readonly number[] {
  const reach = Math.max(radius, captionWide) + 8;
  return [x + reach, x - reach - width].filter((left) => left >= edge && left <= to);
}

function discOf({ x, y }: Point, radius: number): Box {
  return { left: x - radius, right: x + radius, top: y - radius, bottom: y + radius };
}

function captionedOf({ x, y }: Point, radius: number): Box {
  const wide = Math.max(radius, captionWide);
  return { left: x - wide, right: x + wide, top: y - radius, bottom: y + radius + captionHigh };
}

function hiddenBy(box: Box, others: readonly Box[]): number {
  return others.reduce((sum, other) => sum + overlap(box, other), 0);
}

/** From the middle of the box: a line to it is short. */
function distance({ left, top, right, bottom }: Box, { x, y }: Point): number {
  return Math.hypot((left + right) / 2 - x, (top + bottom) / 2 - y);
}
