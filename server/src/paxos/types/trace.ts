/** What the core of single-decree Paxos tells of the actions that it takes, in the words of specs/Paxos.tla. */
import type { Ballot, EntryLabel, ReplicaId, Slot } from '../../multipaxos/types/names.ts';

/** Names of the spec's actions that the core takes. */
export type PaxosActionName =
  | 'Propose'
  | 'StartBallot'
  | 'StartAccept'
  | 'Decide'
  | 'HandleReject'
  | 'HandlePrepare'
  | 'HandleAccept'
  | 'HandleLearn'
  | 'HandleCatchUpReply'
  | 'Apply'
  | 'HandleDone'
  | 'Purge'
  | 'Restored'
  | 'LoseDatabase'
  | 'Fsync'
  | 'Crash'
  | 'Restart';

/** A slot that is not forgotten, after an action. Null: nothing there. */
export interface TracedSlot {
  readonly slot: Slot;
  readonly promised: Ballot | null;
  /** Of the vote; null where the entry was learnt, or there is none. */
  readonly ballot: Ballot | null;
  readonly label: EntryLabel | null;
  readonly decided: boolean;
  readonly own: EntryLabel | null;
  readonly phase: 'none' | 'prepare' | 'accept';
}

export interface PaxosTraceEvent {
  readonly name: PaxosActionName;
  readonly slot?: Slot;
  readonly ballot?: Ballot;
  readonly label?: EntryLabel;
  readonly from?: ReplicaId;
  /** Whose promises StartAccept has counted. */
  readonly promisers?: readonly ReplicaId[];
  /** How many records became durable. */
  readonly records?: number;
  /** What is purged, restored or done: up to here. */
  readonly upTo?: Slot;
  readonly state: {
    readonly commitPoint: Slot;
    readonly purgedTo: Slot;
    readonly done: Slot;
    /** All that the core holds in memory: what it has dropped is decided. */
    readonly slots: readonly TracedSlot[];
  };
}
