/**
 * The seam between a protocol and the replica that executes statements: what a protocol's host gives it, and what it hears of the host.
 *
 * Does nothing itself. Each protocol is one implementation of `ProtocolHost`: Multi-Paxos (multi-paxos-host.ts), single-decree Paxos (paxos-host.ts), a primary and its copies (primary-host.ts). The replica knows none of them. A host makes its records durable ahead of what it says about them.
 */
import type { Logger } from 'pino';
import type { ReplicaMeasures } from '../../api/measures.ts';
import type { ProtocolStatus } from '../../api/status.ts';
import type { Entry, SlotEntry } from '../../multipaxos/types/entries.ts';
import type { Ballot, ReplicaId, Role, Slot } from '../../multipaxos/types/names.ts';
import type { TraceLevel } from '../../multipaxos/types/trace.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import type { Timers } from '../../ports/clock.ts';
import type { ControlMessage } from '../../ports/control.ts';
import type { LogStore } from '../../ports/log-store.ts';
import type { Transport } from '../../ports/transport.ts';
import type { ReplicaEvents } from '../status/events.ts';
import type { AnswerOutcome } from './awaited-answers.ts';
import type { Membership } from '../members/membership.ts';
import type { Service } from '../../ports/client-service.ts';

/** What a host is made of. */
export interface ProtocolParts {
  readonly config: ReplicaConfig;
  readonly log: LogStore;
  readonly transport: Transport;
  readonly timers: Timers;
  readonly random: () => number;
  readonly events: ReplicaEvents;
  readonly logger: Logger;
}

/** `given`: it has a slot, or will have one if nothing is lost. `full`: not now. `elsewhere`: another replica proposes, if one is known. */
export type Given =
  | { readonly code: 'given' | 'full' }
  | { readonly code: 'elsewhere'; readonly to: ReplicaId | null };

/** Where the replica stands in its protocol. Where nobody leads, each is a follower of nobody. */
export interface Standing {
  readonly role: Role;
  readonly ballot: Ballot;
  readonly leader: ReplicaId | null;
  readonly commitPoint: Slot;
  readonly lastSlot: Slot;
  /** `here`: what clients want is proposed by this replica; `at`: by another. */
  readonly service: Service['kind'];
  /** Null: operations that are given are ordered, as far as this replica can tell. Else why not, for clients. */
  readonly whyNot: string | null;
}

export interface ProtocolHost {
  readonly membership: Membership;
  /** Everything at or below is chosen. */
  readonly commitPoint: Slot;
  /** From here on it votes. */
  start(listener: ProtocolListener): void;
  stop(): void;
  /** Not within a call of the listener. An operation that is given again while it is under way counts once, or comes into the log twice. */
  give(operation: Uint8Array): Given;
  /** What is in the database; up to `durableSlot` it survives a crash. */
  applied(slot: Slot, durableSlot: Slot): void;
  /** The database came up with everything up to `slot`, durably. `isCopy`: it is a copy of what was settled. */
  restored(slot: Slot, isCopy?: boolean): void;
  /** The database is given up, and a copy is to take its place. */
  copyAwaited(): void;
  /** Chosen entries, consecutive from the slot; none: the log has let go of it. */
  readChosen(from: Slot, to: Slot, bytesMax: number): Promise<Entry[]>;
  /** What is at or below stays in every log. */
  readonly settledTo: Slot;
  /** At or below: no log that begins with slot 1. */
  readonly purgedTo: Slot;
  /** What this replica has executed at the slot: told when its client may hear it, at once where what is chosen stays. */
  whenAnswerable(slot: Slot, settle: (outcome: AnswerOutcome) => void): void;
  /** The replica's database or log is not in order, or it ends: it is not to lead, unless its database matters to nobody else. Told again and again while that is so. */
  stepBack(reason: 'logFailed' | 'databaseFailed' | 'requested'): void;
  /** Of another replica: who asks to join, and what travels on the protocol's own channel. */
  onControl(from: ReplicaId, message: ControlMessage): void;
  traceAt(level: TraceLevel): void;
  standing(): Standing;
  status(): ProtocolStatus;
  measures(): Pick<ReplicaMeasures, 'elections' | 'peers'>;
}

export interface ProtocolListener {
  /** Consecutive entries that have just been chosen. */
  chosen(entries: readonly SlotEntry[]): void;
  /** There may be room for operations again. */
  room(): void;
  /** Somebody else proposes from now on: what is not ordered is to be given again. */
  proposerChanged(): void;
  /** The log lets go of slots. */
  purged(): void;
  /** What the database needs next is in no log any more. */
  copyNeeded(): void;
  /** `null` when the log can be written again. */
  logTrouble(error: Error | null): void;
  /** A broken invariant or a failing log: the replica must stop rather than go on. */
  fatal(error: Error): void;
}
