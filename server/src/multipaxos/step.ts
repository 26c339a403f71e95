/**
 * The front door of the Multi-Paxos core: `step(state, input) -> { state, effects }`.
 *
 * Responsible for: taking each input to the actions that it means, and telling a change of leadership. Pure and deterministic:
 * no clock, no randomness, no I/O. For speed the state is owned linearly: `step` changes its argument in place and
 * returns it, so a caller must not use the old one any more (`cloneState` first to keep it). After an InvariantViolation the
 * state must not be used at all.
 */
import { handlePrepare } from './acceptor.ts';
import { sameBallot } from './ballot.ts';
import { proposeWaiting } from './barrier.ts';
import { handleCatchUpReply, handleCatchUpRequest, requestCatchUp } from './catch-up.ts';
import { believes } from './disbelief.ts';
import {
  considerElection,
  handlePreVote,
  handlePreVoteReply,
  handlePromise,
  handleReject,
  retryPrepare,
} from './election.ts';
import { handleAccept, handleHeartbeat } from './follower.ts';
import { fsync } from './fsync.ts';
import { checkState, violated } from './invariants.ts';
import { traceLeaseRestart } from './lease-trace.ts';
import { handleResigned, handOver } from './hand-over.ts';
import { noteGone } from './haste.ts';
import { advanceCommitPoint, handleAccepted, propose, serve, stepDown } from './leader.ts';
import { reportChosen } from './learner.ts';
import { admits, recordConfiguration, tellConfiguration } from './membership.ts';
import { reconfigure } from './reconfigure.ts';
import { tellCommitPoint } from './commit-point.ts';
import { awaitCopy, knowLeadership, relievePressure, restored } from './restored.ts';
import type { Run } from './run.ts';
import { isServing, type State } from './state.ts';
import { traceAction } from './trace.ts';
import type { Effect, Input } from './types/effects.ts';
import type { Message } from './types/messages.ts';
import type { ReplicaId } from './types/names.ts';
import type { LogRecord } from './types/records.ts';
import { handleHeartbeatAck, tickLeader } from './upkeep.ts';

export { hastyDeadlineMs } from './haste.ts';
export { InvariantViolation } from './invariants.ts';
export { leaseHeld } from './lease.ts';
export { tracedLease } from './lease-trace.ts';
export { peerReports, type PeerReport } from './peer-reports.ts';
export { createState } from './restart.ts';
export { cloneState, entryAt, isServing, snapshot, type State } from './state.ts';

/** @throws InvariantViolation if a rule of the protocol is broken: stop the replica. */
export function step(state: State, input: Input): { state: State; effects: Effect[] } {
  if (input.nowMs < state.nowMs)
    violated('TypeOK', `the clock went back to ${input.nowMs} from ${state.nowMs}`);
  const run: Run = { state, effects: [], mark: 0 };
  const before = {
    promised: state.promised,
    commitPoint: state.commitPoint,
    version: state.configuration.version,
  };
  state.nowMs = input.nowMs;
  if (!state.restartTraced) traceRestart(run);
  act(run, input);
  run.mark = run.effects.length;
  advanceCommitPoint(run);
  proposeWaiting(run);
  serve(run);
  recordConfiguration(run);
  tellCommitPoint(run);
  reportChosen(run);
  tellConfiguration(run);
  tellLeadership(run);
  checkState(state, before);
  return { state, effects: run.effects };
}

function act(run: Run, input: Input): void {
  const { state } = run;
  switch (input.kind) {
    case 'Tick':
      state.random = input.random;
      tick(run);
      return;
    case 'Receive':
      if (input.message.group !== state.config.group || input.from === state.config.id) return;
      if (!believes(run, input.from, input.message)) return;
      if (admits(run, input.from, input.message)) receive(run, input.from, input.message);
      return;
    case 'Propose':
      propose(run, input.proposals);
      return;
    case 'Persisted':
      fsync(run, input.seq);
      return;
    case 'Applied':
      state.applied = input.slot;
      state.awaitsCopy = false;
      if (input.durableSlot > state.durableApplied) state.durableApplied = input.durableSlot;
      return;
    case 'StepDown':
      stepDown(run, input.reason);
      return;
    case 'HandOver':
      handOver(run, input.successor);
      return;
    case 'PeerGone':
      noteGone(state, input.replica);
      return;
    case 'Trace':
      state.trace = input.level;
      return;
    case 'Reconfigure':
      reconfigure(run, input.id, input.change);
      return;
    case 'Restored':
      restored(run, input.slot, input.configuration);
      return;
    case 'LeadershipKnown':
      knowLeadership(run, input.ballot);
      return;
    case 'CopyAwaited':
      awaitCopy(run);
      return;
    case 'LogPressure':
      relievePressure(run, input.isUrgent);
      return;
    default:
      input satisfies never;
  }
}

function tick(run: Run): void {
  const { state } = run;
  if (state.leadership !== null) tickLeader(run, state.leadership);
  else if (state.nowMs >= state.electionDeadlineMs) considerElection(run);
  else retryPrepare(run);
  requestCatchUp(run);
}

function receive(run: Run, from: ReplicaId, message: Message): void {
  switch (message.kind) {
    case 'PreVote':
      return handlePreVote(run, from, message);
    case 'PreVoteReply':
      return handlePreVoteReply(run, from, message);
    case 'Prepare':
      return handlePrepare(run, from, message);
    case 'Promise':
      return handlePromise(run, from, message);
    case 'Reject':
      return handleReject(run, from, message);
    case 'Accept':
      return handleAccept(run, from, message);
    case 'Accepted':
      return handleAccepted(run, from, message);
    case 'Heartbeat':
      return handleHeartbeat(run, from, message);
    case 'HeartbeatAck':
      return handleHeartbeatAck(run, from, message);
    case 'Resigned':
      return handleResigned(run, from, message);
    case 'CatchUpRequest':
      return handleCatchUpRequest(run, from, message);
    case 'CatchUpReply':
      return handleCatchUpReply(run, from, message);
    default:
      return message satisfies never;
  }
}

/** What the log recovered, told as the first event of this life. */
function traceRestart(run: Run): void {
  const { state } = run;
  state.restartTraced = true;
  if (state.trace === 'none') return;
  traceLeaseRestart(run);
  const records: LogRecord[] = [...state.log.values()].map(({ slot, ballot, entry }) =>
    ballot === null ? { kind: 'chosen', slot, entry } : { kind: 'vote', slot, ballot, entry },
  );
  traceAction(run, 'Restart', { records });
}

function tellLeadership(run: Run): void {
  const { state } = run;
  const { role, leader, promised: ballot, told } = state;
  const serving = isServing(state);
  const same = role === told.role && leader === told.leader && serving === told.serving;
  if (same && (sameBallot(ballot, told.ballot) || (role === 'follower' && leader === null))) return;
  state.told = { role, ballot, leader, serving };
  run.effects.push({
    kind: 'leadership',
    ...state.told,
    reason: role === 'follower' ? state.lastReason : null,
  });
}
