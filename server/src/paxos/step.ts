/**
 * The front door of the core of single-decree Paxos: `step(state, input) -> { state, effects }`.
 *
 * Responsible for: taking each input to the actions that it means. Pure and deterministic: no clock, no randomness, no I/O. For speed the state is owned
 * linearly: `step` changes its argument in place and returns it, so a caller must not use the old one any more.
 * After a PaxosInvariantViolation the state must not be used at all.
 */
import type { Entry } from '../multipaxos/types/entries.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { handleAccept, handlePrepare } from './acceptor.ts';
import { handleLearnReply, handleLearnRequest, handleStatus } from './catch-up.ts';
import { apply, handleDone, restored } from './done.ts';
import { fsync } from './fsync.ts';
import { checkState, violated } from './invariants.ts';
import { handleLearn, letGo, reportChosen } from './learner.ts';
import { handleAccepted, handlePromise, handleReject, placeWaiting, takeOn } from './proposer.ts';
import { seedOf } from './restart.ts';
import { messageOf, type PaxosRun } from './run.ts';
import type { PaxosState } from './state.ts';
import { traceRestart } from './trace.ts';
import type { PaxosEffect, PaxosInput } from './types/effects.ts';
import type { PaxosMessage } from './types/messages.ts';
import { tick } from './upkeep.ts';

export { createPaxosState } from './restart.ts';

/** @throws PaxosInvariantViolation if a rule of the protocol is broken: stop the replica. */
export function paxosStep(
  state: PaxosState,
  input: PaxosInput,
): { state: PaxosState; effects: PaxosEffect[] } {
  if (input.nowMs < state.nowMs)
    violated('TypeOK', `the clock went back to ${input.nowMs} from ${state.nowMs}`);
  const run: PaxosRun = { state, effects: [] };
  const before = { commitPoint: state.commitPoint };
  state.nowMs = input.nowMs;
  if (!state.restartTraced) traceRestart(run);
  act(run, input);
  placeWaiting(run);
  reportChosen(run);
  letGo(state);
  checkState(state, before);
  return { state, effects: run.effects };
}

function act(run: PaxosRun, input: PaxosInput): void {
  const { state } = run;
  switch (input.kind) {
    case 'Tick':
      state.seed = (state.seed ^ seedOf(input.random)) >>> 0;
      return tick(run);
    case 'Receive':
      return receive(run, input.from, input.message);
    case 'Propose':
      return takeOn(run, input.proposals);
    case 'Persisted':
      return fsync(run, input.seq);
    case 'Applied':
      return apply(run, input.durableSlot);
    case 'Restored':
      return restored(run, input.slot);
    default:
      input satisfies never;
  }
}

function receive(run: PaxosRun, from: ReplicaId, message: PaxosMessage): void {
  const { config, peers } = run.state;
  if (message.group !== config.group || !peers.includes(from)) return;
  handleDone(run, from, message.done);
  switch (message.kind) {
    case 'SlotPrepare':
      return handlePrepare(run, from, message);
    case 'SlotPromise':
      return handlePromise(run, from, message);
    case 'SlotAccept':
      return handleAccept(run, from, message);
    case 'SlotAccepted':
      return handleAccepted(run, from, message);
    case 'SlotReject':
      return handleReject(run, message);
    case 'Learn':
      return handleLearn(run, from, message);
    case 'LearnRequest':
      return handleLearnRequest(run, from, message);
    case 'LearnReply':
      return handleLearnReply(run, from, message);
    case 'Status':
      return handleStatus(run, from, message);
    default:
      message satisfies never;
  }
}

/** The answer to a `serveCatchUp` effect, with what the log has given. */
export function learnReply(state: PaxosState, firstSlot: Slot, entries: readonly Entry[]): PaxosMessage {
  return messageOf(state, { kind: 'LearnReply', firstSlot, entries, purgedTo: state.purgedTo });
}
