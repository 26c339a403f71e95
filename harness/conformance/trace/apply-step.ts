/**
 * The effect of each action of specs/MultiPaxos.tla on its variables (spec-state.ts).
 *
 * Judges nothing: TLC does, and it also checks that the state handed from segment to segment is the one that its own actions lead to. So a mistake here can
 * reject a good trace, but not accept a bad one.
 */
import { compareBallots, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { decidedBy, knownAt } from './spec-configuration.ts';
import { noBallot, type Held, type SpecMessage } from './spec-message.ts';
import { settledBefore } from './settled-before.ts';
import { firstProposals, promiseOf } from './spec-promise.ts';
import {
  isAnswered,
  newReplica,
  replicaOf,
  sendMessages,
  type BufferItem,
  type ReplicaState,
  type SpecRecord,
  type SpecState,
  type Step,
} from './spec-state.ts';

function hold(replica: ReplicaState, slot: number, held: Held): void {
  if (!replica.logBefore.has(slot)) replica.logBefore.set(slot, replica.log.get(slot));
  replica.log.set(slot, held);
  if (slot > replica.lastHeld) replica.lastHeld = slot;
}

function becomeFollower(replica: ReplicaState): void {
  replica.role = 'follower';
  replica.promises = [];
  replica.acks = new Map();
  replica.startSlot = 0;
  replica.backlog = [];
  replica.serving = false;
}

function follow(state: SpecState, replica: ReplicaState, ballot: Ballot, commitPoint: number): void {
  const from = replica.commitPoint;
  while (replica.commitPoint < commitPoint) {
    const held = replica.log.get(replica.commitPoint + 1);
    if (held?.ballot == null || !sameBallot(held.ballot, ballot)) break;
    replica.commitPoint++;
  }
  replica.config = knownAt(state, replica, from);
}

function settleAcks(replica: ReplicaState): void {
  for (const slot of replica.acks.keys()) if (slot <= replica.commitPoint) replica.acks.delete(slot);
}

/** Takes one step. `number`: of the step in the trace. */
export function applyStep(state: SpecState, step: Step, number: number): void {
  const replica = replicaOf(state, step.replica);
  const write = (records: readonly SpecRecord[], replies: readonly SpecMessage[]): void => {
    if (records.length > 0) {
      records.forEach((record, i) =>
        replica.buffer.push({ record, replies: i === records.length - 1 ? replies : [] }),
      );
    } else if (replica.buffer.length > 0) {
      const last = replica.buffer.pop() as BufferItem;
      replica.buffer.push({ ...last, replies: [...last.replies, ...replies] });
    } else sendMessages(state, replies, number);
  };
  const promiseRecord = (ballot: Ballot): SpecRecord => ({ kind: 'promise', slot: 0, ballot, label: '' });
  const vote = (slot: number, ballot: Ballot, label: EntryLabel): void => {
    hold(replica, slot, { ballot, label });
    write([{ kind: 'vote', slot, ballot, label }], [{ type: 'Accepted', from: step.replica, ballot, slot }]);
  };
  const {
    ballot = noBallot,
    commitPoint = 0,
    firstSlot = 0,
    lastSlot = 0,
    labels = [],
    from = '' as ReplicaId,
  } = step;
  switch (step.action) {
    case 'StartElection': {
      replica.promised = ballot;
      replica.role = 'candidate';
      replica.promises = [];
      const prepare: SpecMessage = { type: 'Prepare', ballot, commitPoint: replica.commitPoint };
      write([promiseRecord(ballot)], [prepare, promiseOf(step.replica, replica, ballot, 0)]);
      return;
    }
    case 'HandlePrepare': {
      const reply = promiseOf(step.replica, replica, ballot, commitPoint);
      const isHigher = compareBallots(ballot, replica.promised) > 0;
      if (isHigher) write([promiseRecord(ballot)], [reply]);
      else if (isAnswered(state, replica, reply)) return;
      else write([], [reply]);
      replica.promised = ballot;
      becomeFollower(replica);
      return;
    }
    case 'HandlePromise':
      if (step.promise === undefined) return;
      replica.promises.push(step.promise);
      return;
    case 'BecomeLeader':
    case 'Reconfigure':
    case 'Propose': {
      const b = replica.promised;
      labels.forEach((label, i) => vote(firstSlot + i, b, label));
      sendMessages(
        state,
        labels.map((label, i) => {
          const slot = firstSlot + i;
          return { type: 'Accept', ballot: b, slot, label, voters: decidedBy(state, replica, slot) };
        }),
        number,
      );
      if (step.action !== 'BecomeLeader') {
        replica.backlog.splice(0, labels.length);
        return;
      }
      replica.backlog = firstProposals(state, step.replica, replica).slice(labels.length);
      sendMessages(state, [tellingHeartbeat(replica)], number);
      replica.startSlot = replica.backlog.at(-1)?.[0] ?? firstSlot + labels.length - 1;
      replica.role = 'leader';
      replica.promises = [];
      return;
    }
    case 'HandleAccept': {
      for (let slot = Math.max(firstSlot, replica.commitPoint + 1); slot <= lastSlot; slot++) {
        const held = replica.log.get(slot);
        const isVoted = held?.ballot != null && sameBallot(held.ballot, ballot);
        if (!isVoted) vote(slot, ballot, labels[slot - firstSlot] ?? '');
      }
      follow(state, replica, ballot, commitPoint);
      if (compareBallots(ballot, replica.promised) > 0) replica.promised = ballot;
      becomeFollower(replica);
      return;
    }
    case 'HandleAccepted':
      for (let slot = Math.max(firstSlot, replica.commitPoint + 1); slot <= lastSlot; slot++) {
        replica.acks.set(slot, (replica.acks.get(slot) ?? new Set()).add(from));
      }
      return;
    case 'AdvanceCommitPoint': {
      const learnable: SpecMessage[] = [];
      for (let slot = replica.commitPoint + 1; slot <= commitPoint; slot++) {
        learnable.push({ type: 'CatchUpReply', slot, label: replica.log.get(slot)?.label ?? '' });
      }
      const before = replica.commitPoint;
      replica.commitPoint = commitPoint;
      replica.config = knownAt(state, replica, before);
      sendMessages(state, [tellingHeartbeat(replica), ...learnable], number);
      settleAcks(replica);
      return;
    }
    case 'Serve':
      replica.serving = true;
      return;
    case 'HandleHeartbeat':
      if (compareBallots(ballot, replica.promised) > 0) write([promiseRecord(ballot)], []);
      follow(state, replica, ballot, commitPoint);
      replica.promised = ballot;
      becomeFollower(replica);
      return;
    case 'HandleCatchUpReply':
      if (replica.role === 'candidate') prepareAgain(state, replica, lastSlot, number);
      labels.forEach((label, i) => {
        hold(replica, firstSlot + i, { ballot: null, label });
        write([{ kind: 'chosen', slot: firstSlot + i, ballot: null, label }], []);
      });
      replica.commitPoint = lastSlot;
      replica.config = knownAt(state, replica, firstSlot - 1);
      settleAcks(replica);
      return;
    case 'LearnConfiguration':
      replica.config = step.configuration ?? replica.config;
      return;
    case 'Restored':
      if (replica.role === 'candidate') prepareAgain(state, replica, commitPoint, number);
      for (const [slot, label] of state.chosen)
        if (slot <= commitPoint) hold(replica, slot, { ballot: null, label });
      write([{ kind: 'base', slot: commitPoint, ballot: null, label: '' }], []);
      replica.commitPoint = commitPoint;
      replica.config = knownAt(state, replica, 0);
      if (replica.role !== 'candidate') becomeFollower(replica);
      return;
    case 'HandleReject':
    case 'StepDown':
      becomeFollower(replica);
      return;
    case 'Fsync':
      for (const { record, replies } of replica.buffer.splice(0, step.records ?? 0)) {
        for (const slot of slotsWritten(record, state)) {
          if (!replica.durableBefore.has(slot)) replica.durableBefore.set(slot, replica.durableLog.get(slot));
        }
        writeDurably(replica, record, state);
        if (record.kind === 'base')
          replica.base = Math.max(replica.base, Math.min(record.slot, settledBefore(state)));
        sendMessages(state, replies, number);
      }
      return;
    case 'Crash':
      Object.assign(replica, {
        ...newReplica(step.configuration ?? replica.config),
        hasLog: true,
        commitPoint,
        base: replica.base,
        durablePromised: replica.durablePromised,
        durableLog: replica.durableLog,
        durableBefore: replica.durableBefore,
      });
      return;
    case 'Restart':
      replica.role = 'follower';
      replica.hasLog = true;
      replica.promised = replica.durablePromised;
      replica.log = new Map(replica.durableLog);
      replica.logBefore = new Map();
      replica.lastHeld = 0;
      for (const [slot, held] of replica.log) {
        if (slot > replica.lastHeld) replica.lastHeld = slot;
        if (held.ballot === null && slot > replica.commitPoint) replica.commitPoint = slot;
      }
      replica.config = knownAt(state, replica, 0);
      return;
    case 'Retell':
      sendMessages(state, [tellingHeartbeat(replica)], number);
      return;
    default:
      return step.action satisfies never;
  }
}

/** What a leader tells when there is nothing to propose. */
export function tellingHeartbeat({ promised, commitPoint, config }: ReplicaState): SpecMessage {
  return { type: 'Heartbeat', ballot: promised, commitPoint, configuration: config };
}

function slotsWritten({ kind, slot }: SpecRecord, { chosen }: Pick<SpecState, 'chosen'>): number[] {
  return kind === 'base' ? [...chosen.keys()].filter((one) => one <= slot) : [slot];
}

export function writeDurably(
  replica: Pick<ReplicaState, 'durablePromised' | 'durableLog'>,
  record: SpecRecord,
  state: Pick<SpecState, 'chosen'>,
): void {
  const { kind, slot, ballot, label } = record;
  if (kind === 'base') {
    for (const at of slotsWritten(record, state))
      replica.durableLog.set(at, { ballot: null, label: state.chosen.get(at) ?? '' });
    return;
  }
  if (ballot !== null && compareBallots(ballot, replica.durablePromised) > 0)
    replica.durablePromised = ballot;
  if (kind !== 'promise') replica.durableLog.set(slot, { ballot, label });
}

/** The spec's Reprepare. */
function prepareAgain(state: SpecState, replica: ReplicaState, commitPoint: number, number: number): void {
  const ballot = replica.promised;
  const again: SpecMessage = { type: 'Prepare', ballot, commitPoint };
  const isAsking = (message: SpecMessage): boolean =>
    message.type === 'Prepare' && sameBallot(message.ballot, ballot);
  const wasAsked = [...state.sent.values()].some(({ message }) => isAsking(message));
  replica.buffer = replica.buffer.map((item) =>
    item.replies.some(isAsking) ? { ...item, replies: [...item.replies, again] } : item,
  );
  if (wasAsked) sendMessages(state, [again], number);
}
