/**
 * Cuts the steps of a trace into segments that TLC can take one by one.
 *
 * A segment holds the state that it starts in, its steps, the state that it must end in, and of the messages sent before only those
 * that its steps look at. The segment in which such a message was sent must show that it was (`exports`), so the segments together
 * check the whole trace. Slots are numbered anew in each segment: those that no step of it looks at are left out (see TraceMultiPaxos.tla).
 */
import type { Ballot, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { linearize, type Linearized, type TracedStep } from './linearize.ts';
import type { RecordedTrace } from './read-trace.ts';
import { messageName, specMessages, type Held, type SpecMessage } from './spec-message.ts';
import { tellingHeartbeat } from './apply-step.ts';
import { watchChanges, type ReplicaState, type SpecState, type Step } from './spec-state.ts';

/** The state of TLC grows with both. */
const STEPS_MAX = 200;
const SLOTS_MAX = 120;

/** They look at the slots that they name, and at those that the commit point passes. A replica that waits for its database takes thousands of them in, and has not settled one. */
const sparing: ReadonlySet<Step['action']> = new Set([
  'HandleAccept',
  'HandleHeartbeat',
  'HandleCatchUpReply',
  'LearnConfiguration',
  'Restored',
  'Fsync',
]);

export interface Segment {
  readonly steps: readonly TracedStep[];
  /** Ascending; what the segment calls slot i is slots[i - 1]. */
  readonly slots: readonly number[];
  /** Sent before and looked at here. */
  readonly imports: readonly SpecMessage[];
  /** Sent here and looked at later. */
  readonly exports: SpecMessage[];
  readonly init: readonly FrozenReplica[];
  readonly end: readonly FrozenReplica[];
}

/** One replica at a border of segments; the logs hold the segment's slots, in their order. */
export interface FrozenReplica
  extends Pick<
    ReplicaState,
    | 'role'
    | 'promised'
    | 'config'
    | 'commitPoint'
    | 'durablePromised'
    | 'buffer'
    | 'promises'
    | 'startSlot'
    | 'backlog'
    | 'serving'
  > {
  readonly acks: readonly (readonly [slot: number, from: ReplicaId])[];
  readonly log: readonly HeldOrNot[];
  readonly durableLog: readonly HeldOrNot[];
}

/** `settled`: it holds what was chosen before the trace began. */
export type HeldOrNot = Held | 'nothing' | 'settled';

interface Open {
  readonly steps: TracedStep[];
  readonly firstStep: number;
  readonly slots: Set<number>;
  readonly needed: Map<string, SpecMessage>;
  readonly lowestCommitPoint: number;
  /** Called once the slots are known. */
  readonly freeze: (slots: readonly number[]) => FrozenReplica[];
}

/** Cuts the whole trace. */
export function cutSegments(trace: RecordedTrace): {
  readonly segments: Segment[];
  readonly linearized: Linearized;
} {
  const segments: Segment[] = [];
  const starts: number[] = [];
  let open: Open | null = null;
  const close = (state: SpecState): void => {
    if (open === null || open.steps.length === 0) return;
    segments.push(closeSegment(open, state, segments, starts));
    starts.push(open.firstStep);
    open = null;
  };
  const linearized = linearize(trace, (step, index, state) => {
    const isFull = open !== null && (open.steps.length >= STEPS_MAX || open.slots.size >= SLOTS_MAX);
    if (isFull && !hasOpenBase(state)) close(state);
    open ??= openSegment(index, state);
    lookAt(open, step, state);
  });
  close(linearized.state);
  return { segments, linearized };
}

function openSegment(firstStep: number, state: SpecState): Open {
  const commitPoints = [...state.replicas.values()].map(({ commitPoint }) => commitPoint);
  const open: Open = {
    steps: [],
    firstStep,
    slots: new Set(commitPoints.map((commitPoint) => commitPoint + 1)),
    needed: new Map(),
    lowestCommitPoint: Math.min(...commitPoints),
    freeze: freezer(state),
  };
  for (const [id, replica] of state.replicas) {
    for (const { record, replies } of replica.buffer) {
      if (record.slot > 0) open.slots.add(record.slot);
      for (const reply of replies) addSlots(open, reply);
    }
    for (const promise of replica.promises) {
      need(open, promise);
    }
    for (const [slot] of replica.backlog) open.slots.add(slot);
    for (const message of ownWord(id, replica, state)) need(open, message);
  }
  return open;
}

/** What a candidate or leader said itself and counts. */
function ownWord(id: ReplicaId, replica: ReplicaState, state: SpecState): SpecMessage[] {
  const ballot = replica.promised;
  if (replica.role === 'leader') {
    const own: SpecMessage[] = [tellingHeartbeat(replica)];
    for (let slot = replica.commitPoint + 1; slot <= replica.lastHeld; slot++) {
      own.push({ type: 'Accepted', from: id, ballot, slot });
      // Who decides the slot was settled with its proposal.
      const label = replica.log.get(slot)?.label ?? '';
      own.push({ type: 'Accept', ballot, slot, label, voters: null });
    }
    return own;
  }
  if (replica.role !== 'candidate') return [];
  // A candidate is rare, and so is the search.
  return [...state.sent.values()].flatMap(({ message }) => {
    const isOwn = (message.type === 'Promise' && message.from === id) || message.type === 'Prepare';
    return isOwn && message.ballot.round === ballot.round && message.ballot.replica === ballot.replica
      ? [message]
      : [];
  });
}

function need(open: Open, message: SpecMessage): void {
  open.needed.set(messageName(message), message);
  addSlots(open, message);
}

function addSlots(open: Open, message: SpecMessage): void {
  if ('slot' in message) open.slots.add(message.slot);
  if (message.type === 'Promise') for (const { slot } of message.votes) open.slots.add(slot);
}

/** Notes which slots and messages the step looks at. */
function lookAt(open: Open, traced: TracedStep, state: SpecState): void {
  open.steps.push(traced);
  const { step, event } = traced;
  for (const message of takenMessages(step, state)) need(open, message);
  const { firstSlot = 0, lastSlot = 0, labels = [] } = step;
  for (let slot = Math.max(1, firstSlot); slot <= Math.max(lastSlot, firstSlot + labels.length - 1); slot++)
    open.slots.add(slot);
  const replica = state.replicas.get(step.replica) as ReplicaState;
  const reached = Math.max(step.commitPoint ?? 0, event?.state.commitPoint ?? 0);
  if (!sparing.has(step.action)) noteHeld(open, replica);
  // A database that was copied is taken for chosen up to its end, whatever the log held below.
  if (step.action === 'Restored') open.slots.add(reached);
  else if (step.action !== 'HandlePrepare') noteReached(open, replica, reached);
  if (event === null) return;
  for (const [slot] of event.votes ?? []) open.slots.add(slot);
  for (const { message } of event.sent ?? []) {
    for (const one of specMessages(step.replica, message)) {
      // The commit point that rides on a message and was told before.
      if (state.sent.has(messageName(one))) need(open, one);
      else addSlots(open, one);
    }
  }
}

/** What is held and not settled counts for elections and restarts, whether or not the step names it. */
function noteHeld(open: Open, replica: ReplicaState): void {
  for (let slot = replica.commitPoint + 1; slot <= replica.lastHeld; slot++)
    if (replica.log.has(slot)) open.slots.add(slot);
}

/** Every slot that the commit point passes, or could pass, in this step, and the one at which it must stop. */
function noteReached(open: Open, replica: ReplicaState, reached: number): void {
  const limit = Math.min(reached, replica.lastHeld);
  for (let slot = replica.commitPoint + 1; slot <= limit; slot++) {
    open.slots.add(slot);
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

function closeSegment(
  open: Open,
  state: SpecState,
  before: readonly Segment[],
  starts: readonly number[],
): Segment {
  const imports: SpecMessage[] = [];
  const imported = new Set<string>();
  const take = (name: string): void => {
    const sent = state.sent.get(name);
    if (sent === undefined || sent.step >= open.firstStep || imported.has(name)) return;
    imported.add(name);
    imports.push(sent.message);
    const origin = starts.findLastIndex((start) => start <= sent.step);
    if (origin >= 0) before[origin]?.exports.push(sent.message);
  };
  for (const name of open.needed.keys()) take(name);
  for (const replica of state.replicas.values()) {
    for (const [slot] of replica.backlog) open.slots.add(slot);
    for (const promise of replica.promises) addSlots(open, promise);
    for (const { record, replies } of replica.buffer) {
      if (record.slot > 0) open.slots.add(record.slot);
      for (const reply of replies) addSlots(open, reply);
    }
  }
  const slots = withGaps(
    [...open.slots].filter((slot) => slot > 0).sort((a, b) => a - b),
    open.lowestCommitPoint,
  );
  // What a database holds is chosen in every slot up to its pointer, also in those that no other step looks at.
  const restoredTo = Math.max(0, ...open.steps.map(({ step }) => restoredSlot(step)));
  for (const slot of slots) {
    const label = state.chosen.get(slot);
    if (slot <= restoredTo && label !== undefined) take(messageName({ type: 'CatchUpReply', slot, label }));
  }
  const init = open.freeze(slots);
  return {
    steps: open.steps,
    slots,
    imports,
    exports: [],
    init,
    end: hasOpenBase(state) ? [] : freezer(state)(slots),
  };
}

/** A base that waits for the disk stands for every slot up to its own: no state at a border tells that. */
function hasOpenBase(state: SpecState): boolean {
  return [...state.replicas.values()].some(({ buffer }) =>
    buffer.some(({ record }) => record.kind === 'base'),
  );
}

/** How far a step takes everything for chosen. */
function restoredSlot({ action, commitPoint = 0 }: Step): number {
  return action === 'Restored' ? commitPoint : 0;
}

/**
 * Adds one slot for each run that is left out above the lowest commit point: where a replica has not settled the run, its commit
 * point must stop there. A run lies on one side of every commit point, since the slot above each is never left out.
 */
function withGaps(slots: readonly number[], lowestCommitPoint: number): number[] {
  const all: number[] = [];
  let previous = lowestCommitPoint;
  for (const slot of slots) {
    if (slot > previous + 1) all.push(previous + 1);
    all.push(slot);
    previous = Math.max(previous, slot);
  }
  return all;
}

/** Takes down the state as it is now; the logs are read when the slots are known, and may change until then. */
function freezer(state: SpecState): (slots: readonly number[]) => FrozenReplica[] {
  const frozen = [...state.replicas.values()].map(freezeReplica);
  return (slots) => frozen.map((freeze) => freeze(slots));
}

function freezeReplica(replica: ReplicaState): (slots: readonly number[]) => FrozenReplica {
  const { role, promised, config, commitPoint, durablePromised, startSlot, serving, base } = replica;
  const backlog = [...replica.backlog];
  const acks = [...replica.acks].flatMap(([slot, voters]) =>
    [...voters].map((from) => [slot, from] as const),
  );
  const [buffer, promises] = [[...replica.buffer], [...replica.promises]];
  const view = watchChanges(replica);
  const held = (read: (slot: number) => Held | undefined) => (slot: number) =>
    read(slot) ?? (slot <= base ? 'settled' : 'nothing');
  return (slots) => ({
    role,
    promised,
    config,
    commitPoint,
    durablePromised,
    startSlot,
    backlog,
    serving,
    acks,
    buffer,
    promises,
    log: role === 'down' ? slots.map((): HeldOrNot => 'nothing') : slots.map(held(view.log)),
    durableLog: slots.map(held(view.durable)),
  });
}
