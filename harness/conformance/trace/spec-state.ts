/**
 * The variables of specs/MultiPaxos.tla, carried along a recorded trace, so that each segment of it can start where the one before ended.
 *
 * Responsible for: their shape, their beginning, and which messages have been sent. What each action does to them is in apply-step.ts.
 */
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ActionName } from '../../../server/src/multipaxos/types/trace.ts';
import type { Configurations } from './spec-configuration.ts';
import {
  noBallot,
  ballotName,
  messageName,
  type Held,
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

/** A replica of which nothing was told before; they are kept in the order of ballots. */
export function addReplica(state: SpecState, id: ReplicaId, config: SpecConfiguration): void {
  const replicas = state.replicas as Map<ReplicaId, ReplicaState>;
  const all = [...replicas, [id, newReplica(config)] as const].sort(([a], [b]) => (a < b ? -1 : 1));
  replicas.clear();
  for (const [one, replica] of all) replicas.set(one, replica);
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

/** The spec's AnswersAgain, but for the promise itself. */
export function isAnswered(state: SpecState, replica: ReplicaState, reply: SpecMessage): boolean {
  const name = messageName(reply);
  return (
    state.sent.has(name) ||
    replica.buffer.some((item) => item.replies.some((one) => messageName(one) === name))
  );
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
