/**
 * The time line's geometry: which stretch of a run is in view, where a moment lies in it, and where its ticks are. Pure, in pixels.
 *
 * Invariant: the moment that is looked at lies in view.
 */
import type { Extent } from '../run/playhead.ts';
import type { SourceKind } from '../run/source.ts';

export interface Scale {
  readonly fromMs: number;
  readonly toMs: number;
  /** Where `fromMs` and `toMs` lie. */
  readonly left: number;
  readonly right: number;
}

/** Less is not shown, however short a run is yet. */
const shownMsMin = 10_000;

export function scaleOf(
  extent: Extent,
  spanMs: number,
  momentMs: number,
  place: { readonly left: number; readonly right: number },
): Scale {
  // The newest is at the right, but for what is looked at further back: that is in the middle.
  const toMs =
    momentMs < extent.lastMs - spanMs
      ? Math.min(extent.lastMs, momentMs + spanMs / 2)
      : Math.max(extent.lastMs, momentMs);
  // What was before it began is no time of the run.
  const shownMs = Math.min(spanMs, Math.max(shownMsMin, toMs - extent.firstMs));
  return { fromMs: toMs - shownMs, toMs, ...place };
}

export function xOf({ fromMs, toMs, left, right }: Scale, ms: number): number {
  return left + ((ms - fromMs) / (toMs - fromMs)) * (right - left);
}

export function msAt({ fromMs, toMs, left, right }: Scale, x: number): number {
  return fromMs + ((x - left) / (right - left)) * (toMs - fromMs);
}

const steps = [50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000];
const between = 84;

export interface Tick {
  readonly ms: number;
  readonly label: string;
}

/** No world that is simulated is as old: its clock begins at 0, that of a run that was live in 1970. */
const worldMsMax = 24 * 3_600_000;

/** What times are told from, and its word: of a live run its newest moment, of one that was live and is kept as a file its first, and of a simulated one its world's beginning. */
export function zeroOf(
  kind: SourceKind,
  { firstMs, lastMs }: Extent,
): { readonly zeroMs: number; readonly zero: string } {
  if (kind === 'live') return { zeroMs: lastMs, zero: 'now' };
  return { zeroMs: firstMs > worldMsMax ? firstMs : 0, zero: '0 s' };
}

/** Told from `zeroMs` on, which is `zero` in words: of a live run that is its newest moment, so that ticks read as ages. */
export function ticksOf(scale: Scale, zeroMs: number, zero: string): readonly Tick[] {
  const most = (scale.right - scale.left) / between;
  const stepMs = steps.find((step) => (scale.toMs - scale.fromMs) / step <= most) ?? steps.at(-1)!;
  const first = Math.ceil((scale.fromMs - zeroMs) / stepMs);
  const last = Math.floor((scale.toMs - zeroMs) / stepMs);
  return Array.from({ length: Math.max(0, last - first + 1) }, (_, index) => {
    const offsetMs = (first + index) * stepMs;
    return { ms: zeroMs + offsetMs, label: offsetMs === 0 ? zero : spellOffset(offsetMs) };
  });
}

/** `−12.5 s`, `+3 min`. */
export function spellOffset(ms: number): string {
  const sign = ms < 0 ? '−' : '+';
  const size = Math.abs(ms);
  if (size < 1_000) return `${sign}${Math.round(size)} ms`;
  if (size < 120_000) return `${sign}${Number((size / 1_000).toFixed(1))} s`;
  return `${sign}${Number((size / 60_000).toFixed(1))} min`;
}

/** Thins what lies closer together than can be seen: of each few pixels the first one. */
export function thinned<T extends { readonly atMs: number }>(
  items: readonly T[],
  scale: Scale,
  pixels: number,
): readonly T[] {
  let lastX = Number.NEGATIVE_INFINITY;
  return items.filter(({ atMs }) => {
    if (atMs < scale.fromMs || atMs > scale.toMs) return false;
    const x = xOf(scale, atMs);
    if (x - lastX < pixels) return false;
    lastX = x;
    return true;
  });
}
