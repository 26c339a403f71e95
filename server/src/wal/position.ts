/** How far a chosen history of WAL goes, and by which timelines. Pure. */
import { ballotNone } from '../multipaxos/ballot.ts';
import type { Ballot, Slot } from '../multipaxos/types/names.ts';
import { lsnNone, type Lsn, type Timeline } from './lsn.ts';

/** Where a timeline left the one before it, which has the number `timeline - 1`. */
export interface TimelineFork {
  readonly timeline: Timeline;
  readonly at: Lsn;
}

export interface WalPosition {
  /** Everything up to it is folded in. */
  readonly slot: Slot;
  /** Of the newest leadership that has begun; `ballotNone` in a group that was just founded. */
  readonly leadership: Ballot;
  /** Of the newest `leaderStart`: nothing that is older has effect any more. */
  readonly newestStart: Ballot;
  /** 0 as long as no leadership has begun. */
  readonly timeline: Timeline;
  /** The chosen WAL ends here. */
  readonly end: Lsn;
  /** At the beginning of the newest leadership. */
  readonly nextXid: bigint;
  /** 0n as long as no leadership has begun. */
  readonly system: bigint;
  /** The newest forks, the oldest first; at most `forksKept`. */
  readonly forks: readonly TimelineFork[];
}

/** A standby that is further behind than so many leaderships is given a copy. */
export const forksKept = 1000;

export const positionNone: WalPosition = {
  slot: 0 as Slot,
  leadership: ballotNone,
  newestStart: ballotNone,
  timeline: 0 as Timeline,
  end: lsnNone,
  nextXid: 0n,
  system: 0n,
  forks: [],
};

/** The timeline that the chosen WAL is of at `lsn`: that of the byte that begins there. */
export function timelineAt({ timeline, forks }: WalPosition, lsn: Lsn): Timeline {
  let at = timeline;
  for (const fork of forks.toReversed()) {
    if (lsn >= fork.at) return at;
    at = (fork.timeline - 1) as Timeline;
  }
  return at;
}

/** Where `timeline` was left by the next one; null if it is the newest. Of one that the position does not know any more: undefined. */
export function endOfTimeline(
  { timeline: newest, forks }: WalPosition,
  timeline: Timeline,
): Lsn | null | undefined {
  if (timeline === newest) return null;
  return forks.find((fork) => fork.timeline === timeline + 1)?.at;
}
