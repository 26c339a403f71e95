/**
 * What one recorded event means in the spec: its steps, and the messages that must have been sent before.
 *
 * Responsible for: the parameters of the actions. Where the event does not say them, they follow from the state so far; TLC decides
 * whether they are right.
 */
import { compareBallots, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, EntryLabel } from '../../../server/src/multipaxos/types/names.ts';
import type { TraceMessage } from '../../../server/src/multipaxos/types/trace.ts';
import type { ConsensusEvent } from './read-trace.ts';
import {
  ballotName,
  noBallot,
  specMessages,
  type SpecConfiguration,
  type SpecMessage,
} from './spec-message.ts';
import { writeDurably } from './apply-step.ts';
import { configurationOf, readConfigurationLabel, votersOfLabel } from './spec-configuration.ts';
import { replicaOf, wasSent, type ReplicaState, type SpecState, type Step } from './spec-state.ts';

/** What is recorded is asserted of `own`. */
export interface Meaning {
  readonly before: readonly Step[];
  readonly own: Step;
}

/** Messages that the event's action takes and that nobody has sent so far. */
export function missingMessages(state: SpecState, event: ConsensusEvent): SpecMessage[] {
  if (isUntold(state, event)) return untold(state, event);
  const { message, from } = event;
  if (message === undefined || from === undefined) return untoldCommitPoint(state, event);
  const replica = replicaOf(state, event.replica);
  const isSettled = (slot: number): boolean => event.name !== 'HandleAccepted' && slot <= replica.commitPoint;
  const needed = specMessages(from, message).filter((one) => !('slot' in one) || !isSettled(one.slot));
  return [...needed.filter((one) => !wasSent(state, one)), ...untoldCommitPoint(state, event)];
}

/** A follower may reach a commit point that it remembers from before: what it must have been told at least. */
function untoldCommitPoint(state: SpecState, event: ConsensusEvent): SpecMessage[] {
  if (event.name !== 'HandleAccept' && event.name !== 'HandleHeartbeat') return [];
  const replica = replicaOf(state, event.replica);
  const ballot = event.message?.ballot ?? replica.promised;
  const { commitPoint } = event.state;
  if (commitPoint <= replica.commitPoint || smallestTold(state, ballot, commitPoint) !== null) return [];
  return [{ type: 'Heartbeat', ballot, commitPoint, configuration: null }];
}

/** Version of the newest configuration that the replica knows to be chosen after the event. Old traces have one only. */
export function knownVersion(event: ConsensusEvent): number {
  return event.state.configuration ?? 1;
}

/** A configuration is learnt, also by the first start of a log, from whoever came to know that its entry is chosen: true if nobody has told of it. */
export function isUntold(state: SpecState, event: ConsensusEvent): boolean {
  const { hasLog, config } = replicaOf(state, event.replica);
  const version = knownVersion(event);
  const isLearnt =
    event.name === 'LearnConfiguration' || (event.name === 'Restart' && !hasLog && version > config.version);
  return isLearnt && !state.tellers.has(version);
}

/** True if it lets somebody vote of whom nothing has been heard so far. */
export function namesUnknown(state: SpecState, event: ConsensusEvent): boolean {
  if (event.name !== 'Reconfigure') return false;
  const voters = (event.votes ?? []).flatMap(([, , label]) => votersOfLabel(state, label) ?? []);
  return voters.some((id) => !state.replicas.has(id));
}

/** What shows that the configuration's entry is chosen. */
function untold(state: SpecState, event: ConsensusEvent): SpecMessage[] {
  const version = knownVersion(event);
  const { slot } = configurationOf(state, version);
  for (const label of state.configurations.voters.keys()) {
    if (readConfigurationLabel(label)?.version === version) return [{ type: 'CatchUpReply', slot, label }];
  }
  return [];
}

/** True if a Reject tells of a promise that its sender has not made durable yet. */
export function rejectIsEarly(state: SpecState, event: ConsensusEvent): boolean {
  if (event.name !== 'HandleReject' || event.from === undefined) return false;
  const promised = event.message?.promised ?? noBallot;
  return compareBallots(replicaOf(state, event.from).durablePromised, promised) < 0;
}

/** The first slot of a CatchUpReply that its sender has not on its disk yet, with what it holds; only what is durable is handed out. */
export function handedOutEarly(
  state: SpecState,
  event: ConsensusEvent,
): { readonly slot: number; readonly label: EntryLabel } | null {
  const { name, from, message } = event;
  if (name !== 'HandleCatchUpReply' || from === undefined) return null;
  const { durableLog } = replicaOf(state, from);
  const { commitPoint } = replicaOf(state, event.replica);
  for (const [i, label] of (message?.labels ?? []).entries()) {
    const slot = (message?.firstSlot ?? 0) + i;
    if (slot > commitPoint && durableLog.get(slot)?.label !== label) return { slot, label };
  }
  return null;
}

