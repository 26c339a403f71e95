/**
 * The front door of this protocol's core: `step(state, input) -> { state, effects }`.
 *
 * Responsible for: taking each input to what it means, and telling a change of leadership. Pure and deterministic: no clock, no randomness, no I/O. As in the
 * Multi-Paxos core, `step` changes its argument in place and returns it; after an error the state must not be used any more.
 */
import { sameBallot } from '../multipaxos/ballot.ts';
import type { SlotEntry } from '../multipaxos/types/entries.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { acknowledge, advanceSettled, giveUpWaiting, handleReceived } from './acknowledge.ts';
import { handleOperations, tellReceived } from './copy.ts';
import {
  considerSuspicion,
  giveWord,
  handleAskWord,
  handleRefuse,
  handleWord,
  stepBack,
  suspectPrimary,
} from './election.ts';
import { propose, tickCopies } from './leadership.ts';
import { advanceDurable, must, type Run, traceAction } from './run.ts';
import { type HeldBack, isServing, type PendingPersist, type State } from './state.ts';
import {
  considerPause,
  databaseRestored,
  pausePrimary,
  resume,
  takeCopy,
  transferState,
} from './transfer.ts';
import type { Effect, Input } from './types/effects.ts';
import type { Message } from './types/messages.ts';

export { createState } from './restart.ts';
export { isServing, type State } from './state.ts';

/** @throws PrimaryInvariantViolation if a rule of the protocol is broken: stop the replica. */
export function step(state: State, input: Input): { state: State; effects: Effect[] } {
  must(input.nowMs >= state.nowMs, 'the clock does not go back');
  const run: Run = { state, effects: [] };
  state.nowMs = input.nowMs;
  // What the database has is part of what a replica begins with, where it is told first.
  if (input.kind !== 'Restored') traceRestart(run);
  act(run, input);
  traceRestart(run);
  advanceSettled(run);
  acknowledge(run);
  pushToDatabase(run);
  considerPause(run);
  purge(run);
  tellLeadership(run);
  return { state, effects: run.effects };
}

function act(run: Run, input: Input): void {
  const { state } = run;
  switch (input.kind) {
    case 'Tick':
      state.random = input.random;
      return tick(run);
    case 'Receive':
      if (input.message.group !== state.config.group || input.from === state.config.id) return;
      if (!state.config.replicas.includes(input.from) || state.isTakingCopy) return;
      return receive(run, input.from, input.message);
    case 'Propose':
      return propose(run, input.proposals);
    case 'Persisted':
      return persisted(run, input.seq);
    case 'Applied':
      if (state.needsCopy || state.isTakingCopy || input.slot > state.pushedTo) return;
      state.executed = Math.max(state.executed, input.slot) as Slot;
      state.durableExecuted = Math.max(state.durableExecuted, input.durableSlot) as Slot;
      return tellReceived(run);
    case 'Restored':
      return databaseRestored(run, input);
    case 'Copied':
      return takeCopy(run, input.epoch, input.entries);
    case 'Pause':
      return pausePrimary(run);
    case 'Resume':
      return resume(run);
    case 'StepDown':
      return stepBack(run);
    case 'Trace':
      state.isTold = input.isTold;
      return;
    default:
      input satisfies never;
  }
}

function traceRestart(run: Run): void {
  if (run.state.restartTraced) return;
  run.state.restartTraced = true;
  traceAction(run, 'Restart', run.state.promised);
}

function tick(run: Run): void {
  if (run.state.isTakingCopy) return;
  if (run.state.leadership === null) return considerSuspicion(run);
  tickCopies(run);
  advanceSettled(run);
  acknowledge(run);
  giveUpWaiting(run);
}

function receive(run: Run, from: ReplicaId, message: Message): void {
  switch (message.kind) {
    case 'AskWord':
      return handleAskWord(run, from, message);
    case 'Word':
      return handleWord(run, from, message);
    case 'Refuse':
      return handleRefuse(run, message);
    case 'Operations':
      return handleOperations(run, from, message);
    case 'Received':
      return handleReceived(run, from, message);
    default:
      return message satisfies never;
  }
}

