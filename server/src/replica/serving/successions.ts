/**
 * Which leadership followed which: what is needed to tell what became of a transaction whose leader is gone.
 *
 * Pure. Bounded: of a leadership that is too long ago nothing is known.
 */
import { compareBallots, sameBallot } from '../../multipaxos/ballot.ts';
import type { Ballot } from '../../multipaxos/types/names.ts';
import type { Lsn } from '../../wal/lsn.ts';
import type { WalPosition } from '../../wal/position.ts';

/**
 * How the time of a leadership ended. No transaction of it with `nextXid` or a higher id has effect: the lowest next id of all leaderships since. Everything else of it lies below `fork`; null: the same replica went on with it (it resumed), and what it
 * brought along has no end that is told, but all of it is chosen before that replica serves.
 */
export interface Ending {
  readonly nextXid: bigint;
  readonly fork: Lsn | null;
}

interface Beginning {
  readonly leadership: Ballot;
  readonly nextXid: bigint;
  readonly at: Lsn;
  readonly resumes: boolean;
}

const keptMax = 1000;

export class Successions {
  private beginnings: Beginning[] = [];

  /** `position` is that after a leadership entry, or where folding begins. */
  add({ leadership, nextXid, end }: WalPosition, resumes: boolean): void {
    this.beginnings.push({ leadership, nextXid, at: end, resumes });
    if (this.beginnings.length > keptMax) this.beginnings.shift();
  }

  /** The log is folded from another position on: what lies between is not known. */
  clear(): void {
    this.beginnings = [];
  }

  /** Where it began, if no later one is known; null: one is, or this one is not. */
  beginningOfNewest(leadership: Ballot): Lsn | null {
    const newest = this.beginnings.at(-1);
    return newest !== undefined && sameBallot(newest.leadership, leadership) ? newest.at : null;
  }

  /** Null: it has not ended, as far as is known; `unknown`: not every leadership since then is known. */
  endOf(leadership: Ballot): Ending | 'unknown' | null {
    const index = this.beginnings.findIndex((one) => compareBallots(one.leadership, leadership) > 0);
    const first = this.beginnings[index];
    if (first === undefined) return null;
    // The one before must be this very one, or another may stand between the two.
    const before = this.beginnings[index - 1];
    if (before === undefined || !sameBallot(before.leadership, leadership)) return 'unknown';
    const later = this.beginnings.slice(index);
    const parting = later.find(({ resumes }) => !resumes);
    // One that resumed may have recovered, and counted, what the next one left behind, whose ids are used again then (spec: IsAnothers).
    const nextXid = later.reduce((least, one) => (one.nextXid < least ? one.nextXid : least), first.nextXid);
    return { nextXid, fork: parting?.at ?? null };
  }
}