export function meaningOf(state: SpecState, event: ConsensusEvent): Meaning {
  const replica = replicaOf(state, event.replica);
  const message: TraceMessage = event.message ?? { kind: 'Heartbeat', ballot: noBallot };
  const { ballot } = message;
  const common = {
    action: event.name,
    replica: event.replica,
    ...(event.from !== undefined && { from: event.from }),
  };
  const alone = (step: Partial<Step>): Meaning => ({ before: [], own: { ...common, ...step } });
  switch (event.name) {
    case 'StartElection':
      return alone({ ballot: event.state.promised });
    case 'HandlePrepare':
      return alone({ ballot, commitPoint: message.commitPoint ?? 0 });
    case 'HandlePromise': {
      const [promise] = event.from === undefined ? [] : specMessages(event.from, message);
      return alone(promise?.type === 'Promise' ? { promise } : {});
    }
    case 'LearnConfiguration':
      return alone({ configuration: configurationOf(state, knownVersion(event)) });
    case 'Restored':
      return alone({ commitPoint: event.state.commitPoint });
    case 'BecomeLeader':
    case 'Reconfigure':
    case 'Propose': {
      const votes = event.votes ?? [];
      return alone({ firstSlot: votes[0]?.[0] ?? 0, labels: votes.map(([, , label]) => label) });
    }
    case 'HandleAccept':
      return alone(acceptRun(state, replica, event, message));
    case 'HandleHeartbeat':
      // Without a message: behind a catch-up, the replica acts on what its leader told it before.
      return alone(
        event.message === undefined
          ? rememberedCommitPoint(state, replica, event)
          : { ballot, commitPoint: toldCommitPoint(state, event, message) },
      );
    case 'HandleAccepted':
      return alone({ ballot, firstSlot: message.firstSlot ?? 0, lastSlot: message.lastSlot ?? 0 });
    case 'AdvanceCommitPoint':
    case 'Serve':
      return alone({ commitPoint: event.state.commitPoint });
    case 'HandleCatchUpReply':
      return alone(learntRun(replica, message));
    case 'HandleReject':
      return alone({ ballot, promised: message.promised ?? noBallot });
    case 'StepDown':
      return alone({});
    case 'Fsync':
      return alone({ records: flushedRecords(replica, event) });
    case 'Crash':
      return alone({
        commitPoint: event.state.commitPoint,
        configuration: keptConfiguration(state, replica, event),
      });
    case 'Restart':
      return restart(state, replica, event);
    default:
      return event.name satisfies never;
  }
}

/** The slots above the commit point that the message covers, as far as the replica had room to vote for them. */
function acceptRun(
  state: SpecState,
  replica: ReplicaState,
  event: ConsensusEvent,
  message: TraceMessage,
): Partial<Step> {
  const { ballot, firstSlot: from = 0, labels = [] } = message;
  const written = new Set((event.votes ?? []).map(([slot]) => slot as number));
  const firstSlot = Math.max(from, replica.commitPoint + 1);
  let lastSlot = firstSlot - 1;
  for (let slot = firstSlot; slot < from + labels.length; slot++) {
    const held = replica.log.get(slot);
    const isVoted = held?.ballot != null && sameBallot(held.ballot, ballot);
    if (!isVoted && !written.has(slot)) break;
    lastSlot = slot;
  }
  const own: EntryLabel[] = [];
  for (let slot = firstSlot; slot <= lastSlot; slot++) own.push(labels[slot - from] ?? '');
  return { ballot, firstSlot, lastSlot, labels: own, commitPoint: toldCommitPoint(state, event, message) };
}

/** The commit point of the message, or the one that the replica remembers from an earlier message of the same leader. */
function toldCommitPoint(state: SpecState, event: ConsensusEvent, message: TraceMessage): number {
  const inMessage = message.commitPoint ?? 0;
  const reached = event.state.commitPoint;
  if (reached <= inMessage || reached === replicaOf(state, event.replica).commitPoint) return inMessage;
  return smallestTold(state, message.ballot, reached) ?? inMessage;
}

function rememberedCommitPoint(
  state: SpecState,
  replica: ReplicaState,
  event: ConsensusEvent,
): Partial<Step> {
  const reached: number = event.state.commitPoint;
  return { ballot: replica.promised, commitPoint: smallestTold(state, replica.promised, reached) ?? reached };
}

/** Of the entries in the message, those above the commit point. */
function learntRun(replica: ReplicaState, message: TraceMessage): Partial<Step> {
  const { firstSlot: from = 0, labels = [] } = message;
  const firstSlot = replica.commitPoint + 1;
  return { firstSlot, lastSlot: from + labels.length - 1, labels: labels.slice(firstSlot - from) };
}

