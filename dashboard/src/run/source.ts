/**
 * Where the run that the page shows comes from: a live cluster, a simulated group, a file. The page's only input.
 *
 * Responsible for: what a source tells, what it can be asked, and whether its world's time can be held. Keeps nothing of the run: the store does (run-history.ts).
 * Invariant: the times that a source gives are of the run's own clock, and do not go back, but behind `onBegun`.
 */
import type { Connection } from '../model/dashboard-state.ts';
import type { Frame } from '../model/frames.ts';
import type { RunRequests } from './requests.ts';

export type SourceKind = 'live' | 'simulated' | 'file';

export interface SourceListener {
  /** `atMs`: on the run's clock. Frames may come one by one: the store gathers them. */
  readonly onFrames: (frames: readonly Frame[], atMs: number) => void;
  /** Whether more can come and anything can be asked. A source that needs no connection says `open` once. */
  readonly onConnection: (connection: Connection) => void;
  /** The run begins anew, as when it was forked or another seed was taken: what was told before counts no more. What it is now follows, from its beginning on. */
  readonly onBegun: () => void;
}

export interface RunSource {
  readonly kind: SourceKind;
  /** Which one of its kind, in a few words for people: `main` of a cluster, `seed 16`, a file's name. */
  readonly title: string;
  /** From now on; one listener at a time. Calling what it returns ends it. */
  subscribe(listener: SourceListener): () => void;
  /** Where the run's clock is. Live: the page's clock, in milliseconds since the epoch. Simulated: the group's. A file's: its end. */
  nowMs(): number;
  /** Null: nothing can be asked of it. */
  readonly requests: RunRequests | null;
  /** Null: its world's time passes by itself, so that only the view can be paused. */
  readonly world: WorldTime | null;
  /** Does not wait until a lost connection is tried again. */
  retryNow(): void;
}

export type WorldPace =
  | { readonly mode: 'standing' }
  /** `speed`: milliseconds of the world to one of the wall, as wanted; a world that needs longer takes longer. */
  | { readonly mode: 'running'; readonly speed: number };

/** The time of a world that can be held. */
export interface WorldTime {
  readonly pace: () => WorldPace;
  /** Called when the pace has changed, whoever changed it. Calling what it returns ends it. */
  subscribe(listener: () => void): () => void;
  pause(): void;
  run(speed: number): void;
  /** To the next thing that happens, and stands again; resolves when that has been told. */
  step(): Promise<void>;
  /**
   * Makes the same world again, by its seed and all that was done to it up to then, and stands there: what came later has not happened. The listener hears `onBegun`, and the run up to that moment.
   * Resolves when that has been told.
   */
  fork(atMs: number): Promise<void>;
}
