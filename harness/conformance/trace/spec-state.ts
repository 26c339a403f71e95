/**
 * The variables of specs/MultiPaxos.tla, carried along a recorded trace, so that each segment of it can start where the one before ended.
 *
 * Responsible for: the effect of each action on them. Judges nothing: TLC does, and it also checks that the state handed from segment
 * to segment is the one that its own actions lead to. So a mistake here can reject a good trace, but not accept a bad one.
 */
import { compareBallots, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { ActionName, Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types.ts';
import {
  noBallot,
  ballotName,
  messageName,
  type Held,
  type HeldVote,
  type SpecConfiguration,
  type SpecMessage,
} from './spec-message.ts';

export interface SpecRecord {
  /** `base`: everything up to its slot is chosen, and what the log lacks is in the database. */
  readonly kind: 'promise' | 'vote' | 'chosen' | 'base';
  readonly slot: number;
  readonly ballot: Ballot | null;
  readonly label: EntryLabel;
}

export interface BufferItem {
  readonly record: SpecRecord;
  readonly replies: readonly SpecMessage[];
}

export interface ReplicaState {
  role: 'follower' | 'candidate' | 'leader' | 'down';
  /** It has had a log before, in the trace or when that began. */
  hasLog: boolean;
  promised: Ballot;
  /** The newest that it knows to be chosen. */
  config: SpecConfiguration;
  commitPoint: number;
  log: Map<number, Held>;
  lastHeld: number;
  /** What `log` held before the last call of `watchChanges`, where it has changed since. */
  logBefore: Map<number, Held | undefined>;
  durableBefore: Map<number, Held | undefined>;
  /** Slots at or below were settled before the trace began: what they hold is not known. */
  base: number;
  durablePromised: Ballot;
  durableLog: Map<number, Held>;
  buffer: BufferItem[];
  promises: Extract<SpecMessage, { type: 'Promise' }>[];
  acks: Map<number, Set<ReplicaId>>;
  startSlot: number;
  /** What a leader found and may not propose yet. */
  backlog: (readonly [slot: number, label: EntryLabel])[];
  serving: boolean;
}

/** One action of the spec with its parameters. */
export interface Step {
  readonly action: ActionName | 'Retell';
  readonly replica: ReplicaId;
  readonly ballot?: Ballot;
  readonly from?: ReplicaId;
  readonly commitPoint?: number;
  readonly firstSlot?: number;
  readonly lastSlot?: number;
  readonly labels?: readonly EntryLabel[];
  readonly promise?: Extract<SpecMessage, { type: 'Promise' }>;
  readonly records?: number;
  readonly promised?: Ballot;
  /** What is learnt; of a Crash: what the disk keeps. */
  readonly configuration?: SpecConfiguration;
}

/** What the names of configurations stand for. */
export interface Configurations {
  /** Known to be chosen, by version. */
  readonly chosen: ReadonlyMap<number, SpecConfiguration>;
  /** Of each proposed one, by the label of its entry. */
  readonly voters: ReadonlyMap<EntryLabel, readonly ReplicaId[]>;
}

export interface SpecState {
  readonly replicas: ReadonlyMap<ReplicaId, ReplicaState>;
  readonly configurations: Configurations;
  /** What each slot that anyone knew as chosen holds. */
  readonly chosen: Map<number, EntryLabel>;
  /** Every message sent, by its name, with the number of the step that sent it; -1: before the trace began. */
  readonly sent: Map<string, { readonly message: SpecMessage; readonly step: number }>;
  /** The commit points that the leader of a ballot has told. */
  readonly told: Map<string, Set<number>>;
  /** A Heartbeat that told a configuration of this version. */
  readonly tellers: Map<number, SpecMessage>;
}

export function newReplica(config: SpecConfiguration): ReplicaState {
  return {
    role: 'down',
    hasLog: false,
    promised: noBallot,
    config,
    commitPoint: 0,
    log: new Map(),
    lastHeld: 0,
    logBefore: new Map(),
    durableBefore: new Map(),
    base: 0,
    durablePromised: noBallot,
    durableLog: new Map(),
    buffer: [],
    promises: [],
    acks: new Map(),
    startSlot: 0,
    backlog: [],
    serving: false,
  };
}

/** `founding`: the configuration in which the trace begins. */
export function newSpecState(
  members: readonly ReplicaId[],
  founding: SpecConfiguration,
  configurations: Configurations,
): SpecState {
  return {
    replicas: new Map(members.map((id) => [id, newReplica(founding)])),
    configurations,
    chosen: new Map(),
    sent: new Map(),
    told: new Map(),
    tellers: new Map(),
  };
}

/** The configuration of a version that a message or an event names. */
export function configurationOf(state: SpecState, version: number): SpecConfiguration {
  const known = state.configurations.chosen.get(version);
  if (known === undefined) throw new Error(`no event of the trace says what configuration ${version} is`);
  return known;
}

const configurationLabel = /^members:(\d+):/;

/** The voters of a configuration's entry; null: the label is of another entry. */
export function votersOfLabel(state: SpecState, label: EntryLabel): readonly ReplicaId[] | null {
  if (!configurationLabel.test(label)) return null;
  const voters = state.configurations.voters.get(label);
  if (voters === undefined) throw new Error(`no event of the trace says who votes in ${label}`);
  return voters;
}

/** The spec's KnownAt: `known`, or a configuration that the commit point has passed behind `from`. */
export function knownAt(state: SpecState, replica: ReplicaState, from: number): SpecConfiguration {
  let newest = replica.config;
  for (let slot = Math.max(from, newest.slot) + 1; slot <= replica.commitPoint; slot++) {
    const label = replica.log.get(slot)?.label ?? '';
    const version = Number(configurationLabel.exec(label)?.[1] ?? 0);
    if (version > newest.version) newest = { version, slot, voters: votersOfLabel(state, label) ?? [] };
  }
  return newest;
}

/** The spec's DecidedBy: the voters of the configuration next below the slot, among the leader's own proposals or those known. */
export function decidedBy(state: SpecState, replica: ReplicaState, slot: number): readonly ReplicaId[] {
  for (let at = slot - 1; at > replica.config.slot && at > replica.commitPoint; at--) {
    const held = replica.log.get(at);
    if (held?.ballot == null || !sameBallot(held.ballot, replica.promised)) continue;
    const voters = votersOfLabel(state, held.label);
    if (voters !== null) return voters;
  }
  return replica.config.voters;
}

export function replicaOf(state: SpecState, id: ReplicaId): ReplicaState {
  const replica = state.replicas.get(id);
  if (replica === undefined) throw new Error(`the trace names ${id}, which has no events of its own`);
  return replica;
}

export function wasSent(state: SpecState, message: SpecMessage): boolean {
  return state.sent.has(messageName(message));
}

export function sendMessages(state: SpecState, messages: readonly SpecMessage[], step: number): void {
  for (const message of messages) {
    const name = messageName(message);
    if (!state.sent.has(name)) state.sent.set(name, { message, step });
    if (message.type === 'CatchUpReply') state.chosen.set(message.slot, message.label);
    if (message.type !== 'Heartbeat') continue;
    const { configuration } = message;
    if (configuration !== null && !state.tellers.has(configuration.version))
      state.tellers.set(configuration.version, message);
    const key = ballotName(message.ballot);
    const told = state.told.get(key) ?? new Set();
    state.told.set(key, told.add(message.commitPoint));
  }
}

export function lastSlotOf(replica: ReplicaState): number {
  return Math.max(replica.commitPoint, replica.lastHeld);
}

/** The spec's VotesAbove. */
export function votesAbove(replica: ReplicaState, slot: number): HeldVote[] {
  const votes: HeldVote[] = [];
  for (let at = slot + 1; at <= replica.lastHeld; at++) {
    const held = replica.log.get(at);
    if (held !== undefined) votes.push({ slot: at, ...held });
  }
  return votes;
}

export function promiseOf(
  id: ReplicaId,
  replica: ReplicaState,
  ballot: Ballot,
  heard: number,
): Extract<SpecMessage, { type: 'Promise' }> {
  const votes = votesAbove(replica, Math.max(replica.commitPoint, heard));
  const { commitPoint, config } = replica;
  return { type: 'Promise', from: id, ballot, commitPoint, configuration: config.version, votes };
}

/** The spec's FirstProposals: what a candidate with these promises proposes when it leads. */
export function firstProposals(
  state: SpecState,
  id: ReplicaId,
  replica: ReplicaState,
): (readonly [slot: number, label: EntryLabel])[] {
  const own = [...state.sent.values()].flatMap(({ message }) =>
    message.type === 'Promise' && message.from === id && sameBallot(message.ballot, replica.promised)
      ? [message]
      : [],
  );
  const counted = [...replica.promises, ...own];
  const heard = Math.max(replica.commitPoint, ...counted.map(({ commitPoint }) => commitPoint));
  const votes = counted.flatMap((promise) => promise.votes);
  const last = Math.max(heard, ...votes.map(({ slot }) => slot));
  const proposals: (readonly [number, EntryLabel])[] = [];
  for (let slot = heard + 1; slot <= last; slot++) proposals.push([slot, highestVote(votes, slot)]);
  proposals.push([last + 1, `start:${ballotName(replica.promised)}`]);
  return proposals;
}

function highestVote(votes: readonly HeldVote[], slot: number): EntryLabel {
  let best: HeldVote | null = null;
  for (const vote of votes) {
    if (vote.slot !== slot) continue;
    if (best === null || compareBallots(vote.ballot ?? noBallot, best.ballot ?? noBallot) > 0) best = vote;
  }
  return best?.label ?? 'noop';
}

/** The spec's AnswersAgain, but for the promise itself. */
export function isAnswered(state: SpecState, replica: ReplicaState, reply: SpecMessage): boolean {
  const name = messageName(reply);
  return (
    state.sent.has(name) ||
    replica.buffer.some((item) => item.replies.some((one) => messageName(one) === name))
  );
}

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
      for (const [slot, label] of state.chosen)
        if (slot <= commitPoint) hold(replica, slot, { ballot: null, label });
      write([{ kind: 'base', slot: commitPoint, ballot: null, label: '' }], []);
      replica.commitPoint = commitPoint;
      replica.config = knownAt(state, replica, 0);
      becomeFollower(replica);
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

/** A view of the logs as they are now, readable until the next call. */
export function watchChanges(replica: ReplicaState): {
  readonly log: (slot: number) => Held | undefined;
  readonly durable: (slot: number) => Held | undefined;
} {
  const { log, durableLog } = replica;
  const logBefore = new Map<number, Held | undefined>();
  const durableBefore = new Map<number, Held | undefined>();
  Object.assign(replica, { logBefore, durableBefore });
  return {
    log: (slot) => (logBefore.has(slot) ? logBefore.get(slot) : log.get(slot)),
    durable: (slot) => (durableBefore.has(slot) ? durableBefore.get(slot) : durableLog.get(slot)),
  };
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
