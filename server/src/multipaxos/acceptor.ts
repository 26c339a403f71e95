/**
 * The acceptor's promises.
 *
 * Responsible for: handlePrepare, refusing lower ballots and taking on higher ones. A promise never goes down, and is durable before anyone hears
 * of it.
 */
import { compareBallots } from './ballot.ts';
import { leaseForbids } from './lease.ts';
import { tracePromise } from './lease-trace.ts';
import { noteCommitPoint } from './learner.ts';
import { votesAbove } from './log.ts';
import { resign } from './resign.ts';
import { persist, send, sendWhenDurable, type Run } from './run.ts';
import { restartElectionTimer, type State } from './state.ts';
import { traceAction } from './trace.ts';
import type { Prepare, Promise_, Reject } from './types/messages.ts';
import type { Ballot, ReplicaId, Slot } from './types/names.ts';

/** Phase 1b. Silent while a lease forbids it. A repeated Prepare is answered again. */
export function handlePrepare(run: Run, from: ReplicaId, message: Prepare): void {
  const { state } = run;
  if (message.ballot.replica !== from) return;
  const order = compareBallots(message.ballot, state.promised);
  if (order < 0) {
    reject(run, from, message.ballot);
    return;
  }
  if (leaseForbids(state, from) || (order === 0 && state.leader === from)) return;
  if (order > 0) {
    tracePromise(run, message.ballot);
    adoptBallot(run, message.ballot);
    state.leader = null;
    persist(run, [{ kind: 'promise', ballot: message.ballot }]);
  }
  noteCommitPoint(state, from, message.commitPoint);
  restartElectionTimer(state);
  sendWhenDurable(run, from, promise(state, message));
  traceAction(run, 'HandlePrepare', { from, message });
}

function promise(state: State, message: Prepare): Promise_ {
  const { config, commitPoint, configuration } = state;
  return {
    kind: 'Promise',
    group: config.group,
    ballot: message.ballot,
    commitPoint,
    configuration,
    votes: votesAbove(state, Math.max(commitPoint, message.commitPoint)),
  };
}

/** Tells the sender of a lower ballot what stands in its way, once that is durable. Changes nothing. */
export function reject(run: Run, to: ReplicaId, ballot: Ballot): void {
  const { config, promised, durablePromised } = run.state;
  const message: Reject = { kind: 'Reject', group: config.group, ballot, promised: durablePromised };
  if (compareBallots(durablePromised, ballot) > 0) send(run, to, message);
  else sendWhenDurable(run, to, { ...message, promised });
}

/** Takes on a higher ballot of another replica; the caller persists it (as a promise, or with a vote). */
export function adoptBallot(run: Run, ballot: Ballot): void {
  const { state } = run;
  if (state.role !== 'follower') resign(run, 'higherBallot');
  state.promised = ballot;
  state.highestRound = Math.max(state.highestRound, ballot.round);
  state.leaderCommitPoint = 0 as Slot;
  state.preVote = null;
}
