/**
 * When a backup is due, to whom, and which ones may go. Pure.
 *
 * Clocks of machines differ, and are set: what is newer is told by the slot, and the time only says when the next one is due.
 * Invariants: of `keep` or fewer good ones none may go, nor what is newer than the last of these, but for more than `keep` that a restore test has refused; the newest one that was restored in a test stays.
 */
import type { KeptBackup } from '../../ports/backup-store.ts';

export interface TurnFacts {
  /** By this machine's clock. */
  readonly nowMs: number;
  readonly everyMs: number;
  /** When the newest good one was taken, by its maker's clock; null: there is none. */
  readonly newestMs: number | null;
  /** When this replica began to look. */
  readonly sinceMs: number;
  /** It leads, and others could do it. */
  readonly leavesItToOthers: boolean;
}

/** A leader has clients to serve: the others have so long to do it. */
const leaderWaitMsMax = 15 * 60_000;

/** When this replica is to make one. */
export function dueAtMs({ nowMs, everyMs, newestMs, sinceMs, leavesItToOthers }: TurnFacts): number {
  const waitMs = leavesItToOthers ? Math.min(everyMs / 4, leaderWaitMsMax) : 0;
  if (newestMs === null) return sinceMs + waitMs;
  // A clock was set back, or another one is wrong by more than can be waited for.
  if (newestMs > nowMs + everyMs) return nowMs;
  return newestMs + everyMs + waitMs;
}

/** Those that a restore test has not refused, the newest first. */
export function goodOnes(backups: readonly KeptBackup[]): KeptBackup[] {
  return byAge(backups.filter(({ test }) => test?.ok !== false));
}

/** The newest first. */
export function byAge(backups: readonly KeptBackup[]): KeptBackup[] {
  return backups.toSorted((a, b) => b.slot - a.slot || b.takenAtMs - a.takenAtMs);
}

/**
 * What is older than the newest `keep` good ones, but for the newest of which a test has shown that it can be restored. And of those that a test has refused all but the newest `keep`: a database that is found damaged
 * each time must not fill the disk.
 */
export function superfluous(backups: readonly KeptBackup[], keep: number): KeptBackup[] {
  const all = byAge(backups);
  const last = goodOnes(backups)[keep - 1];
  const old = last === undefined ? [] : all.slice(all.indexOf(last) + 1);
  const proven = all.find(({ test }) => test?.ok === true);
  const gone = new Set([...old, ...all.filter(({ test }) => test?.ok === false).slice(keep)]);
  return all.filter((each) => each !== proven && gone.has(each));
}
