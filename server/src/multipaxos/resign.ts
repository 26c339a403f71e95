/**
 * Giving up a candidacy or a leadership.
 *
 * Responsible for: the change of role alone. The vote on what was proposed stays; whether it is ever chosen is up to the
 * successor; so is a configuration among it, and until it is known to be chosen its new members are strangers.
 */
import { renewRoster } from './roster.ts';
import type { Run } from './run.ts';
import { restartElectionTimer } from './state.ts';
import type { StepDownReason } from './types/names.ts';

export function resign(run: Run, reason: StepDownReason): void {
  const { state } = run;
  const hadPending = state.leadership !== null && state.leadership.pending !== null;
  state.role = 'follower';
  state.candidacy = null;
  state.leadership = null;
  state.leader = null;
  state.preVote = null;
  state.lastReason = reason;
  restartElectionTimer(state);
  if (hadPending) renewRoster(state);
}
