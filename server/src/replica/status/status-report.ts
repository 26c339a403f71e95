/** A replica's status as the API shows it, read off its parts. Changes nothing. */
import type { StandbyLag } from '../../api/measures.ts';
import type {
  ArchiveReport,
  LinkFault,
  PaceReport,
  ProtocolStatus,
  ReplicaStatus,
  WalStatus,
} from '../../api/status.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import { incarnationOf, replicaOf } from '../../multipaxos/configuration.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { CoreSnapshot } from '../../multipaxos/types/trace.ts';
import type { Payload } from '../../payload/payload.ts';
import type { LogStore } from '../../ports/log-store.ts';
import type { Transport } from '../../ports/transport.ts';
import type { RecoveryTracker } from '../database/recovery-progress.ts';
import type { FollowerReads } from '../serving/follower-reads.ts';
import type { ShownByLeader } from '../serving/shown-by-leader.ts';
import type { Membership } from '../members/membership.ts';
import type { Condition } from './condition.ts';

/** What is told of PostgreSQL itself. */
export interface DatabaseStatus {
  readonly postgres: ReplicaStatus['postgres'];
  readonly wal: WalStatus | null;
  readonly archive: ArchiveReport | null;
  /** Ranges of WAL that were folded in since the start. */
  readonly appliedEntries: number;
  /** Of this leader's sessions: transactions that wrote, and others that ended. */
  readonly transactions: number;
  readonly reads: number;
  /** Null: there is no standby that has told how far it is. */
  readonly standbyLag: StandbyLag | null;
  /** Of the leader's WAL, the oldest range that is proposed and not chosen; null: there is none. */
  readonly oldestProposedAtMs: number | null;
}

export interface StatusParts {
  readonly config: ReplicaConfig;
  readonly log: LogStore;
  readonly transport: Transport & { faults(): readonly LinkFault[] };
  readonly database: () => DatabaseStatus;
  readonly tracker: RecoveryTracker;
  readonly membership: Membership;
  readonly payload: Payload;
  readonly reads: Pick<FollowerReads, 'counts'>;
  readonly shown: Pick<ShownByLeader, 'counts'>;
  readonly core: Pick<CoreSnapshot, 'role' | 'ballot' | 'commitPoint' | 'lastSlot'>;
  readonly protocol: ProtocolStatus;
  readonly leader: ReplicaId | null;
  readonly condition: Condition;
  readonly slowness?: PaceReport | null;
  readonly clients: number;
}

export function statusOf(parts: StatusParts): ReplicaStatus {
  const { config, core, payload, membership, leader } = parts;
  const connected = new Set(parts.transport.connected());
  const { bytes, segments, purgedTo } = parts.log.stats();
  const { questions: readIndexes, refused } = parts.reads.counts;
  const { questions: shownQuestions, refused: notShown } = parts.shown.counts;
  const readsRefused = refused + notShown;
  const { postgres, wal, archive, appliedEntries, transactions, reads } = parts.database();
  return {
    id: config.id,
    incarnation: incarnationOf(parts.log.identity.member),
    membership: membership.status(),
    recovery: parts.tracker.current(),
    group: config.group,
    protocol: parts.protocol,
    payload: config.payload,
    role: core.role,
    ballot: core.ballot,
    leader: leader === null ? null : replicaOf(leader),
    commitPoint: core.commitPoint,
    applicationPointer: payload.pointer,
    durableApplicationPointer: payload.durablePointer,
    lastSlot: core.lastSlot,
    state: parts.condition.state,
    message: parts.condition.message,
    pgwire: { host: config.pgwire.host, port: config.pgwire.port },
    http: { host: config.http.host, port: config.http.port },
    pid: process.pid,
    postgres,
    wal,
    archive,
    // Told where they are made.
    backup: null,
    clients: parts.clients,
    pace: parts.slowness ?? null,
    log: { bytes, segments, purgedTo },
    peers: membership.others().map((id) => ({
      id,
      connected: connected.has(id),
      version: parts.transport.versionOf(id),
    })),
    faults: parts.transport.faults(),
    // Certificates are known where connections are made; events that are dropped are counted where they are given away.
    certificates: [],
    counters: {
      transactions,
      reads,
      appliedEntries,
      droppedEvents: 0,
      readIndexes,
      shownQuestions,
      readsRefused,
    },
  };
}