function persisted(run: Run, seq: number): void {
  const { state } = run;
  const flushed = state.pending.filter((each) => each.seq <= seq);
  if (flushed.length === 0) return;
  state.pending = state.pending.filter((each) => each.seq > seq);
  fsync(run, flushed, seq);
  for (const { heldBack } of flushed) for (const each of heldBack) tellHeldBack(run, each);
  tellReceived(run);
}

/** What is durable counts. */
function fsync(run: Run, flushed: readonly PendingPersist[], seq: number): void {
  const { state } = run;
  advanceDurable(state, seq);
  // What a group promises, too, is told of when that is durable.
  const told = flushed.findLast(
    ({ isGroup, epoch }) =>
      isGroup || !state.pending.some((each) => each.isGroup && sameBallot(each.epoch, epoch)),
  );
  if (told !== undefined) state.durablePromised = told.epoch;
  const groups = flushed.filter(({ isGroup }) => isGroup).length;
  if (groups > 0) traceAction(run, 'Fsync', state.durablePromised, { groups });
}

function tellHeldBack(run: Run, held: HeldBack): void {
  switch (held.kind) {
    case 'candidacy':
      if (sameBallot(held.epoch, run.state.promised)) suspectPrimary(run);
      return;
    case 'word':
      return giveWord(run, held.to, held.epoch);
    case 'copied':
      return transferState(run, held.epoch, held.entries);
    default:
      return held satisfies never;
  }
}

/** What is durable, and confirmed by the primary, is executed. */
function pushToDatabase(run: Run): void {
  const { state } = run;
  if (!state.databaseUp || state.needsCopy || state.isTakingCopy || state.primary === null) return;
  const to = Math.min(state.matched, state.durableTo);
  const entries: SlotEntry[] = [];
  for (let slot = state.pushedTo + 1; slot <= to; slot += 1) {
    const { entry } = state.log.get(slot as Slot)!;
    entries.push({ slot: slot as Slot, entry });
    state.pushedTo = slot as Slot;
    traceAction(run, 'PushToDatabase', state.promised, { slot: slot as Slot });
  }
  if (entries.length > 0) run.effects.push({ kind: 'chosen', entries });
}

/** What is settled and executed goes, but for what copies that lag may want. The last of it stays, and so does the last entry: their epochs tell what a log is worth. */
function purge(run: Run): void {
  const { state } = run;
  const isLarge = state.logBytes > state.config.keepBytesMax;
  const keepSlots = isLarge ? 1 : state.config.keepSlots;
  const upTo = Math.min(
    state.settled,
    state.durableExecuted,
    state.matched,
    state.lastSlot - Math.max(1, keepSlots),
  ) as Slot;
  if (state.needsCopy || state.isTakingCopy || upTo - state.base < Math.max(1, keepSlots / 4)) return;
  for (let slot: number = state.base; slot < upTo; slot += 1) {
    state.logBytes -= state.log.get(slot as Slot)?.bytes ?? 0;
    state.log.delete(slot as Slot);
  }
  state.base = upTo;
  traceAction(run, 'Purge', state.promised, { slot: upTo, isLarge });
  const seq = state.nextSeq;
  state.nextSeq += 1;
  state.pending.push({ seq, isGroup: false, epoch: state.promised, heldBack: [] });
  run.effects.push(
    { kind: 'persist', seq, records: [{ kind: 'commitPoint', slot: (upTo - 1) as Slot }] },
    { kind: 'purge', upTo: (upTo - 1) as Slot },
  );
}

function tellLeadership(run: Run): void {
  const { state } = run;
  const { role, primary: leader, promised: ballot, told } = state;
  const serving = isServing(state);
  if (
    role === told.role &&
    leader === told.leader &&
    serving === told.serving &&
    sameBallot(ballot, told.ballot)
  )
    return;
  state.told = { role, ballot, leader, serving };
  run.effects.push({ kind: 'leadership', ...state.told });
}
