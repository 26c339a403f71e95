/**
 * What moment of a run is looked at. Pure: times come with the calls.
 *
 * Invariant: the moment never lies outside of what is kept of the run.
 */

/** `speed`: milliseconds of the run to one of the wall. */
export type Playhead =
  | { readonly mode: 'following' }
  | { readonly mode: 'standing'; readonly atMs: number }
  | { readonly mode: 'playing'; readonly atMs: number; readonly speed: number };

/** Of what is kept of the run. */
export interface Extent {
  readonly firstMs: number;
  readonly lastMs: number;
}

export const following: Playhead = { mode: 'following' };

export function momentOf(playhead: Playhead, extent: Extent): number {
  return playhead.mode === 'following' ? extent.lastMs : clamp(playhead.atMs, extent);
}

export function standAt(ms: number, extent: Extent): Playhead {
  return { mode: 'standing', atMs: clamp(ms, extent) };
}

/** From where it stands on; what plays at the end of a run that goes on follows it. */
export function play(playhead: Playhead, speed: number, extent: Extent): Playhead {
  const atMs = momentOf(playhead, extent);
  return atMs >= extent.lastMs ? following : { mode: 'playing', atMs, speed };
}

/** So many milliseconds of the wall later. What comes to the end follows from then on. */
export function passed(playhead: Playhead, wallMs: number, extent: Extent): Playhead {
  if (playhead.mode !== 'playing') return playhead;
  const atMs = clamp(playhead.atMs + wallMs * playhead.speed, extent);
  return atMs >= extent.lastMs ? following : { ...playhead, atMs };
}

function clamp(ms: number, { firstMs, lastMs }: Extent): number {
  return Math.min(Math.max(ms, firstMs), lastMs);
}
