/**
 * Where replicas stand on the stage: on one ring, or, when the group is parted, on a ring for each region, regions side by side. Pure geometry, in the stage's pixels.
 *
 * Invariants: every replica has a place, none stands on another, and all of them lie within the stage with their captions.
 */
import type { Point } from '../layout/ring.ts';
import type { Regions } from './regions.ts';

export interface StageSize {
  readonly width: number;
  readonly height: number;
}

export interface RegionPlace {
  readonly ids: readonly string[];
  readonly left: number;
  readonly right: number;
}

export interface Places {
  readonly nodes: ReadonlyMap<string, Point>;
  /** Of a replica's disc. */
  readonly radius: number;
  /** From left to right. One: the group is whole. */
  readonly regions: readonly RegionPlace[];
}

/** Room for a replica's caption below its disc, and to the left and right of it. */
const captionHeight = 62;
const captionWidth = 84;
const radiusMax = 46;
const radiusMin = 18;

export function placesOf(regions: Regions, size: StageSize): Places {
  const count = regions.reduce((sum, region) => sum + region.length, 0);
  const radius = Math.round(
    Math.min(
      radiusMax,
      Math.max(
        radiusMin,
        Math.min(size.width / (2 + 1.7 * Math.sqrt(count)), size.height) /
          (5 + Math.max(0, count - 3) * 0.55),
      ),
    ),
  );
  const shares = regions.map((region) => Math.sqrt(region.length) + 0.6);
  const whole = shares.reduce((sum, share) => sum + share, 0);
  const nodes = new Map<string, Point>();
  let left = 0;
  const placed = regions.map((region, index): RegionPlace => {
    const right = left + (size.width * shares[index]!) / whole;
    for (const [id, at] of ring(region, { left, right, height: size.height, radius })) nodes.set(id, at);
    const place = { ids: region, left, right };
    left = right;
    return place;
  });
  return { nodes, radius, regions: placed };
}

/** Below it discs and captions would stand on each other. */
const presentedMin: StageSize = { width: 320, height: 220 };

/** How large the stage is drawn, of what is wanted: as it is where there is no room for more, as on a phone. */
export function scaleThatFits(wanted: number, { width, height }: StageSize): number {
  return width / wanted < presentedMin.width || height / wanted < presentedMin.height ? 1 : wanted;
}

interface Room {
  readonly left: number;
  readonly right: number;
  readonly height: number;
  readonly radius: number;
}

function ring(ids: readonly string[], room: Room): readonly (readonly [string, Point])[] {
  const width = room.right - room.left;
  const above = room.radius + 14;
  const below = room.radius + captionHeight;
  const middle = (room.left + room.right) / 2;
  const low = room.height - below;
  if (ids.length === 1) return [[ids[0]!, { x: middle, y: (above + low) / 2 }]];
  const wide = Math.max(
    room.radius,
    Math.min(
      width / 2 - Math.max(room.radius, captionWidth / 2) - 8,
      ((low - above) / 2) * (ids.length > 5 ? 2.1 : 1.6),
    ),
  );
  // Two stand side by side.
  const first = ids.length === 2 ? Math.PI : -Math.PI / 2;
  const angles = ids.map((_, index) => first + (2 * Math.PI * index) / ids.length);
  const sines = angles.map((angle) => (ids.length === 2 ? 0 : Math.sin(angle)));
  const [least, most] = [Math.min(...sines), Math.max(...sines)];
  return ids.map((id, index) => {
    // From the upper end of the room to its lower one, however many there are.
    const share = most === least ? 0.5 : (sines[index]! - least) / (most - least);
    return [id, { x: middle + wide * Math.cos(angles[index]!), y: above + (low - above) * share }];
  });
}

/** The region that a point lies in. */
export function regionAt(places: Places, { x }: Point): number {
  const found = places.regions.findIndex(({ left, right }) => x >= left && x < right);
  return found >= 0 ? found : x < 0 ? 0 : places.regions.length - 1;
}

/** Who stands on which side of the straight line through two points; null: all of them on one. */
export function sidesOf(nodes: Places['nodes'], from: Point, to: Point): Regions | null {
  const sides: [string[], string[]] = [[], []];
  for (const [id, at] of nodes) {
    const cross = (to.x - from.x) * (at.y - from.y) - (to.y - from.y) * (at.x - from.x);
    sides[cross < 0 ? 0 : 1].push(id);
  }
  return sides[0].length === 0 || sides[1].length === 0 ? null : sides;
}

/** Dragged so far from where it stands that it is meant to be alone. */
export function isAway(from: Point, to: Point, { radius }: Places): boolean {
  return Math.hypot(to.x - from.x, to.y - from.y) > radius * 2.2;
}
