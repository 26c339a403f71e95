/**
 * Ballots: a total order of leaderships.
 *
 * Responsible for: comparing and naming ballots. Two replicas never own the same ballot, since it carries its owner's name.
 */
import type { Ballot, ReplicaId } from './types/names.ts';

/** Below every ballot that a replica can own: what an acceptor has promised before its first promise. */
export const ballotNone: Ballot = { round: 0, replica: '' as ReplicaId };

/** Negative if `left` is below `right`, 0 if they are the same ballot, positive if above. */
export function compareBallots(left: Ballot, right: Ballot): number {
  if (left.round !== right.round) return left.round - right.round;
  if (left.replica === right.replica) return 0;
  return left.replica < right.replica ? -1 : 1;
}

export function sameBallot(left: Ballot, right: Ballot): boolean {
  return left === right || (left.round === right.round && left.replica === right.replica);
}

/** Such as `3.r1`: round, then owner. */
export function ballotLabel(ballot: Ballot): string {
  return `${ballot.round}.${ballot.replica}`;
}

export function higherBallot(left: Ballot, right: Ballot): Ballot {
  return compareBallots(left, right) >= 0 ? left : right;
}
