/**
 * All that one replica's core knows.
 *
 * Responsible for: the shape of the state, copying it and looking at it from outside. Does not make it (restart.ts) and, but for
 * the election timer, does not change it: the actions do. What is durable and what a crash takes is told apart: `durablePromised`, and for a slot
 * `seq` against `durableSeq`.
 */
import type { Roster } from './roster.ts';
import type { CoreConfig } from './types/effects.ts';
import type { Entry, Vote } from './types/entries.ts';
import type { Configuration, Member } from './types/members.ts';
import type { Message } from './types/messages.ts';
import type { Ballot, EntryLabel, ReplicaId, Role, Slot, StepDownReason } from './types/names.ts';
import type { LogRecord } from './types/records.ts';
import type { CoreSnapshot, TraceLevel } from './types/trace.ts';

/** A slot of the log that is held in memory. Replaced as a whole when a higher ballot writes it. */
export interface LogSlot {
  readonly slot: Slot;
  readonly entry: Entry;
  readonly label: EntryLabel;
  readonly bytes: number;
  /** Of this replica's vote; null if the entry was learnt as chosen. */
  readonly ballot: Ballot | null;
  /** The `persist` that carries it; 0 if it was recovered. */
  readonly seq: number;
  /** Leader: who has voted for it in the leader's ballot, as far as is known. A bit per member. */
  votes: number;
  /** Leader: when its Accept last went out. */
  sentAtMs: number;
}

/** What may be told once a `persist` is durable. */
export type HeldBack =
  | { readonly kind: 'send'; readonly to: ReplicaId; readonly message: Message }
  | { readonly kind: 'ownPromise'; readonly ballot: Ballot }
  | { readonly kind: 'ownVotes'; readonly ballot: Ballot; readonly firstSlot: Slot; readonly lastSlot: Slot };

export interface PendingPersist {
  readonly seq: number;
  readonly records: readonly LogRecord[];
  /** The promise that is durable once this is, and the commit point that a restart finds then. */
  readonly promised: Ballot;
  readonly commitPoint: Slot;
  readonly heldBack: HeldBack[];
}

export interface Candidacy {
  /** Whose promise has come; the own one once it is durable. */
  readonly promises: Set<ReplicaId>;
  /** To whom the Prepare has gone. */
  readonly asked: Set<ReplicaId>;
  commitPoint: Slot;
  commitPointFrom: ReplicaId;
  /** The vote of the highest ballot for each slot. */
  readonly votes: Map<Slot, Vote>;
  prepareSentAtMs: number;
}

/** What a leader knows of one peer since its leadership began. */
export interface PeerProgress {
  readonly id: ReplicaId;
  bit: number;
  /** The leader's clock when it sent the newest message that the peer has acknowledged. */
  ackedSentAtMs: number;
  commitPoint: Slot;
  durableApplicationPointer: Slot | null;
  /** The leader's clock when it sent what the pointer is an answer to: an older answer does not replace it. */
  pointerSentAtMs: number;
  retransmittedAtMs: number;
  /** When this leadership came to know it. */
  readonly sinceMs: number;
}

/** A configuration that the leader has proposed and that is not known to be chosen yet. */
export interface PendingConfiguration {
  readonly slot: Slot;
  readonly version: number;
  readonly members: readonly Member[];
}

export interface Leadership {
  readonly ballot: Ballot;
  /** All members but itself, of the known and of the pending configuration. */
  peers: readonly PeerProgress[];
  /** Those of them that vote in the known one. */
  voters: readonly PeerProgress[];
  /** What it found in phase 1, and its `leaderStart`, as far as a configuration among them holds them up (barrier.ts). */
  readonly backlog: Entry[];
  /** A change that waits until all that is proposed is chosen. */
  wanted: readonly Member[] | null;
  pending: PendingConfiguration | null;
  /** Where the commit point was at regular times, the oldest first: what a learner must have reached to be promoted. */
  readonly marks: { readonly atMs: number; readonly commitPoint: Slot }[];
  /** The slot of the leader's own `leaderStart`. */
  readonly startSlot: Slot;
  /** Where the next proposal goes. */
  nextSlot: Slot;
  serving: boolean;
  /** The lease holds while the clock is below. */
  leaseUntilMs: number;
  readonly beganAtMs: number;
  heartbeatAtMs: number;
  /** When a renewal of the lease was told last. */
  renewalToldAtMs: number;
  /** The commit point that the last Accept or Heartbeat carried. */
  announcedCommitPoint: Slot;
  /** When the commit point was last written and told by itself. */
  commitPointToldAtMs: number;
  /** When the commit point last moved or the leadership began. */
  progressAtMs: number;
  /** Labels of what is proposed and not yet chosen. */
  readonly proposals: Set<EntryLabel>;
  /** Members that have said what they cannot know. */
  readonly disbelieved: Set<ReplicaId>;
}

