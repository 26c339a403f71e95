/**
 * All that one replica knows: its shape, where it is looked at from outside, and the quorums that follow from the number of replicas.
 *
 * Responsible for: the shape of the state, and what is derived from it. Does not make it (restart.ts) and does not change it.
 */
import { ballotNone } from '../multipaxos/ballot.ts';
import type { Vote } from '../multipaxos/types/entries.ts';
import type { Ballot, EntryLabel, ProposalId, ReplicaId, Slot } from '../multipaxos/types/names.ts';
import type { Level, PrimaryConfig, PrimaryRole, Proposal } from './types/effects.ts';
import type { PrimarySnapshot } from './types/trace.ts';

export interface LogSlot extends Vote {
  readonly label: EntryLabel;
  readonly bytes: number;
  /** The `persist` that carries it; 0 if it was recovered. */
  readonly seq: number;
}

/** What may be told once a `persist` is durable. */
export type HeldBack =
  | { readonly kind: 'candidacy'; readonly epoch: Ballot }
  | { readonly kind: 'word'; readonly to: ReplicaId; readonly epoch: Ballot }
  | { readonly kind: 'copied'; readonly epoch: Ballot; readonly entries: readonly Vote[] };

export interface PendingPersist {
  readonly seq: number;
  /** It is a group of the specification: entries, or an epoch that is followed from now on. */
  readonly isGroup: boolean;
  readonly epoch: Ballot;
  readonly heldBack: readonly HeldBack[];
}

export interface Candidacy {
  readonly epoch: Ballot;
  isDurable: boolean;
  readonly words: Set<ReplicaId>;
  askedAtMs: number;
}

/** What a primary knows of one copy. */
export interface CopyProgress {
  readonly id: ReplicaId;
  received: Slot;
  executed: Slot;
  /** The next to send. */
  nextSlot: Slot;
  /** What is on its way begins behind this slot. */
  behind: Slot;
  /** When something was last sent, when operations were sent from the beginning again, when it was heard, and when it last gained. */
  sentAtMs: number;
  resentAtMs: number;
  heardAtMs: number;
  gainedAtMs: number;
  isWaitedFor: boolean;
  needsCopy: boolean;
  transferToldAtMs: number;
}

export interface WaitingProposal {
  readonly proposal: ProposalId;
  readonly slot: Slot;
  readonly level: Level;
  readonly sinceMs: number;
}

export interface Leadership {
  readonly epoch: Ballot;
  readonly beginsAt: Slot;
  readonly copies: readonly CopyProgress[];
  /** By their slots, in order. */
  readonly waiting: Map<Slot, WaitingProposal>;
  readonly labels: Set<EntryLabel>;
  acknowledgedTo: Slot;
  /** Requests that wait while the primary pauses. */
  queue: Proposal[];
  queueBytes: number;
  pausedUntilMs: number | null;
  pauseTold: boolean;
}

export interface State {
  readonly config: PrimaryConfig;
  nowMs: number;
  random: number;
  isTold: boolean;
  restartTraced: boolean;

  promised: Ballot;
  durablePromised: Ballot;
  readonly log: Map<Slot, LogSlot>;
  /** Entries at or below are settled; those below are not in memory. */
  base: Slot;
  lastSlot: Slot;
  logBytes: number;
  nextSeq: number;
  pending: PendingPersist[];
  /** Up to here the log on disk is the log. */
  durableTo: Slot;

  role: PrimaryRole;
  highestRound: number;
  /** Whom it follows in the epoch that it has promised. */
  primary: ReplicaId | null;
  heardAtMs: number;
  /** Its clock when it sent what was heard last. */
  heardSentAtMs: number;
  suspectAtMs: number;
  candidacy: Candidacy | null;
  leadership: Leadership | null;
  /** Up to here the log is known to be that of the primary that it follows. */
  matched: Slot;
  beginsAt: Slot;
  settled: Slot;
  /** To whom it gave its word last, durably: told once. */
  wordGiven: Ballot | null;

  databaseUp: boolean;
  /** A copy of a database has come, and the log that goes with it is being written: nothing is heard meanwhile. */
  isTakingCopy: boolean;
  needsCopy: boolean;
  /** Given to the database, executed, and durably so. */
  pushedTo: Slot;
  executed: Slot;
  durableExecuted: Slot;

  told: { role: PrimaryRole; ballot: Ballot; leader: ReplicaId | null; serving: boolean };
  toldReceived: { epoch: Ballot; received: Slot; executed: Slot };
}

export function majority(config: PrimaryConfig): number {
  return Math.floor(config.replicas.length / 2) + 1;
}

/** In so many logs an operation meets every majority. */
export function floor(config: PrimaryConfig): number {
  return config.replicas.length + 1 - majority(config);
}

export function replicates(config: PrimaryConfig): boolean {
  return config.replication !== 'none';
}

export function recentlyHeard(state: State, copy: CopyProgress): boolean {
  return state.nowMs - copy.heardAtMs < state.config.failureTimeoutMs;
}

/** It hears so many others that no other primary can be behind them all. */
export function isInTouch(state: State): boolean {
  const { leadership, config } = state;
  if (leadership === null) return false;
  if (!replicates(config)) return true;
  const heard = leadership.copies.filter((copy) => recentlyHeard(state, copy)).length + 1;
  return heard >= (config.dropSilentCopies ? floor(config) : majority(config));
}

/** Clients are answered here. */
export function isServing(state: State): boolean {
  const { leadership } = state;
  return leadership !== null && state.settled >= leadership.beginsAt && isInTouch(state);
}

export function snapshot(state: State): PrimarySnapshot {
  const { role, promised, lastSlot, matched, needsCopy, pushedTo } = state;
  const lastEpoch = state.log.get(lastSlot)?.ballot ?? ballotNone;
  return { role, promised, lastSlot, lastEpoch, matched, needsCopy, pushedTo };
}
