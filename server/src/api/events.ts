/**
 * The one event format: what a replica did, for the dashboard's live stream, the recorded NDJSON trace (one event a
 * line) and the conformance check. Also produced by the simulator.
 */
import { isFrequentAction } from '../multipaxos/trace.ts';
import type { Ballot, EntryLabel, ReplicaId, Slot } from '../multipaxos/types/names.ts';
import type { CoreLeaseEvent, TracedLease } from '../multipaxos/types/lease-trace.ts';
import type { CoreTraceEvent } from '../multipaxos/types/trace.ts';
import type { PaxosMessage } from '../paxos/types/messages.ts';
import type { Message as CopiesMessage } from '../primary/types/messages.ts';
import type { Lsn, Timeline } from '../wal/lsn.ts';
import type { RecoveryProgress, VerifyResult } from './status.ts';
import type { OperationWord, RunningTransaction, ShownSession } from './wal-summary.ts';

/** Of a leadership entry. `nextXid`: a transaction id of PostgreSQL, as text. */
interface LeadershipFields {
  readonly leadership: Ballot;
  readonly timeline: Timeline;
  readonly fork: Lsn;
  readonly nextXid: string;
  readonly resumes: boolean;
}

/**
 * What ordered apply of WAL does; names, fields and what must hold after each: specs/ordered-apply.md. Positions are bytes of WAL; `folded` there is the slot up to which this replica has folded its log.
 */
export type ApplyTraceEvent =
  /** A range was proposed. `commits`: transactions whose commit record ends in it; only where a trace is recorded. */
  | {
      readonly name: 'Ship';
      readonly label: EntryLabel;
      readonly leadership: Ballot;
      readonly timeline: Timeline;
      readonly start: Lsn;
      readonly end: Lsn;
      readonly commits: readonly string[];
    }
  /** The leader has reported this position to its PostgreSQL, and `start` before: commits between are released, which are `commits`, as their Ship told them. */
  | {
      readonly name: 'Release';
      readonly slot: Slot;
      readonly start: Lsn;
      readonly position: Lsn;
      readonly commits: readonly string[];
    }
  /** A range has effect: the standby may be sent it. */
  | {
      readonly name: 'Feed';
      readonly slot: Slot;
      readonly label: EntryLabel;
      readonly leadership: Ballot;
      readonly timeline: Timeline;
      readonly start: Lsn;
      readonly end: Lsn;
    }
  /** A command that changes nothing. */
  | { readonly name: 'Skip'; readonly slot: Slot; readonly label: EntryLabel; readonly why: string }
  /** `durable`, `applied`: the slots up to which everything is flushed, and replayed. */
  | {
      readonly name: 'Replay';
      readonly flushed: Lsn;
      readonly replayed: Lsn;
      readonly durable: Slot;
      readonly applied: Slot;
    }
  /** Everything up to the slot is in the directory, durably, and it says so; before it said `from`. */
  | { readonly name: 'FlushStandby'; readonly from: Slot; readonly slot: Slot; readonly position: Lsn }
  | ({ readonly name: 'ProposeLeadership'; readonly label: EntryLabel } & LeadershipFields)
  /** At its leader: when the directory says what it may be from now on. */
  | ({
      readonly name: 'BeginLeadership';
      readonly slot: Slot;
      readonly label: EntryLabel;
      readonly role: DirectoryRoleName;
    } & LeadershipFields)
  | { readonly name: 'Promote'; readonly leadership: Ballot; readonly timeline: Timeline; readonly fork: Lsn }
  /** `position`: the end of the last whole record that was found in its directory. */
  | {
      readonly name: 'Resume';
      readonly leadership: Ballot;
      readonly timeline: Timeline;
      readonly position: Lsn;
    }
  /** Clients are let in. */
  | { readonly name: 'Open'; readonly leadership: Ballot; readonly slot: Slot; readonly position: Lsn }
  | { readonly name: 'Depose'; readonly leadership: Ballot; readonly reason: string }
  | { readonly name: 'DatabaseDown'; readonly reason: string }
  | {
      readonly name: 'DatabaseUp';
      readonly role: 'standby' | 'founder';
      readonly slot: Slot;
      readonly position: Lsn;
      readonly timeline: Timeline;
    }
  /** What the WAL of a primary's directory is worth; `position`: where it ends. */
  | {
      readonly name: 'CheckPrefix';
      readonly outcome: 'standby' | 'parted' | 'undecided';
      readonly slot: Slot;
      readonly timeline: Timeline;
      readonly position: Lsn;
    }
  | { readonly name: 'BeginCopy'; readonly source: ReplicaId }
  /** It is not whole, and goes on no more. */
  | { readonly name: 'GiveUpCopy'; readonly source: ReplicaId }
  | {
      readonly name: 'EndCopy';
      readonly source: ReplicaId;
      readonly slot: Slot;
      readonly position: Lsn;
      readonly timeline: Timeline;
    }
  /** PostgreSQL has ended a commit's wait early: answers are held from now on. */
  | { readonly name: 'EndWait' }
  /** A commit of Barista's own is chosen. `opens`: answers were held since an EndWait, and go on. */
  | {
      readonly name: 'Barrier';
      readonly slot: Slot;
      readonly position: Lsn;
      readonly opens: boolean;
    }
  /** A client lost its session while this transaction was being committed, and what became of it is looked for. `question`: counts up from 1 for one run; `open`: of those before, so many are not answered. */
  | {
      readonly name: 'AskOutcome';
      readonly question: number;
      readonly open: number;
      readonly xid: string;
      readonly leadership: Ballot;
    }
  | {
      readonly name: 'TellOutcome';
      readonly question: number;
      readonly xid: string;
      readonly leadership: Ballot;
      readonly outcome: 'committed' | 'notCommitted' | 'unknown';
    }
  /** The log was dropped from behind slot `from` up to `slot`. */
  | {
      readonly name: 'Purge';
      readonly from: Slot;
      readonly slot: Slot;
      readonly why: 'everybody' | 'pressure';
    };

