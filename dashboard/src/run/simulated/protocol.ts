/**
 * What the page and the simulator, which runs in a Worker, say to each other.
 *
 * The page takes frames one message after the other and says so: a simulator of which too many are under way waits, and its world with it.
 */
import type { Frame } from '../../model/frames.ts';
import type { Act, Deed } from './acts.ts';
import type { RunSetup } from './run-address.ts';

/** `speed`: milliseconds of the world to one of the wall; Infinity: as fast as it goes. `toMs`: where it stands again. */
export type Pace =
  | { readonly mode: 'standing' }
  | { readonly mode: 'running'; readonly speed: number; readonly toMs: number }
  /** Until something more has happened. */
  | { readonly mode: 'stepping' };

/** Answers come in the shapes of the demo's API: what is asked for, or `{error: {code, message}}`. */
export type Ask =
  /** `notBeforeMs`: on the world's clock; missing: now. */
  | { readonly kind: 'act'; readonly deed: Deed; readonly notBeforeMs?: number }
  | { readonly kind: 'slot'; readonly slot: number }
  | { readonly kind: 'step' }
  /** The same world again up to then, where it stands: what came later has not happened. Answered when that has been told. */
  | { readonly kind: 'fork'; readonly atMs: number };

export type ToSimulator =
  /** `atMs`: where to stand; null: it goes on as it happened, from when the clients begin. */
  | { readonly kind: 'begin'; readonly setup: RunSetup; readonly atMs: number | null }
  | { readonly kind: 'pace'; readonly pace: Pace }
  | { readonly kind: 'ask'; readonly id: number; readonly ask: Ask }
  /** One message of frames. */
  | { readonly kind: 'taken' };

export type FromSimulator =
  /** A run begins: what was told before counts no more. */
  | { readonly kind: 'begun'; readonly setup: RunSetup }
  | { readonly kind: 'frames'; readonly frames: readonly Frame[]; readonly atMs: number }
  | { readonly kind: 'pace'; readonly pace: Pace; readonly atMs: number }
  /** All that was done to the world, or is to be. */
  | { readonly kind: 'acts'; readonly acts: readonly Act[] }
  | { readonly kind: 'answer'; readonly id: number; readonly answer: object }
  /** Something is wrong that must not be. */
  | { readonly kind: 'trouble'; readonly text: string }
  /** The world goes on no more, or there is none: nothing comes of it but what a fork begins. */
  | { readonly kind: 'failed'; readonly text: string };

/** Messages of frames that the page has not taken yet. */
export const underWayMax = 20;
