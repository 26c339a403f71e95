/**
 * A clock that goes on while the machine is suspended, and the timers of the process.
 *
 * Node's monotonic clock stands still during a suspension: a leader that wakes up would believe for a moment that its lease still holds. So the wall clock is looked at with every reading, which costs next to nothing, and
 * where it has gone ahead the time since the machine was started, which counts suspensions and which nobody sets, says whether that was one.
 * The clocks are read one after the other. A process that is put aside in between is not to take that for a suspension: its clock would be ahead by more than drift allows, and its promises would end too early.
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
/** Readings that are no further apart count as one; of so many that are, the closest. */
const closeMs = 5;
const readingsMax = 10;

export function createNowMs({ monotonicMs, wallMs, uptimeMs }: TimeSources): () => number {
  /** How far another clock is ahead of the monotonic one: that is read behind it, so that it is never told to be further ahead than it is. */
  const aheadOf = (otherMs: () => number): number => {
    let closest = { apartMs: Number.POSITIVE_INFINITY, aheadMs: 0 };
    for (let tries = 0; tries < readingsMax && closest.apartMs > closeMs; tries++) {
      const beforeMs = monotonicMs();
      const readMs = otherMs();
      const afterMs = monotonicMs();
      const apartMs = afterMs - beforeMs;
      if (apartMs < closest.apartMs) closest = { apartMs, aheadMs: readMs - afterMs };
    }
    return closest.aheadMs;
  };
  let suspendedMs = 0;
  let lookedAtMs = monotonicMs();
  let wallAheadMs = aheadOf(wallMs);
  const startedAheadMs = aheadOf(uptimeMs);
  return () => {
    const nowMs = monotonicMs();
    const aheadMs = wallMs() - nowMs;
    if (aheadMs - wallAheadMs > noticedMs || nowMs - lookedAtMs > lookMs) {
      lookedAtMs = nowMs;
      wallAheadMs = aheadOf(wallMs);
      const lostMs = aheadOf(uptimeMs) - startedAheadMs - suspendedMs;
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
