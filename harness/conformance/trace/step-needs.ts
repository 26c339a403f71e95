/**
 * What a step looks at: the slots that its segment must have, and the messages that must have been sent before.
 *
 * Slots that nothing looks at are left out of a segment (see TraceMultiPaxos.tla), and are called by the name of the next one below.
 */
import type { Ballot } from '../../../server/src/multipaxos/types/names.ts';
import type { TracedStep } from './linearize.ts';
import type { ConsensusEvent } from './read-trace.ts';
import { messageName, specMessages, type SpecMessage } from './spec-message.ts';
import { firstProposals } from './spec-promise.ts';
import type { ReplicaState, SpecState, Step } from './spec-state.ts';

/** They look at the slots that they name, and at those that the commit point passes. A replica that waits for its database takes thousands of them in, and has not settled one. */
const sparing: ReadonlySet<Step['action']> = new Set([
  'HandleAccept',
  'HandleHeartbeat',
  'HandleCatchUpReply',
  'LearnConfiguration',
  'Restored',
  'Fsync',
]);

/** Of the steps of one segment. */
export interface Needs {
  readonly slots: Set<number>;
  readonly needed: Map<string, SpecMessage>;
}

export function need(needs: Needs, message: SpecMessage): void {
  needs.needed.set(messageName(message), message);
  addSlots(needs, message);
}

export function addSlots(needs: Needs, message: SpecMessage): void {
  if ('slot' in message) needs.slots.add(message.slot);
  if (message.type === 'Promise') for (const { slot } of message.votes) needs.slots.add(slot);
}

/** Notes which slots and messages the step looks at. */
export function lookAt(needs: Needs, traced: TracedStep, state: SpecState): void {
  const { step, event } = traced;
  for (const message of takenMessages(step, state)) need(needs, message);
  for (const message of tellingLess(traced, state)) need(needs, message);
  const { firstSlot = 0, lastSlot = 0, labels = [] } = step;
  for (let slot = Math.max(1, firstSlot); slot <= Math.max(lastSlot, firstSlot + labels.length - 1); slot++)
    needs.slots.add(slot);
  const replica = state.replicas.get(step.replica) as ReplicaState;
  const reached = Math.max(step.commitPoint ?? 0, event?.state.commitPoint ?? 0);
  if (!sparing.has(step.action)) noteHeld(needs, replica);
  if (step.action === 'Crash' || step.action === 'Restart') noteRecovered(needs, replica, event);
  if (step.action === 'BecomeLeader') {
    for (const [slot] of firstProposals(state, step.replica, replica)) needs.slots.add(slot);
  }
  // A database that was copied is taken for chosen up to its end, whatever the log held below.
  if (step.action === 'Restored') needs.slots.add(reached);
  else if (step.action !== 'HandlePrepare') noteReached(needs, replica, reached);
  if (event === null) return;
  for (const [slot] of event.votes ?? []) needs.slots.add(slot);
  for (const { slot } of event.configurations ?? []) needs.slots.add(slot);
  // Slots that are left out have the name of the next one below: those that the state names must have their own.
  for (const slot of [event.state.lastSlot, replica.lastHeld, event.state.commitPoint, replica.commitPoint])
    needs.slots.add(slot);
  if (event.base !== undefined) needs.slots.add(event.base);
  for (const { message } of event.sent ?? []) {
    if (message.commitPoint !== undefined) needs.slots.add(message.commitPoint);
    for (const one of specMessages(step.replica, message)) {
      // The commit point that rides on a message and was told before.
      if (state.sent.has(messageName(one))) need(needs, one);
      else addSlots(needs, one);
    }
  }
}

/** What is held and not settled counts for elections and restarts, whether or not the step names it. */
function noteHeld(needs: Needs, replica: ReplicaState): void {
  for (let slot = replica.commitPoint + 1; slot <= replica.lastHeld; slot++)
    if (replica.log.has(slot)) needs.slots.add(slot);
}

