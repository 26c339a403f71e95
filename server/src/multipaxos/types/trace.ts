/** What the core tells of the actions that it takes, in the words of the spec: for the checks of traces, and for people who watch. */
import type { Message } from './messages.ts';
import type { Ballot, EntryLabel, ReplicaId, Role, Slot, StepDownReason } from './names.ts';

/** Names of the spec's actions that the core takes; harness and dashboard use the same. */
export type ActionName =
  | 'StartElection'
  | 'HandlePrepare'
  | 'HandlePromise'
  | 'BecomeLeader'
  | 'Propose'
  | 'HandleAccept'
  | 'HandleAccepted'
  | 'AdvanceCommitPoint'
  | 'HandleHeartbeat'
  | 'HandleCatchUpReply'
  | 'HandleReject'
  | 'Serve'
  | 'StepDown'
  /** Proposes a configuration. */
  | 'Reconfigure'
  /** Comes to know a chosen configuration that a message, or the database, carries: a step of its own, before what the message means. */
  | 'LearnConfiguration'
  /** Takes on what the database holds beyond the log. */
  | 'Restored'
  | 'Fsync'
  | 'Crash'
  | 'Restart';

/** The state after an action, as far as the spec has it; compared with the spec's variables on every event. */
export interface CoreSnapshot {
  readonly role: Role;
  readonly ballot: Ballot;
  readonly promised: Ballot;
  readonly durablePromised: Ballot;
  readonly commitPoint: Slot;
  readonly lastSlot: Slot;
  readonly serving: boolean;
  /** Version of the newest configuration that it knows to be chosen. */
  readonly configuration: number;
}

/** Which actions are told: building the events of those that come with every entry costs as much as the actions. */
export type TraceLevel = 'none' | 'rare' | 'all';

export interface CoreTraceEvent {
  readonly name: ActionName;
  /** The peer whose message was handled. */
  readonly from?: ReplicaId;
  /** The message handled, entries replaced by their labels. */
  readonly message?: TraceMessage;
  /** Messages sent by this very action (not those still waiting for an Fsync). */
  readonly sent?: readonly { readonly to: ReplicaId; readonly message: TraceMessage }[];
  /** Log slots that this action wrote or made durable: [slot, ballot of the vote or null if learnt chosen, label]. */
  readonly votes?: readonly (readonly [Slot, Ballot | null, EntryLabel])[];
  /** Up to here everything is chosen and in the database, as a record says that this action wrote or made durable. */
  readonly base?: Slot;
  readonly reason?: StepDownReason;
  /** Configurations that this action proposed, found in a message or came to know as chosen: what the labels and versions stand for. */
  readonly configurations?: readonly TraceConfiguration[];
  readonly state: CoreSnapshot;
}

/** `voters` are member names such as `r1` and `r2.2`. */
export interface TraceConfiguration {
  readonly version: number;
  /** 0 while it is only proposed. */
  readonly slot: Slot;
  /** Of its entry, while it is only proposed. */
  readonly label?: EntryLabel;
  readonly voters: readonly ReplicaId[];
  readonly learners: readonly ReplicaId[];
}

/** A message with each entry replaced by its label and clock values left out: what the trace and the dashboard show. */
export interface TraceMessage {
  readonly kind: Message['kind'];
  readonly ballot: Ballot;
  readonly commitPoint?: Slot;
  readonly promised?: Ballot;
  readonly firstSlot?: Slot;
  readonly lastSlot?: Slot;
  readonly labels?: readonly EntryLabel[];
  readonly votes?: readonly (readonly [Slot, Ballot | null, EntryLabel])[];
  /** Version of the configuration that it carries. */
  readonly configuration?: number;
}
