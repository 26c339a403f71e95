/**
 * Which slots the log strips show, and where each cell goes. Pure geometry; one column is one slot, the same for every replica.
 *
 * Keeps: the window never goes below slot 1 nor beyond the last slot (unless all fit), and is `columns` wide.
 */
export interface StripWindow {
  /** The first slot shown. */
  readonly from: number;
  readonly columns: number;
}

/** How many columns fit; at least one. */
export function columnsFor(width: number, pitch: number): number {
  return Math.max(1, Math.floor(width / pitch));
}

/** The highest first slot that still fills the window, a little air left behind the last slot. */
export function tailFrom(lastSlot: number, columns: number): number {
  return Math.max(1, lastSlot - columns + 2);
}

/** `anchor`: the first slot that the reader wants, or null to follow the end of the log. */
export function stripWindow(anchor: number | null, lastSlot: number, columns: number): StripWindow {
  const tail = tailFrom(lastSlot, columns);
  const from = anchor === null ? tail : Math.min(Math.max(1, Math.round(anchor)), tail);
  return { from, columns };
}

/** The window moved so that `slot` is in it, in the middle if it was not. */
export function revealSlot(window: StripWindow, slot: number): number {
  if (slot >= window.from && slot < window.from + window.columns) return window.from;
  return Math.max(1, slot - Math.floor(window.columns / 2));
}

/** The slot under `x`, or null beyond the window. */
export function slotAt(x: number, window: StripWindow, pitch: number): number | null {
  const column = Math.floor(x / pitch);
  return column >= 0 && column < window.columns ? window.from + column : null;
}

/** Slots that get a number on the axis: round steps, so far apart that the numbers do not touch, and not so near to an end that one would be cut off. */
export function axisSlots(window: StripWindow, pitch: number, labelWidth: number): readonly number[] {
  const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((size) => size * pitch >= labelWidth) ?? 1000;
  const first = Math.ceil(window.from / step) * step;
  const count = Math.max(0, Math.floor((window.from + window.columns - 1 - first) / step) + 1);
  const edge = 0.3 * labelWidth;
  return Array.from({ length: count }, (_, index) => first + index * step).filter((slot) => {
    const at = (slot - window.from + 0.5) * pitch;
    return slot > 0 && at >= edge && at <= window.columns * pitch - edge;
  });
}
