/**
 * A clock that goes on while the machine is suspended, and the timers of the process.
 *
 * Node's monotonic clock stands still during a suspension: a leader that wakes up would believe for a moment that its lease still holds. So the wall clock is looked at with every reading, which costs next to nothing, and
 * where it has gone ahead the time since the machine was started, which counts suspensions and which nobody sets, says whether that was one.
 * Invariants: never goes back, whatever happens to the wall clock; a suspension shows at the first reading after it, or within `lookMs` if the wall clock hides it. A virtual machine all of whose clocks were stopped from
 * outside cannot know.
 */
import { uptime } from 'node:os';
import { performance } from 'node:perf_hooks';
import type { Timers } from '../ports/clock.ts';

/** Three ways to tell the time, in milliseconds since arbitrary starts. */
export interface TimeSources {
  /** Stands still during suspensions. */
  readonly monotonicMs: () => number;
  /** May be set. */
  readonly wallMs: () => number;
  /** Since the machine was started; in steps of 10 ms. */
  readonly uptimeMs: () => number;
}

/** Below this the steps of the slowest clock are all that there is to see. */
const noticedMs = 50;
const lookMs = 250;

export function createNowMs({ monotonicMs, wallMs, uptimeMs }: TimeSources): () => number {
  let suspendedMs = 0;
  let lookedAtMs = monotonicMs();
  /** How far the other clocks are ahead of the monotonic one. */
  let wallAheadMs = wallMs() - lookedAtMs;
  const startedAheadMs = uptimeMs() - lookedAtMs;
  return () => {
    const nowMs = monotonicMs();
    const aheadMs = wallMs() - nowMs;
    if (aheadMs - wallAheadMs > noticedMs || nowMs - lookedAtMs > lookMs) {
      lookedAtMs = nowMs;
      wallAheadMs = aheadMs;
      const lostMs = uptimeMs() - nowMs - startedAheadMs - suspendedMs;
      if (lostMs > noticedMs) suspendedMs += lostMs;
    }
    return nowMs + suspendedMs;
  };
}

export const systemClock: Timers = {
  nowMs: createNowMs({
    monotonicMs: () => performance.now(),
    wallMs: () => Date.now(),
    uptimeMs: () => uptime() * 1000,
  }),
  after(ms, work) {
    const timer = setTimeout(work, ms);
    return () => clearTimeout(timer);
  },
  every(ms, work) {
    const timer = setInterval(work, ms);
    return () => clearInterval(timer);
  },
  soon(work) {
    setImmediate(work);
  },
};
