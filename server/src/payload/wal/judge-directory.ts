/**
 * What may become of a directory that may hold WAL which was never chosen. Pure. Spec: CheckPrefix, Resume and BeginCopy of OrderedApply.tla.
 *
 * `ownEnd` is where its WAL ends, its own included, on the timeline of the leadership that wrote it. Up to the smaller of that and where the chosen WAL leaves that timeline both are the same bytes: ranges of that
 * leadership came from this very WAL, and nobody else writes on its timeline.
 */
import { sameBallot } from '../../multipaxos/ballot.ts';
import type { Ballot, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { lsnNone, type Lsn, type Timeline } from '../../wal/lsn.ts';
import { endOfTimeline, type WalPosition } from '../../wal/position.ts';

/**
 * `prefix`: all of it is chosen: it may be a standby. `own`: it has more than is chosen, and nobody else has led since: its replica may lead again and go on with it; meanwhile it must wait. `parted`: others have gone another way
 * at `at`, below the end of what it has: the blocks that differ must be copied from a healthy replica.
 */
export type Judgement =
  | { readonly kind: 'prefix' }
  | { readonly kind: 'own' }
  | { readonly kind: 'parted'; readonly at: Lsn };

export interface WrittenDirectory {
  /** The leadership under which it may have been written to. */
  readonly leadership: Ballot;
  readonly timeline: Timeline;
  readonly ownEnd: Lsn;
}

/** `chosen` knows of this leadership: a directory says so only once its beginning was chosen. */
export function judgeDirectory(
  { leadership, timeline, ownEnd }: WrittenDirectory,
  chosen: WalPosition,
): Judgement {
  const left = sameBallot(chosen.leadership, leadership) ? null : endOfTimeline(chosen, timeline);
  // Its fork is too long ago to be known.
  if (left === undefined) return { kind: 'parted', at: lsnNone };
  if (left !== null) return ownEnd <= left ? { kind: 'prefix' } : { kind: 'parted', at: left };
  return ownEnd <= chosen.end ? { kind: 'prefix' } : { kind: 'own' };
}

/**
 * Of a directory that is its `own`, when its replica leads: whether it may go on with it. The leadership that was begun last must be this member's, by the log up to its newest entry: a replica that came back without its log is another
 * member, and one that knows only a part of what is chosen may have missed another's leadership.
 */
export function mayResume(
  { member, commitPoint }: { readonly member: ReplicaId; readonly commitPoint: Slot },
  { leadership, slot }: WalPosition,
): boolean {
  return leadership.replica === member && slot >= commitPoint;
}
