/**
 * Lets a world's time pass as fast as somebody wants to watch it, stands still where they want to look, and does what is due at its time.
 *
 * Responsible for: when time goes on. Time that has fallen behind, because the machine was busy, is not made up for.
 * Invariant: an act is done behind all that happens up to its time and ahead of all that happens later, whether it was planned or came while the time was that. So a run is its seed and its acts, however fast it was watched.
 */
import type { SimulatedTime } from '../../server/src/ports/testing/simulated-time.ts';
import { type Act, actsMax, type Deed } from '../src/run/simulated/acts.ts';
import type { Pace } from '../src/run/simulated/protocol.ts';

export interface PacerOptions {
  readonly time: SimulatedTime;
  /** In the order of their times. */
  readonly acts: readonly Act[];
  /** Does it; what it needs of time passes meanwhile. */
  readonly perform: (deed: Deed, onDone: ((answer: object) => void) | null) => void;
  /** How much has happened. */
  readonly happened: () => number;
  /** True: whoever is told of the world has not kept up. */
  readonly isHeldBack: () => boolean;
  /** It stands, or goes on, by itself or because it was told to. */
  readonly onPace: (pace: Pace) => void;
  /** The wall's clock. */
  readonly wallMs: () => number;
}

interface Due {
  readonly atMs: number;
  readonly deed: Deed;
  readonly onDone: ((answer: object) => void) | null;
}

const behindMsMax = 200;

export class Pacer {
  private readonly options: PacerOptions;
  private due: Due[];
  private done: Act[];
  private now: Pace = { mode: 'standing' };
  private since = { worldMs: 0, wallMs: 0 };
  private steppedFrom = 0;
  private ended = false;
  private wakers: (() => void)[] = [];
  private looks: (() => Promise<void>)[] = [];

  constructor(options: PacerOptions) {
    this.options = options;
    this.done = [...options.acts];
    this.due = options.acts.map(([atMs, deed]) => ({ atMs, deed, onDone: null }));
    options.time.pace = (atMs) => this.before(atMs);
  }

  get pace(): Pace {
    return this.now;
  }

  /** All that was done, or is to be. */
  get acts(): readonly Act[] {
    return this.done;
  }

  set(pace: Pace): void {
    this.now = pace;
    this.since = { worldMs: this.options.time.nowMs(), wallMs: this.options.wallMs() };
    this.steppedFrom = this.options.happened();
    this.options.onPace(pace);
    this.wake();
  }

  /** Does it at this time of the world, or at a later one that is given, and notes it. What was planned for later stays planned. False: there were too many. */
  act(deed: Deed, onDone: (answer: object) => void, notBeforeMs = 0): boolean {
    if (this.done.length >= actsMax) return false;
    const atMs = Math.ceil(Math.max(this.options.time.nowMs(), notBeforeMs));
    this.due = inserted(this.due, { atMs, deed, onDone }, (one) => one.atMs);
    this.done = inserted(this.done, [atMs, deed] as Act, ([at]) => at);
    // What is done to a world that stands is seen at once.
    if (this.now.mode === 'standing')
      this.set({ mode: 'running', speed: Number.POSITIVE_INFINITY, toMs: atMs });
    this.wake();
    return true;
  }

  /** Looks at something while time stands still. */
  look(work: () => Promise<void>): void {
    this.looks.push(work);
    this.wake();
  }

  /** It may be that nobody is behind any more, or that somebody waits for something between two moments. */
  wake(): void {
    for (const waker of this.wakers.splice(0)) waker();
  }

  /** Time never goes on. */
  end(): void {
    this.ended = true;
    this.wake();
  }

  private async before(atMs: number): Promise<void> {
    for (;;) {
      if (this.ended) await new Promise(() => undefined);
      for (const look of this.looks.splice(0)) await look();
      const [next, ...later] = this.due;
      const { time, perform } = this.options;
      if (next !== undefined && next.atMs < atMs) {
        this.due = later;
        time.after(Math.max(0, next.atMs - time.nowMs()), () => perform(next.deed, next.onDone));
        return;
      }
      if (this.mayGoOn(atMs)) {
        const waitMs = this.waitMs(atMs);
        if (waitMs < 1) return;
        await this.woken(waitMs);
      } else await this.woken(null);
    }
  }

  private mayGoOn(atMs: number): boolean {
    const { now } = this;
    if (now.mode === 'standing' || this.options.isHeldBack()) return false;
    const isThere = now.mode === 'stepping' ? this.options.happened() > this.steppedFrom : atMs > now.toMs;
    if (isThere) this.set({ mode: 'standing' });
    return !isThere;
  }

  private waitMs(atMs: number): number {
    const { now, since } = this;
    if (now.mode !== 'running' || now.speed === Number.POSITIVE_INFINITY) return 0;
    const wallMs = this.options.wallMs();
    const waitMs = since.wallMs + (atMs - since.worldMs) / now.speed - wallMs;
    if (waitMs < -behindMsMax) this.since = { worldMs: this.options.time.nowMs(), wallMs };
    return waitMs;
  }

  private async woken(withinMs: number | null): Promise<void> {
    await new Promise<void>((resolve) => {
      const timer = withinMs === null ? undefined : setTimeout(resolve, withinMs);
      this.wakers.push(() => {
        clearTimeout(timer);
        resolve();
      });
    });
  }
}

/** Behind all that are not later. */
function inserted<T>(list: readonly T[], one: T, atMs: (of: T) => number): T[] {
  const at = list.findIndex((other) => atMs(other) > atMs(one));
  return at === -1 ? [...list, one] : list.toSpliced(at, 0, one);
}