/** What a restart finds on its disk counts, whether or not it tells of it. */
function noteRecovered(needs: Needs, replica: ReplicaState, event: ConsensusEvent | null): void {
  for (const slot of replica.durableLog.keys()) if (slot > replica.commitPoint) needs.slots.add(slot);
  const told = (event?.votes ?? []).map(([slot]) => slot as number);
  for (let slot = Math.min(...told); slot <= Math.max(...told); slot++) needs.slots.add(slot);
}

/** Every slot that the commit point passes, or could pass, in this step, and the one at which it must stop. */
function noteReached(needs: Needs, replica: ReplicaState, reached: number): void {
  const limit = Math.min(reached, replica.lastHeld);
  for (let slot = replica.commitPoint + 1; slot <= limit; slot++) {
    needs.slots.add(slot);
    if (!replica.log.has(slot)) return;
  }
}

function takenMessages(step: Step, state: SpecState): SpecMessage[] {
  const { ballot, from, commitPoint = 0, firstSlot = 0, lastSlot = 0, labels = [] } = step;
  const run = Array.from({ length: Math.max(0, lastSlot - firstSlot + 1) }, (_, i) => firstSlot + i);
  // The other actions take no message.
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check
  switch (step.action) {
    case 'HandlePrepare':
      return ballot === undefined
        ? []
        : [{ type: 'Prepare', ballot, commitPoint }, ...knownAnswers(step, state)];
    case 'HandlePromise':
      return step.promise === undefined ? [] : [step.promise];
    case 'HandleAccept':
      if (ballot === undefined) return [];
      return [
        heartbeat(ballot, commitPoint),
        ...run.map(
          (slot): SpecMessage => ({
            type: 'Accept',
            ballot,
            slot,
            label: labels[slot - firstSlot] ?? '',
            voters: null,
          }),
        ),
      ];
    case 'HandleHeartbeat':
      return ballot === undefined ? [] : [heartbeat(ballot, commitPoint)];
    case 'HandleAccepted':
      if (ballot === undefined || from === undefined) return [];
      return run.map((slot) => ({ type: 'Accepted', from, ballot, slot }));
    case 'HandleCatchUpReply':
      return labels.map((label, i) => ({ type: 'CatchUpReply', slot: firstSlot + i, label }));
    case 'Crash':
    case 'LearnConfiguration':
      return tellerOf(step.configuration?.version, state);
    case 'HandleReject': {
      const mine = [...state.sent.values()].find(
        ({ message }) =>
          message.type === 'Prepare' &&
          message.ballot.round === ballot?.round &&
          message.ballot.replica === ballot.replica,
      );
      return mine === undefined ? [] : [mine.message];
    }
    default:
      return [];
  }
}

/** An Accept that is taken as a Heartbeat tells no configuration: whoever knows an older one than its sender takes nothing else (IsToldWithout). */
function tellingLess({ step, event }: TracedStep, state: SpecState): SpecMessage[] {
  const message = event?.message;
  if (step.action !== 'HandleHeartbeat' || message?.kind !== 'Accept') return [];
  const known = state.replicas.get(step.replica)?.config.version ?? 0;
  if (Math.max(known, ...state.tellers.keys()) === known) return [];
  return specMessages(message.ballot.replica, message).slice(0, 1);
}

function heartbeat(ballot: Ballot, commitPoint: number): SpecMessage {
  return { type: 'Heartbeat', ballot, commitPoint, configuration: null };
}

/** Someone who told that configuration. */
function tellerOf(version: number | undefined, state: SpecState): SpecMessage[] {
  const teller = version === undefined ? undefined : state.tellers.get(version);
  return teller === undefined ? [] : [teller];
}

/** A Prepare that comes again may have been answered long ago. */
function knownAnswers(step: Step, state: SpecState): SpecMessage[] {
  const replica = state.replicas.get(step.replica);
  if (replica === undefined || step.ballot === undefined || replica.promised.round !== step.ballot.round)
    return [];
  const { ballot } = step;
  return [...state.sent.values()].flatMap(({ message }) =>
    message.type === 'Promise' &&
    message.from === step.replica &&
    message.ballot.round === ballot.round &&
    message.ballot.replica === ballot.replica
      ? [message]
      : [],
  );
}