function smallestTold(state: SpecState, ballot: Ballot, reached: number): number | null {
  const told = [...(state.told.get(ballotName(ballot)) ?? [])].filter(
    (commitPoint) => commitPoint >= reached,
  );
  return told.length === 0 ? null : Math.min(...told);
}

/** How many records of the buffer became durable: those whose votes are named, and promises and bases as far as the durable ones go. */
function flushedRecords(replica: ReplicaState, event: ConsensusEvent): number {
  let votes = (event.votes ?? []).length;
  let count = 0;
  for (const { record } of replica.buffer) {
    if (record.kind === 'promise') {
      if (compareBallots(record.ballot ?? noBallot, event.state.durablePromised) > 0) break;
    } else if (record.kind === 'base') {
      if (record.slot > (event.base ?? 0)) break;
    } else {
      if (votes === 0) break;
      votes--;
    }
    count++;
  }
  return count;
}

/** The process died without a word: whatever of the buffer was durable by then, then the crash. */
function restart(state: SpecState, replica: ReplicaState, event: ConsensusEvent): Meaning {
  const own: Step = { action: 'Restart', replica: event.replica };
  if (!replica.hasLog) return firstStart(state, replica, event);
  if (replica.role === 'down') return { before: [], own };
  const before: Step[] = [];
  const survived = survivingRecords(state, replica, event) ?? replica.buffer.length;
  if (survived > 0) before.push({ action: 'Fsync', replica: event.replica, records: survived });
  before.push({
    action: 'Crash',
    replica: event.replica,
    commitPoint: Math.min(event.state.commitPoint, replica.commitPoint),
    configuration: keptConfiguration(state, replica, event),
  });
  return { before, own };
}

/** What a crash left of the known configuration: the restarted replica may know a newer one again, from its log. */
function keptConfiguration(
  state: SpecState,
  replica: ReplicaState,
  event: ConsensusEvent,
): SpecConfiguration {
  const version = knownVersion(event);
  return version >= replica.config.version ? replica.config : configurationOf(state, version);
}

/**
 * The first start of a log that begins in the trace. It was created for an incarnation that was admitted: it knows the configuration that admitted it and, if it had
 * a database, all that is in it is chosen; nothing else.
 */
function firstStart(state: SpecState, replica: ReplicaState, event: ConsensusEvent): Meaning {
  const common = { replica: event.replica };
  const steps: Step[] = [{ action: 'Restart', ...common }];
  const known = configurationOf(state, knownVersion(event));
  if (known.version > replica.config.version)
    steps.push({ action: 'LearnConfiguration', ...common, configuration: known });
  if (event.state.commitPoint > replica.commitPoint) {
    steps.push({ action: 'Restored', ...common, commitPoint: event.state.commitPoint });
    steps.push({ action: 'Fsync', ...common, records: 1 });
  }
  return { before: steps.slice(0, -1), own: steps.at(-1) as Step };
}

/** How many records of the buffer must have survived, at least, for the recovered state to be what it is; null: no number explains it. */
export function survivingRecords(
  state: SpecState,
  replica: ReplicaState,
  event: ConsensusEvent,
): number | null {
  const disk = { durablePromised: replica.durablePromised, durableLog: new Map(replica.durableLog) };
  if (explains(disk, replica, event)) return 0;
  for (const [i, { record }] of replica.buffer.entries()) {
    writeDurably(disk, record, state);
    if (explains(disk, replica, event)) return i + 1;
  }
  return null;
}

/** All that was recovered above the commit point is there and nothing else; at or below it is what was known to be chosen. */
function explains(
  disk: Pick<ReplicaState, 'durablePromised' | 'durableLog'>,
  replica: ReplicaState,
  event: ConsensusEvent,
): boolean {
  if (!sameBallot(disk.durablePromised, event.state.promised)) return false;
  const recovered = new Map(
    (event.votes ?? []).map(([slot, ballot, label]) => [slot as number, { ballot, label }]),
  );
  for (const [slot, { ballot, label }] of recovered) {
    const held = disk.durableLog.get(slot);
    if (held?.label !== label || !sameBallot(held.ballot ?? noBallot, ballot ?? noBallot)) return false;
  }
  const { commitPoint } = event.state;
  for (const slot of disk.durableLog.keys()) if (slot > commitPoint && !recovered.has(slot)) return false;
  for (const [slot, { label }] of replica.log) {
    const isSettled = slot <= commitPoint && slot <= replica.commitPoint;
    if (isSettled && disk.durableLog.get(slot)?.label !== label) return false;
  }
  return true;
}
