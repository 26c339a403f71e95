/**
 * Time that passes only when it is told to: what happens is the same at each run, and waiting costs nothing.
 *
 * Responsible for: the order of all callbacks, by time and then by when they were asked for. Before each of them everything that waits for a promise has run to its end, so nothing depends on how fast the machine is.
 * Knows no processes; `ProcessTime` is one's view of it: with a clock of its own, standing still, or dead.
 */
import type { Timers } from '../clock.ts';

/** Whoever waits at all waits for so long: less may vanish beside the time that has passed, which would stand still for one who waits again and again. */
const shortestMs = 1e-6;

interface Callback {
  readonly atMs: number;
  readonly order: number;
  work: (() => void) | null;
}

export class SimulatedTime implements Timers {
  private readonly queue: Callback[] = [];
  private passedMs = 0;
  private asked = 0;
  private called = 0;
  /** Waited for before time goes on to `atMs`, for whoever looks on; what is asked for meanwhile comes first. Null: time costs nothing. */
  pace: ((atMs: number) => Promise<void>) | null = null;

  nowMs(): number {
    return this.passedMs;
  }

  after(ms: number, work: () => void): () => void {
    const inMs = ms > 0 ? Math.max(shortestMs, ms) : 0;
    const callback: Callback = { atMs: this.passedMs + inMs, order: this.asked++, work };
    push(this.queue, callback);
    return () => {
      callback.work = null;
    };
  }

  every(ms: number, work: () => void): () => void {
    return repeat(this, ms, work);
  }

  soon(work: () => void): void {
    this.after(0, work);
  }

  /** Callbacks that were made. */
  get steps(): number {
    return this.called;
  }

  /** Callbacks that are waiting, those that were given up among them. */
  get waiting(): number {
    return this.queue.length;
  }

  /** Lets `ms` pass. */
  async pass(ms: number): Promise<void> {
    await this.passUntil(() => false, ms);
  }

  /** Lets time pass until that holds, which is looked at after each callback that is `everyMs` behind the last look. False: it has not come to hold within `maxMs`. */
  async passUntil(holds: () => boolean, maxMs: number, everyMs = 0): Promise<boolean> {
    const endMs = this.passedMs + maxMs;
    let lookAtMs = this.passedMs;
    for (;;) {
      await settled();
      if (this.passedMs >= lookAtMs) {
        if (holds()) return true;
        lookAtMs = this.passedMs + everyMs;
      }
      const next = this.queue[0];
      if (next === undefined || next.atMs > endMs) break;
      if (this.pace !== null && next.atMs > this.passedMs) {
        await this.pace(next.atMs);
        if (this.queue[0] !== next) continue;
      }
      pop(this.queue);
      if (next.work === null) continue;
      this.passedMs = next.atMs;
      this.called += 1;
      next.work();
    }
    this.passedMs = endMs;
    return holds();
  }

  /** What the promise comes to; time passes meanwhile. @throws its error; Error if it takes longer */
  async until<T>(promise: Promise<T>, maxMs = 60_000): Promise<T> {
    let isSettled = false;
    const settle = (): void => {
      isSettled = true;
    };
    promise.then(settle, settle);
    if (!(await this.passUntil(() => isSettled, maxMs)))
      throw new Error(`nothing came of it within ${maxMs} ms`);
    return promise;
  }
}

/** Everything that waits for a promise has run: a macrotask comes after all of that. */
function settled(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}

/**
 * Time as one process has it. Its clock may be fast or slow; what it asked for comes late while it is stopped, and never once it is dead.
 */
export class ProcessTime implements Timers {
  private readonly time: SimulatedTime;
  private rate: number;
  /** Its clock showed `shownMs` when the time was `atMs`, and has gone at its rate since. */
  private atMs: number;
  private shownMs: number;
  private isStopped = false;
  private isDead = false;
  /** What is due, and has to wait for its turn: in the order in which it came due. */
  private late: (() => void)[] = [];
  private catchingUp = false;

  /** `rate`: how fast its clock goes; 1.02 is 2 % too fast. `shownMs`: what it shows now. */
  constructor(time: SimulatedTime, rate = 1, shownMs = 1000) {
    this.time = time;
    this.rate = rate;
    this.atMs = time.nowMs();
    this.shownMs = shownMs;
  }

  nowMs(): number {
    return this.shownMs + (this.time.nowMs() - this.atMs) * this.rate;
  }

  /** Its clock goes at another rate from now on. */
  goAt(rate: number): void {
    this.shownMs = this.nowMs();
    this.atMs = this.time.nowMs();
    this.rate = rate;
  }

  after(ms: number, work: () => void): () => void {
    const { rate } = this;
    const dueMs = this.nowMs() + ms;
    let isWanted = true;
    let cancel = this.time.after(ms / rate, () => {
      // A clock that has become slower is not there yet.
      if (this.rate < rate && this.nowMs() < dueMs) cancel = this.after(dueMs - this.nowMs(), wanted);
      else this.call(wanted);
    });
    const wanted = (): void => {
      if (isWanted) work();
    };
    return () => {
      isWanted = false;
      cancel();
    };
  }

  every(ms: number, work: () => void): () => void {
    return repeat(this, ms, work);
  }

  soon(work: () => void): void {
    this.after(0, work);
  }

  private call(work: () => void): void {
    if (this.isDead) return;
    if (this.isStopped || this.late.length > 0) this.late.push(work);
    else work();
  }

  get dead(): boolean {
    return this.isDead;
  }

  get stopped(): boolean {
    return this.isStopped;
  }

  /** As by SIGSTOP. Its clock goes on. */
  stop(): void {
    this.isStopped = true;
  }

  /** As by SIGCONT. */
  goOn(): void {
    if (!this.isStopped) return;
    this.isStopped = false;
    this.catchUp();
  }

  private catchUp(): void {
    if (this.catchingUp) return;
    this.catchingUp = true;
    this.time.soon(() => {
      this.catchingUp = false;
      if (this.isStopped) return;
      this.late.shift()?.();
      if (this.late.length > 0) this.catchUp();
    });
  }

  die(): void {
    this.isDead = true;
    this.late = [];
  }
}

function repeat(timers: Pick<Timers, 'after'>, ms: number, work: () => void): () => void {
  let isWanted = true;
  let cancel = timers.after(ms, again);
  function again(): void {
    work();
    if (isWanted) cancel = timers.after(ms, again);
  }
  return () => {
    isWanted = false;
    cancel();
  };
}

function isBefore(one: Callback, other: Callback): boolean {
  return one.atMs < other.atMs || (one.atMs === other.atMs && one.order < other.order);
}

/** The queue is a heap: each is before the two at twice its index. */
function push(queue: Callback[], callback: Callback): void {
  let at = queue.length;
  queue.push(callback);
  while (at > 0) {
    const parent = (at - 1) >> 1;
    if (!isBefore(callback, queue[parent]!)) break;
    queue[at] = queue[parent]!;
    at = parent;
  }
  queue[at] = callback;
}

function pop(queue: Callback[]): void {
  const last = queue.pop()!;
  if (queue.length === 0) return;
  let at = 0;
  for (;;) {
    let child = 2 * at + 1;
    if (child >= queue.length) break;
    if (child + 1 < queue.length && isBefore(queue[child + 1]!, queue[child]!)) child += 1;
    if (!isBefore(queue[child]!, last)) break;
    queue[at] = queue[child]!;
    at = child;
  }
  queue[at] = last;
}
