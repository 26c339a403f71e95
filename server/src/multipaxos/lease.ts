/**
 * The leader's lease: while it holds, no other replica can have become leader, so a read needs no agreement.
 *
 * Responsible for: granting on the follower's side, counting on the leader's side. Rests on one assumption, stated in
 * `CoreConfig.clockDriftMax`: no clock runs faster than another by more than that.
 *
 * Why it is safe: a follower promises nothing to others for `leaseMs` from the *receipt* of a message; the leader counts
 * `leaseMs`, shortened by the drift, from the *sending* of the newest message that a quorum has acknowledged. Any quorum of
 * promises shares a member with that quorum: both are of the same configuration or of neighbours, for the next but one can be proposed only by
 * the leader itself, once it counts by the next. A replica that restarts may have forgotten a grant, so it waits `leaseMs` first. A leader that gives up answers nothing under its
 * ballot any more, and never leads in it again: when it says so (hand-over.ts), what was granted in that ballot or a lower one may be forgotten.
 */
import { reachedBy } from './quorum.ts';
import type { Leadership, PeerProgress, State } from './state.ts';
import type { ReplicaId } from './types/names.ts';

/** A message of the leader has come: no promise to others for a while. */
export function grantLease(state: State, leader: ReplicaId): void {
  state.leaseGrantedTo = leader;
  state.leaseGrantedUntilMs = state.nowMs + state.config.leaseMs;
}

/** The leader whom this replica heard last has given up: nobody rests on the word that it was given. */
export function endWord(state: State): void {
  state.leaseGrantedTo = state.promised.replica;
  state.leaseGrantedUntilMs = state.nowMs;
}

/** True if this replica must not help `candidate` (perhaps itself) to become leader now. */
export function leaseForbids(state: State, candidate: ReplicaId): boolean {
  if (state.leadership !== null) return state.nowMs < state.leadership.leaseUntilMs;
  return state.nowMs < state.leaseGrantedUntilMs && state.leaseGrantedTo !== candidate;
}

/** A peer has acknowledged what the leader sent at `sentAtMs`. */
export function countAcknowledgement(
  state: State,
  leadership: Leadership,
  peer: PeerProgress,
  sentAtMs: number,
): void {
  if (sentAtMs <= peer.ackedSentAtMs || sentAtMs > state.nowMs) return;
  peer.ackedSentAtMs = sentAtMs;
  renewLease(state, leadership);
}

/**
 * Counted anew, too, when another configuration comes into force: a lease that was granted by a majority of one configuration must not
 * outlast the next, whose majorities may not all meet it two changes later. Acknowledgements of a learner that has become a voter count from
 * before, since it has kept the lease like any other. A leader that is the only voter needs no one.
 */
export function renewLease(state: State, leadership: Leadership): void {
  const { roster, config } = state;
  leadership.leaseUntilMs =
    roster.isVoter && roster.quorum === 1
      ? Number.POSITIVE_INFINITY
      : quorumHeardAtMs(state, leadership) + config.leaseMs * (1 - config.clockDriftMax);
}

/** The newest time at which everything sent has been acknowledged by a quorum of the voters, the leader itself included. */
export function quorumHeardAtMs(state: State, leadership: Leadership): number {
  const { quorum, isVoter } = state.roster;
  const others = isVoter ? quorum - 1 : quorum;
  if (others === 0) return state.nowMs;
  return reachedBy(
    leadership.voters.map((peer) => peer.ackedSentAtMs),
    others,
  );
}

/** True if this replica serves and is certainly the only leader at `nowMs` of its own clock. Two comparisons. */
export function leaseHeld(state: State, nowMs: number): boolean {
  const { leadership } = state;
  return leadership !== null && leadership.serving && nowMs < leadership.leaseUntilMs;
}
