/**
 * Where something small floats over the page and covers none of its controls, or as little of them as can be. Pure geometry, in pixels of the window.
 *
 * Invariant: it lies within the window, `edgePx` from its edges, if it fits at all.
 */
export interface Box {
  readonly left: number;
  readonly top: number;
  readonly right: number;
  readonly bottom: number;
}

export interface Size {
  readonly width: number;
  readonly height: number;
}

/** Its lower right corner, from that of the window: what grows there grows upwards and to the left. */
export interface Corner {
  readonly right: number;
  readonly bottom: number;
}

const stepPx = 6;
const clearPx = 4;

/** The nearest to the lower right corner. */
export function freePlace(
  size: Size,
  within: Size,
  controls: readonly Box[],
  edgePx: number,
): { readonly corner: Corner; readonly hidden: number } {
  let best = { corner: { right: edgePx, bottom: edgePx }, hidden: Number.POSITIVE_INFINITY };
  let nearest = Number.POSITIVE_INFINITY;
  for (const bottom of stepsFrom(edgePx, within.height - size.height - edgePx))
    for (const right of stepsFrom(edgePx, within.width - size.width - edgePx)) {
      const corner = { right, bottom };
      const far = Math.hypot(right, bottom);
      if (best.hidden === 0 && far >= nearest) continue;
      const hidden = hiddenAt(corner, size, within, controls);
      if (hidden > best.hidden || (hidden === best.hidden && far >= nearest)) continue;
      best = { corner, hidden };
      nearest = far;
    }
  return best;
}

/** How much of the controls lies below it, or right beside it, in square pixels; infinite where it leaves the window. */
export function hiddenAt(
  { right, bottom }: Corner,
  { width, height }: Size,
  within: Size,
  controls: readonly Box[],
): number {
  if (right + width > within.width || bottom + height > within.height) return Number.POSITIVE_INFINITY;
  const box = {
    left: within.width - right - width - clearPx,
    top: within.height - bottom - height - clearPx,
    right: within.width - right + clearPx,
    bottom: within.height - bottom + clearPx,
  };
  return controls.reduce((sum, control) => sum + overlap(box, control), 0);
}

function stepsFrom(first: number, last: number): readonly number[] {
  return Array.from(
    { length: Math.max(1, Math.floor((last - first) / stepPx) + 1) },
    (_, index) => first + index * stepPx,
  );
}

/** In square pixels. */
export function overlap(one: Box, other: Box): number {
  const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
  const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
  return wide <= 0 || high <= 0 ? 0 : wide * high;
}
