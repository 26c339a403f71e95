/**
 * Elections as soon as the lease allows, where the leader's process is known to be gone.
 *
 * A time-out has to be long enough for a leader that is only slow. A host that refuses connections says more: nobody listens there any more. It may still be wrong (a firewall
 * that answers for it, a listener alone that has ended), so it decides nothing: the lease binds all who would promise, and the pre-vote asks them.
 */
import { replicaOf } from './configuration.ts';
import type { State } from './state.ts';
import type { ReplicaId } from './types/names.ts';

/** Of the time between the bounds of the time-out, so that those who hear of it together do not ask together. */
const spreadShare = 0.2;
/** Leases that were granted by one message do not end at the same moment everywhere. */
const apartMs = 10;

export function noteGone(state: State, replica: ReplicaId): void {
  if (state.leader === null || replicaOf(state.leader) !== replica) return;
  state.goneUntilMs = state.nowMs + state.config.electionTimeoutMaxMs;
  hasten(state);
}

/** The election comes sooner, if the leader is taken for gone; and again soon, until there is one, or a time-out has passed. */
export function hasten(state: State): void {
  if (state.nowMs >= state.goneUntilMs) return;
  const { electionTimeoutMinMs, electionTimeoutMaxMs } = state.config;
  const spreadMs = spreadShare * (electionTimeoutMaxMs - electionTimeoutMinMs);
  const soonestMs = Math.max(state.nowMs, state.leaseGrantedUntilMs);
  const deadlineMs = soonestMs + apartMs + state.random * spreadMs;
  state.electionDeadlineMs = Math.min(state.electionDeadlineMs, deadlineMs);
}

/** When a Tick should come though the next one is not due; null: no hurry. */
export function hastyDeadlineMs(state: State): number | null {
  return state.leadership === null && state.nowMs < state.goneUntilMs ? state.electionDeadlineMs : null;
}
