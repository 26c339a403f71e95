/**
 * A run that can be looked at as of any moment: the frames that were told, each flush with its time on the run's own clock, and the folded state kept every so many flushes.
 *
 * Does not know where frames come from, nor what moment is looked at (playhead.ts).
 * Invariants: `stateAt(t)` is `reduceDashboard` over all that was added up to t, whatever has been let go of since; what is kept is bounded, and the oldest goes first.
 */
import { type DashboardState, initialState, reduceDashboard } from '../model/dashboard-state.ts';
import type { Frame } from '../model/frames.ts';

/** What came at once. */
export interface Moment {
  /** Milliseconds on the run's clock; not before the moment ahead of it. */
  readonly atMs: number;
  readonly frames: readonly Frame[];
}

export interface RunBounds {
  /** Ten minutes of a stream that is gathered for 100 ms. */
  readonly momentsMax: number;
  readonly eventsMax: number;
  /** A state is kept behind every so many moments, or a twelfth of all events: it is up to 1 MB, most of it the votes that each replica holds. */
  readonly momentsBetween: number;
}

export const runBounds: RunBounds = { momentsMax: 6_000, eventsMax: 150_000, momentsBetween: 200 };

const eventsShare = 12;

/** Of all moments up to and with the one of that number. */
interface Keyframe {
  readonly behind: number;
  readonly state: DashboardState;
}

export class RunHistory {
  private readonly bounds: RunBounds;
  private moments: Moment[] = [];
  /** Of `moments[0]`: a moment keeps its number for ever. */
  private firstNumber = 0;
  /** In the order of their numbers; the first is of all that was let go of. */
  private keyframes: Keyframe[] = [{ behind: -1, state: initialState }];
  private events = 0;
  /** Since the last keyframe. */
  private eventsBetween = 0;
  private newestState = initialState;
  /** What was looked at last: what plays goes on from there. */
  private looked: Keyframe | null = null;

  constructor(bounds: RunBounds = runBounds) {
    this.bounds = bounds;
  }

  /** Whatever has been let go of, of everything. */
  get newest(): DashboardState {
    return this.newestState;
  }

  /** Of the first moment that is kept; null: there is none. */
  get firstMs(): number | null {
    return this.moments[0]?.atMs ?? null;
  }

  get lastMs(): number | null {
    return this.moments.at(-1)?.atMs ?? null;
  }

  /** Those that are kept, in order. */
  kept(): readonly Moment[] {
    return this.moments;
  }

  /** A time before the last moment's counts as that. */
  add(atMs: number, frames: readonly Frame[]): void {
    const moment = { atMs: Math.max(atMs, this.lastMs ?? atMs), frames };
    this.moments.push(moment);
    this.events += eventsIn(moment);
    this.newestState = reduced(this.newestState, moment);
    const number = this.firstNumber + this.moments.length - 1;
    this.eventsBetween += eventsIn(moment);
    const { momentsBetween, eventsMax } = this.bounds;
    if (
      number - this.keyframes.at(-1)!.behind >= momentsBetween ||
      this.eventsBetween >= eventsMax / eventsShare
    ) {
      this.keyframes.push({ behind: number, state: this.newestState });
      this.eventsBetween = 0;
    }
    this.letGo();
  }

  /** As of then: before the first moment that is kept, as of what came ahead of it. */
  stateAt(ms: number): DashboardState {
    const last = this.numberAt(ms);
    if (last === this.firstNumber + this.moments.length - 1) return this.newestState;
    const keyframe = this.keyframes.findLast(({ behind }) => behind <= last) ?? this.keyframes[0]!;
    const { looked } = this;
    const from =
      looked !== null && looked.behind <= last && looked.behind > keyframe.behind ? looked : keyframe;
    const state = this.moments
      .slice(from.behind + 1 - this.firstNumber, last + 1 - this.firstNumber)
      .reduce(reduced, from.state);
    this.looked = { behind: last, state };
    return state;
  }

  /** The time of the next moment, or of the one before; null: there is none. */
  next(ms: number): number | null {
    return this.moments[this.numberAt(ms) + 1 - this.firstNumber]?.atMs ?? null;
  }

  before(ms: number): number | null {
    return this.moments.findLast(({ atMs }) => atMs < ms)?.atMs ?? null;
  }

  /** Of the last moment that is not later; one less than the first one's: there is none. */
  private numberAt(ms: number): number {
    let low = 0;
    let high = this.moments.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.moments[middle]!.atMs <= ms) low = middle + 1;
      else high = middle;
    }
    return this.firstNumber + low - 1;
  }

  /** Up to a keyframe at a time, so that the first one is of all that is gone. */
  private letGo(): void {
    const { momentsMax, eventsMax } = this.bounds;
    while (
      (this.moments.length > momentsMax || this.events > eventsMax) &&
      this.keyframes.length > 1 &&
      this.moments.length > 1
    ) {
      this.keyframes.shift();
      const gone = this.moments.splice(0, this.keyframes[0]!.behind + 1 - this.firstNumber);
      this.firstNumber += gone.length;
      this.events -= gone.reduce((sum, moment) => sum + eventsIn(moment), 0);
    }
  }
}

function reduced(state: DashboardState, { atMs, frames }: Moment): DashboardState {
  return reduceDashboard(state, { kind: 'frames', frames, atMs });
}

function eventsIn({ frames }: Moment): number {
  return frames.reduce((sum, frame) => sum + (frame.type === 'events' ? frame.events.length : 0), 0);
}
