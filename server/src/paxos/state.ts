/**
 * All that one replica's core of single-decree Paxos knows.
 *
 * Responsible for: the shape of the state, and small looks at it. Changes little itself, such as when what is to be tried again: the actions do.
 */
import { ballotNone } from '../multipaxos/ballot.ts';
import { majority } from '../multipaxos/quorum.ts';
import type { Entry } from '../multipaxos/types/entries.ts';
import type { Ballot, ProposalId, ReplicaId, Slot } from '../multipaxos/types/names.ts';
import type { Configuration } from '../multipaxos/types/members.ts';
import type { PaxosConfig } from './types/effects.ts';
import type { LastVote, PaxosMessage } from './types/messages.ts';

/** A client's proposal on its way. It stands in one slot at a time, or waits for one. */
export interface OwnProposal {
  readonly proposal: ProposalId;
  readonly label: string;
  readonly entry: Entry;
  readonly bytes: number;
  /** How many slots it has lost, and how often it was rejected. */
  losses: number;
  rejections: number;
  /** It begins no ballot before. */
  notBeforeMs: number;
}

/** A ballot that this replica runs in a slot. */
export interface OpenBallot {
  readonly ballot: Ballot;
  phase: 'prepare' | 'accept';
  /** Who has promised, and what each had voted for. The own promise counts once it is durable. */
  readonly promises: Map<ReplicaId, LastVote | null>;
  readonly votes: Set<ReplicaId>;
  sentAtMs: number;
}

/** A slot of the log that is held in memory: the paper's N_P, N_A, V_A and Decided, and what this replica is doing there. */
export interface SlotState {
  readonly slot: Slot;
  promised: Ballot;
  entry: Entry | null;
  label: string | null;
  /** Of this replica's vote; null if it has none or learnt the entry as decided. */
  ballot: Ballot | null;
  /** The `persist` that carries the entry; 0 if it was recovered. */
  seq: number;
  decided: boolean;
  own: OwnProposal | null;
  open: OpenBallot | null;
  /** The highest round heard of here. */
  highestRound: number;
  /** When anything was last heard of the slot; and when it may be finished by this replica if nothing more is. */
  fillAtMs: number;
  fills: number;
}

/** What may be told once a `persist` is durable. */
export type HeldBack =
  | { readonly kind: 'send'; readonly to: ReplicaId; readonly message: PaxosMessage }
  | {
      readonly kind: 'ownPromise';
      readonly slot: Slot;
      readonly ballot: Ballot;
      readonly vote: LastVote | null;
    }
  | { readonly kind: 'ownVote'; readonly slot: Slot; readonly ballot: Ballot };

export interface PendingPersist {
  readonly seq: number;
  /** Without commit points. */
  readonly records: number;
  /** As the log has it then. */
  readonly commitPoint: Slot;
  readonly heldBack: HeldBack[];
}

export interface PaxosState {
  readonly config: PaxosConfig;
  readonly peers: readonly ReplicaId[];
  readonly configuration: Configuration;
  nowMs: number;
  /** What draws come from. */
  seed: number;

  /** Above `droppedTo`. */
  readonly slots: Map<Slot, SlotState>;
  lastSlot: Slot;
  commitPoint: Slot;
  /** Slots at or below have been given out by `chosen`, or were below the commit point at the start. */
  reported: Slot;
  /** Everything at or below is decided, and a restart would find it in the log. */
  durableTo: Slot;
  /** Slots at or below are no longer in memory. */
  droppedTo: Slot;
  purgedTo: Slot;

  nextSeq: number;
  durableSeq: number;
  readonly pending: PendingPersist[];
  recordedCommitPoint: Slot;
  /** A restart would find it in the log. */
  durableCommitPoint: Slot;

  /** In this replica's database, durably. */
  done: Slot;
  /** What the database came up with, and the log does not know to be decided yet; 0: nothing. */
  databaseAt: Slot;
  /** What the others are known to have done. */
  readonly known: Map<ReplicaId, Slot>;

  /** Waiting for a slot, the oldest first. */
  readonly waiting: OwnProposal[];
  /** Labels of all that is placed or waits, and their bytes. */
  readonly under: Map<string, OwnProposal>;
  underBytes: number;

  statusAtMs: number;
  /** The highest commit point heard of, from whom, and when it was last asked for. */
  heardCommitPoint: Slot;
  heardFrom: ReplicaId | null;
  askedAtMs: number;
  askedTimes: number;
  restartTraced: boolean;
}

/** No slot further above the commit point is proposed by this replica. Others may be ahead of it by as much again, and more it does not hold. */
export function reachOf({ config }: PaxosState): number {
  return 4 * config.windowSlotsMax;
}

export function isQuorum({ config }: PaxosState, count: number): boolean {
  return count >= majority(config.members.length);
}

/** The slot's place, made if it is not there. The caller has made sure that the slot is not dropped. */
export function slotState(state: PaxosState, slot: Slot): SlotState {
  const found = state.slots.get(slot);
  if (found !== undefined) return found;
  const made: SlotState = {
    slot,
    promised: ballotNone,
    entry: null,
    label: null,
    ballot: null,
    seq: 0,
    decided: false,
    own: null,
    open: null,
    highestRound: 0,
    fillAtMs: Number.POSITIVE_INFINITY,
    fills: 0,
  };
  state.slots.set(slot, made);
  if (slot > state.lastSlot) state.lastSlot = slot;
  return made;
}

export function isDecided(state: PaxosState, slot: Slot): boolean {
  return slot <= state.commitPoint || state.slots.get(slot)?.decided === true;
}

/** The decided entry, if it is in memory. */
export function decidedEntry(state: PaxosState, slot: Slot): Entry | null {
  const held = state.slots.get(slot);
  return held?.decided === true ? held.entry : null;
}

/** From 0 up to 1. */
export function draw(state: PaxosState): number {
  state.seed = (Math.imul(state.seed, 1_664_525) + 1_013_904_223) >>> 0;
  return state.seed / 2 ** 32;
}

/** A random part of a time that doubles with each time before, up to a bound. */
export function backoffMs(state: PaxosState, times: number): number {
  const { backoffMs: first, backoffMaxMs } = state.config;
  return draw(state) * Math.min(backoffMaxMs, first * 2 ** Math.min(times, 20));
}

/** Something was heard of a slot that is not decided: nobody need finish it for some time. */
export function noteInUse(state: PaxosState, held: SlotState): void {
  held.fillAtMs = state.nowMs + state.config.holeMs + backoffMs(state, held.fills);
}

/** The ballot that this replica runs in a slot is over, for a higher one: the next waits a random, growing time. */
export function backOff(state: PaxosState, held: SlotState): void {
  held.open = null;
  held.fills += 1;
  noteInUse(state, held);
  if (held.own === null) return;
  held.own.rejections += 1;
  held.own.notBeforeMs = state.nowMs + backoffMs(state, held.own.rejections);
}
