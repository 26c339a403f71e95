/**
 * Where replicas and the directed links between them go in the drawing of the cluster. Pure geometry, in the drawing's units.
 *
 * Keeps: the two directions of a link never share a point, and an arrow starts and ends outside the circles of its replicas.
 */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Ring {
  readonly center: Point;
  readonly radius: number;
}

/** Evenly on the ring, the first at the top, clockwise. */
export function ringPositions(count: number, ring: Ring): readonly Point[] {
  return Array.from({ length: count }, (_, index) => {
    const angle = -Math.PI / 2 + (2 * Math.PI * index) / count;
    return {
      x: ring.center.x + ring.radius * Math.cos(angle),
      y: ring.center.y + ring.radius * Math.sin(angle),
    };
  });
}

export interface LinkShape {
  /** A quadratic curve, for the `d` of an SVG path. */
  readonly path: string;
  readonly start: Point;
  readonly end: Point;
  /** On the curve, away from where links cross: the place for a label. */
  readonly label: Point;
}

export interface LinkOptions {
  /** Free space around a replica's centre. */
  readonly clearance: number;
  /** How far the curve's control point lies to the left of the straight way. */
  readonly bend: number;
  /** Where the label sits, 0 at the sender, 1 at the receiver. */
  readonly labelAt: number;
}

/** Bends to the left as seen by the sender, so the opposite direction bends to the other side. */
export function linkShape(from: Point, to: Point, options: LinkOptions): LinkShape {
  const control = offsetMiddle(from, to, options.bend);
  const start = towards(from, control, options.clearance);
  const end = towards(to, control, options.clearance);
  const round = (value: number): number => Math.round(value * 100) / 100;
  const path = `M${round(start.x)} ${round(start.y)} Q${round(control.x)} ${round(control.y)} ${round(end.x)} ${round(end.y)}`;
  return { path, start, end, label: quadraticAt(start, control, end, options.labelAt) };
}

function offsetMiddle(from: Point, to: Point, bend: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  const normal = { x: (to.y - from.y) / length, y: -(to.x - from.x) / length };
  return { x: (from.x + to.x) / 2 + normal.x * bend, y: (from.y + to.y) / 2 + normal.y * bend };
}

function towards(from: Point, to: Point, distance: number): Point {
  const length = Math.hypot(to.x - from.x, to.y - from.y) || 1;
  return {
    x: from.x + ((to.x - from.x) / length) * distance,
    y: from.y + ((to.y - from.y) / length) * distance,
  };
}

function quadraticAt(start: Point, control: Point, end: Point, t: number): Point {
  const along = (a: number, b: number, c: number): number =>
    (1 - t) ** 2 * a + 2 * (1 - t) * t * b + t ** 2 * c;
  return { x: along(start.x, control.x, end.x), y: along(start.y, control.y, end.y) };
}
