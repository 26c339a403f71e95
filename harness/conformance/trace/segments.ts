/**
 * Cuts the steps of a trace into segments that TLC can take one by one.
 *
 * A segment holds the state that it starts in, its steps, the state that it must end in, and of the messages sent before only those
 * that its steps look at. The segment in which such a message was sent must show that it was (`exports`), so the segments together
 * check the whole trace. Slots are numbered anew in each segment: those that no step of it looks at are left out (see TraceMultiPaxos.tla).
 */
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { freezer, type FrozenReplica } from './frozen-replicas.ts';
import { linearize, type Linearized, type TracedStep, type Visit } from './linearize.ts';
import type { RecordedTrace } from './read-trace.ts';
import { SETTLED, settledBefore } from './settled-before.ts';
import { messageName, type SpecMessage } from './spec-message.ts';
import { tellingHeartbeat } from './apply-step.ts';
import type { ReplicaState, SpecState, Step } from './spec-state.ts';
import { addSlots, lookAt, need, type Needs } from './step-needs.ts';

/** The state of TLC grows with both. */
const STEPS_MAX = 200;
const SLOTS_MAX = 120;

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

interface Open extends Needs {
  readonly steps: TracedStep[];
  readonly firstStep: number;
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
  const cutter = newCutter((open, state) => {
    segments.push(closeSegment(open, state, exportingNeeded(segments, starts)));
    starts.push(open.firstStep);
  });
  const linearized = linearize(trace, cutter.visit);
  cutter.close(linearized.state);
  return { segments, linearized };
}

export interface Cutter {
  readonly visit: Visit;
  /** What is open is a segment, if there is a step in it. */
  close(state: SpecState): void;
}

function newCutter(onFull: (open: Open, state: SpecState) => void): Cutter {
  let open: Open | null = null;
  const close = (state: SpecState): void => {
    if (open === null || open.steps.length === 0) return;
    onFull(open, state);
    open = null;
  };
  return {
    visit(step, index, state) {
      const isFull = open !== null && (open.steps.length >= STEPS_MAX || open.slots.size >= SLOTS_MAX);
      if (isFull && !hasOpenBase(state)) close(state);
      open ??= openSegment(index, state);
      open.steps.push(step);
      lookAt(open, step, state);
    },
    close,
  };
}

/** Segments one after the other, of a run that goes on: nobody knows yet which messages will be looked at later, so each segment must show all that were sent in it. */
export function cutAsTheyCome(onSegment: (segment: Segment) => void): Cutter {
  const cutter = newCutter((open, state) => {
    const segment = closeSegment(open, state, () => {});
    onSegment({ ...segment, exports: sentSince(state, open.firstStep) });
  });
  return {
    visit: cutter.visit,
    close(state) {
      if (!hasOpenBase(state)) cutter.close(state);
    },
  };
}

/** The newest are the last ones. */
function sentSince({ sent }: SpecState, firstStep: number): SpecMessage[] {
  const found: SpecMessage[] = [];
  for (const { message, step } of sent.values()) if (step >= firstStep) found.push(message);
  return found;
}

type Export = (message: SpecMessage, step: number) => void;

/** The segment in which a message was sent must show that it was. */
function exportingNeeded(before: readonly Segment[], starts: readonly number[]): Export {
  return (message, step) => {
    const origin = starts.findLastIndex((start) => start <= step);
    if (origin >= 0) before[origin]?.exports.push(message);
  };
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

function closeSegment(open: Open, state: SpecState, onImport: Export): Segment {
  const imports: SpecMessage[] = [];
  const imported = new Set<string>();
  const take = (name: string): void => {
    const sent = state.sent.get(name);
    if (sent === undefined || sent.step >= open.firstStep || imported.has(name)) return;
    imported.add(name);
    imports.push(sent.message);
    onImport(sent.message, sent.step);
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
    if (slot > restoredTo) continue;
    if (label !== undefined) take(messageName({ type: 'CatchUpReply', slot, label }));
    else if (slot <= settledBefore(state)) imports.push({ type: 'CatchUpReply', slot, label: SETTLED });
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