export interface State {
  readonly config: CoreConfig;
  /** The newest configuration that is known to be chosen, and what it comes to. */
  configuration: Configuration;
  roster: Roster;
  /** Versions that the log, the trace and the shell have been told. */
  recordedConfiguration: number;
  tracedConfiguration: number;
  trace: TraceLevel;
  toldConfiguration: { readonly version: number; readonly pending: readonly Member[] | null };

  nowMs: number;
  readonly startedAtMs: number;
  /** The last draw that a Tick brought. */
  random: number;

  // Acceptor
  promised: Ballot;
  durablePromised: Ballot;
  /** Slots above what was dropped; holes are possible above the commit point. */
  readonly log: Map<Slot, LogSlot>;
  lastSlot: Slot;
  tailBytes: number;
  /** The election it has asked about, and who would grant it. */
  preVote: { readonly ballot: Ballot; readonly grants: Set<ReplicaId> } | null;
  highestRound: number;
  /** Until when no promise is given, except to `leaseGrantedTo`. */
  leaseGrantedUntilMs: number;
  leaseGrantedTo: ReplicaId | null;

  // Durability
  nextSeq: number;
  durableSeq: number;
  readonly pending: PendingPersist[];
  recordedCommitPoint: Slot;
  /** What a restart would find as the commit point, at least. */
  durableCommitPoint: Slot;

  // Learner
  commitPoint: Slot;
  /** Slots at or below have been given out by `chosen`, or were below the commit point at the start. */
  reported: Slot;
  applied: Slot;
  durableApplied: Slot;
  /** Slots at or below are no longer in memory. */
  droppedTo: Slot;
  chosenBytes: number;
  /** The commit point that the leader of `promised` has announced. */
  leaderCommitPoint: Slot;
  /** The highest commit point heard of from anyone, and from whom. */
  knownCommitPoint: Slot;
  knownCommitPointFrom: ReplicaId | null;
  catchUpAtMs: number;
  catchUpAttempts: number;
  purgedTo: Slot;
  /** The database is given up; a copy is to take its place. */
  awaitsCopy: boolean;

  // Leadership
  role: Role;
  leader: ReplicaId | null;
  electionDeadlineMs: number;
  /** While the clock is below, its leader's process is taken for gone (haste.ts). */
  goneUntilMs: number;
  /** Does not campaign before. */
  quarantineUntilMs: number;
  candidacy: Candidacy | null;
  leadership: Leadership | null;
  lastReason: StepDownReason | null;
  /** What the last `leadership` effect told. */
  told: {
    readonly role: Role;
    readonly ballot: Ballot;
    readonly leader: ReplicaId | null;
    readonly serving: boolean;
  };
  restartTraced: boolean;
}

/** Waits anew, a random time between the two bounds, before it thinks of an election. */
export function restartElectionTimer(state: State): void {
  const { electionTimeoutMinMs, electionTimeoutMaxMs } = state.config;
  const timeoutMs = electionTimeoutMinMs + state.random * (electionTimeoutMaxMs - electionTimeoutMinMs);
  state.electionDeadlineMs = state.nowMs + timeoutMs;
}

export function isServing(state: State): boolean {
  return state.leadership !== null && state.leadership.serving;
}

/** `ballot` is what the replica takes part in: the one that it has promised last. */
export function snapshot(state: State): CoreSnapshot {
  return {
    role: state.role,
    ballot: state.promised,
    promised: state.promised,
    durablePromised: state.durablePromised,
    commitPoint: state.commitPoint,
    lastSlot: state.lastSlot,
    serving: isServing(state),
    configuration: state.configuration.version,
  };
}

/** The entry held in memory for a slot; undefined if it was dropped (then the log store has it) or never came. */
export function entryAt(state: State, slot: Slot): Entry | undefined {
  return state.log.get(slot)?.entry;
}

/** A copy that shares nothing mutable with the original: for the simulator and for going back in time. */
export function cloneState(state: State): State {
  const { candidacy, leadership, preVote } = state;
  return {
    ...state,
    log: new Map([...state.log].map(([slot, held]) => [slot, { ...held }])),
    pending: state.pending.map((item) => ({ ...item, heldBack: [...item.heldBack] })),
    preVote: preVote === null ? null : { ...preVote, grants: new Set(preVote.grants) },
    candidacy:
      candidacy === null
        ? null
        : {
            ...candidacy,
            promises: new Set(candidacy.promises),
            asked: new Set(candidacy.asked),
            votes: new Map(candidacy.votes),
          },
    leadership: leadership === null ? null : cloneLeadership(leadership),
  };
}

function cloneLeadership(leadership: Leadership): Leadership {
  const peers = leadership.peers.map((peer) => ({ ...peer }));
  const voters = peers.filter(({ id }) => leadership.voters.some((voter) => voter.id === id));
  const { backlog, marks, proposals, disbelieved } = leadership;
  return {
    ...leadership,
    peers,
    voters,
    backlog: [...backlog],
    marks: [...marks],
    proposals: new Set(proposals),
    disbelieved: new Set(disbelieved),
  };
}
