/** A log in memory that takes its time, as a disk does: what is being written when its process dies is lost. */
import type { Timers } from '../../ports/clock.ts';
import type { LogStore } from '../../ports/log-store.ts';
import type { Random } from '../../ports/testing/random.ts';

export function takesTime(log: LogStore, timers: Timers, random: Random): LogStore {
  function pause(): Promise<void> {
    const ms = random.chance(0.01) ? random.next() * 40 : 0.1 + random.next() * 0.4;
    return new Promise((resolve) => timers.after(ms, resolve));
  }
  return {
    ...log,
    async append(records) {
      await pause();
      await log.append(records);
      // It is on the disk, and its process may die before it hears so.
      await pause();
    },
    async read(fromSlot, toSlot, bytesMax) {
      await pause();
      return log.read(fromSlot, toSlot, bytesMax);
    },
    async purge(upTo) {
      await pause();
      await log.purge(upTo);
    },
  };
}