export type DirectoryRoleName = 'founder' | 'standby' | 'promoting' | 'primary' | 'copying';

/**
 * Who has given its word to which leader, what a leader's lease rests on, and what left under it; names, fields and what must hold after each: specs/lease.md.
 * `generation`: of the service of this replica's clients; a session belongs to one.
 */
export type LeaseTraceEvent =
  | CoreLeaseEvent
  | ({ readonly clockMs: number } /** From now on reads run in this generation. */ & (
      | {
          readonly name: 'RunRead';
          readonly generation: number;
          readonly leadership: Ballot;
        }
      /** An answer leaves, of which all was read at `ranMs`; one of those that leave within some milliseconds is told. `lease`: what it rests on. */
      | {
          readonly name: 'AnswerRead';
          readonly generation: number;
          readonly ranMs: number;
          readonly lease: TracedLease | null;
        }
      /** One may not, for want of the lease; told once, until one leaves again. */
      | { readonly name: 'RefuseAnswer'; readonly generation: number; readonly lease: TracedLease | null }
    ));

/** A step of another protocol's core in the words of its specification (specs/Paxos.tla, specs/PrimaryCopies.tla), with what the replica knows then; only where a trace is recorded. */
export interface ProtocolTraceEvent {
  readonly name: 'PaxosStep' | 'PrimaryStep';
  readonly step: { readonly name: string };
}

/** What is shown of a message of another protocol than Multi-Paxos. `peer`: whom it went to, or whose it is. `ballot`: in a group of a primary with copies its epoch; round 0 where it has none. `firstSlot` left out: it is about none; `lastSlot` left out: about that one alone. */
export interface PassedMessage {
  readonly peer: ReplicaId;
  readonly kind:
    | PaxosMessage['kind']
    | CopiesMessage['kind']
    /** A primary says what it has acknowledged, and what it has given up. */
    | 'Told';
  readonly ballot: Ballot;
  readonly firstSlot?: Slot;
  readonly lastSlot?: Slot;
  readonly commitPoint?: Slot;
  readonly promised?: Ballot;
}

/** Things worth showing that no spec knows. */
export type OperationalEvent =
  | { readonly name: 'ReplicaStarted'; readonly pid: number }
  | { readonly name: 'PeerConnected' | 'PeerLost'; readonly peer: ReplicaId }
  | { readonly name: 'FaultChanged'; readonly description: string }
  /** A recovery began, entered its next phase, began afresh or (phase null) is done. */
  | { readonly name: 'RecoveryPhase'; readonly progress: RecoveryProgress | null }
  | { readonly name: 'VerifyDone'; readonly result: VerifyResult }
  | { readonly name: 'LogFull' | 'LogResumed' | 'LogRefused'; readonly reason: string }
  /** A leader has rolled back a transaction that was prepared too long ago. */
  | {
      readonly name: 'PreparedRolledBack';
      readonly gid: string;
      readonly database: string;
      readonly ageMs: number;
    }
  /** Where statements travel and somebody watches: what an entry holds that has been chosen; `what` null: nothing for a database. */
  | {
      readonly name: 'SlotChosen';
      readonly slot: Slot;
      readonly label: EntryLabel;
      readonly what: OperationWord | null;
      readonly session: ShownSession | null;
    }
  /** Where another protocol than Multi-Paxos runs and somebody watches: what a replica heard and sent in one turn. */
  | {
      readonly name: 'MessagesPassed';
      readonly heard: readonly PassedMessage[];
      readonly sent: readonly PassedMessage[];
    }
  /** What the leader's PostgreSQL was found at, now and then while somebody watches; `more`: how many were left out. */
  | {
      readonly name: 'RunningTransactions';
      readonly transactions: readonly RunningTransaction[];
      readonly more: number;
    };

export type TraceEvent = {
  /** Counts up from 1 for one run of one replica. */
  readonly seq: number;
  /** Identifies the run of the replica's process. */
  readonly run: string;
  /** The incarnation, such as `r2.2`. */
  readonly replica: ReplicaId;
  /** Microseconds of the machine's monotonic clock: orders events of replicas on one machine. */
  readonly atUs: number;
} & (
  | ({ readonly layer: 'consensus' } & CoreTraceEvent)
  | ({ readonly layer: 'apply' } & ApplyTraceEvent)
  | ({ readonly layer: 'lease' } & LeaseTraceEvent)
  | ({ readonly layer: 'protocol' } & ProtocolTraceEvent)
  | ({ readonly layer: 'operation' } & OperationalEvent)
);

/** Of what is not consensus alone; they come with every range of WAL, or many a second. */
const frequentNames: ReadonlySet<string> = new Set<TraceEvent['name']>([
  'Ship',
  'Release',
  'Feed',
  'Replay',
  'FlushStandby',
  'HandleHeartbeatAck',
  'AnswerRead',
  'RefuseAnswer',
  'RunningTransactions',
  'SlotChosen',
  'MessagesPassed',
  'PaxosStep',
  'PrimaryStep',
]);

/** Whether events of this name come so often that they are made for listeners of everything only. */
export function isFrequent(name: TraceEvent['name']): boolean {
  return frequentNames.has(name) || isFrequentAction(name);
}
