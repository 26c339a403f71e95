/**
 * The leader's lease: while it holds, no other replica can have become leader, so a read needs no agreement.
 *
 * Responsible for: granting on the follower's side, counting on the leader's side. Rests on one assumption, stated in
 * `CoreConfig.clockDriftMax`: no clock runs faster than another by more than that.
 *
 * Why it is safe: a follower promises nothing to others for `leaseMs` from the *receipt* of a message; the leader counts
 * `leaseMs`, shortened by the drift, from the *sending* of the newest message that a quorum has acknowledged. Any quorum of
 * promises shares a member with that quorum. A replica that restarts may have forgotten a grant, so it waits `leaseMs` first.
 */
import { reachedBy } from './quorum.ts';
import type { Leadership, PeerProgress, State } from './state.ts';
import type { ReplicaId } from './types.ts';

/** A message of the leader has come: no promise to others for a while. */
export function grantLease(state: State, leader: ReplicaId): void {
  state.leaseGrantedTo = leader;
  state.leaseGrantedUntilMs = state.nowMs + state.config.leaseMs;
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
  const sinceMs = quorumHeardAtMs(state, leadership);
  leadership.leaseUntilMs = sinceMs + state.config.leaseMs * (1 - state.config.clockDriftMax);
}

/** The newest time at which everything sent has been acknowledged by a quorum, the leader itself included. */
export function quorumHeardAtMs(state: State, leadership: Leadership): number {
  if (state.quorum === 1) return state.nowMs;
  return reachedBy(
    leadership.peers.map((peer) => peer.ackedSentAtMs),
    state.quorum - 1,
  );
}

/** True if this replica serves and is certainly the only leader at `nowMs` of its own clock. Two comparisons. */
export function leaseHeld(state: State, nowMs: number): boolean {
  const { leadership } = state;
  return leadership !== null && leadership.serving && nowMs < leadership.leaseUntilMs;
}
