/** What the core tells of the actions that it takes, in the words of specs/PrimaryCopies.tla. */
import type { Ballot, EntryLabel, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { Level, PrimaryRole } from './effects.ts';

export type PrimaryActionName =
  | 'SuspectPrimary'
  | 'GiveWord'
  | 'TakeOver'
  | 'LogOperation'
  | 'ReceiveOperations'
  | 'Fsync'
  | 'PushToDatabase'
  | 'TellReceived'
  | 'Acknowledge'
  | 'StepBack'
  | 'RejoinAsStandby'
  | 'AdvanceSettled'
  | 'Purge'
  | 'PausePrimary'
  | 'TransferState'
  | 'BeginAnew'
  | 'Crash'
  | 'Restart';

/** `promised` is that of the memory. */
export interface PrimarySnapshot {
  readonly role: PrimaryRole;
  readonly promised: Ballot;
  readonly lastSlot: Slot;
  /** Of its last entry. */
  readonly lastEpoch: Ballot;
  readonly matched: Slot;
  readonly needsCopy: boolean;
  readonly pushedTo: Slot;
}

export interface PrimaryTraceEvent {
  readonly name: PrimaryActionName;
  /** Of the epoch that the action is about. */
  readonly epoch: Ballot;
  /** LogOperation, TakeOver: what was appended. Acknowledge: what. ReceiveOperations: behind which slot the message began. TellReceived: received. */
  readonly slot?: Slot;
  /** ReceiveOperations: where the message ended. TellReceived: executed. */
  readonly toSlot?: Slot;
  readonly level?: Level;
  readonly waited?: readonly ReplicaId[];
  readonly label?: EntryLabel;
  /** Purge: the log has more bytes than it should. */
  readonly isLarge?: boolean;
  /** Fsync: how many groups. */
  readonly groups?: number;
  readonly state: PrimarySnapshot;
}
