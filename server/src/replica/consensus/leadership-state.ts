/** Who leads, as the core said it last. */
import { ballotNone, sameBallot } from '../../multipaxos/ballot.ts';
import type { Effect } from '../../multipaxos/types/effects.ts';
import type { LeaderNote } from '../../multipaxos/types/messages.ts';
import type { Ballot, ReplicaId, Role } from '../../multipaxos/types/names.ts';
import { ElectionTally } from './election-tally.ts';

export class LeadershipState {
  role: Role = 'follower';
  leader: ReplicaId | null = null;
  /** By the core's rules: all that was found is chosen and applied. Clients are served when the payload is ready, too. */
  serving = false;
  ballot: Ballot = ballotNone;
  private noted: { readonly ballot: Ballot; readonly note: LeaderNote } | null = null;
  readonly elections = new ElectionTally();

  leaderNoted(ballot: Ballot, note: LeaderNote): void {
    this.noted = { ballot, note };
  }

  /** What the leader of this ballot has told; null: it has told nothing. */
  get note(): LeaderNote | null {
    return this.noted !== null && sameBallot(this.noted.ballot, this.ballot) ? this.noted.note : null;
  }

  /** True if anything else than the ballot has changed. */
  take(effect: Extract<Effect, { kind: 'leadership' }>): boolean {
    const { role, leader, serving, ballot } = effect;
    this.elections.take(effect);
    const isNews = role !== this.role || leader !== this.leader || serving !== this.serving;
    Object.assign(this, { role, leader, serving, ballot });
    return isNews;
  }
}
