/**
 * Counts the elections in which this replica stood and the leaderships that it had, from what the core says of its role. Pure.
 */
import { noElections, type ElectionCounts } from '../../api/measures.ts';
import { ballotNone, sameBallot } from '../../multipaxos/ballot.ts';
import type { Effect } from '../../multipaxos/types/effects.ts';
import type { Ballot, Role } from '../../multipaxos/types/names.ts';

export class ElectionTally {
  counts: ElectionCounts = noElections;
  private role: Role = 'follower';
  private ballot: Ballot = ballotNone;

  take({
    role,
    ballot,
    reason,
  }: Pick<Extract<Effect, { kind: 'leadership' }>, 'role' | 'ballot' | 'reason'>): void {
    const before = this.role;
    const isSame = sameBallot(ballot, this.ballot);
    this.role = role;
    this.ballot = ballot;
    if (before === role && (role === 'follower' || isSame)) return;
    const why = reason ?? 'higherBallot';
    const { started, won, lost, leadershipsEnded } = this.counts;
    const isWon = before === 'candidate' && role === 'leader';
    const end = role === 'candidate' ? 'timedOut' : why;
    const isLost = before === 'candidate' && !isWon;
    this.counts = {
      started: role === 'candidate' ? started + 1 : started,
      won: isWon ? won + 1 : won,
      lost: isLost ? { ...lost, [end]: lost[end] + 1 } : lost,
      leadershipsEnded:
        before === 'leader' ? { ...leadershipsEnded, [why]: leadershipsEnded[why] + 1 } : leadershipsEnded,
    };
  }
}
