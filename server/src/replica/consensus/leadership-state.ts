/** Who leads, as the core said it last. */
import { ballotNone } from '../../multipaxos/ballot.ts';
import type { Effect } from '../../multipaxos/types/effects.ts';
import type { Ballot, ReplicaId, Role } from '../../multipaxos/types/names.ts';
import { ElectionTally } from './election-tally.ts';

export class LeadershipState {
  role: Role = 'follower';
  leader: ReplicaId | null = null;
  /** By the core's rules: all that was found is chosen and applied. Clients are served when the payload is ready, too. */
  serving = false;
  ballot: Ballot = ballotNone;
  readonly elections = new ElectionTally();

  /** True if anything else than the ballot has changed. */
  take(effect: Extract<Effect, { kind: 'leadership' }>): boolean {
    const { role, leader, serving, ballot } = effect;
    this.elections.take(effect);
    const isNews = role !== this.role || leader !== this.leader || serving !== this.serving;
    Object.assign(this, { role, leader, serving, ballot });
    return isNews;
  }
}
