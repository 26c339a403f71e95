/** A replica's status as the API shows it, read off its parts. Changes nothing. */
import type { LinkFault, ReplicaStatus } from '../../api/status.ts';
import type { OrderedApply } from '../../apply/ordered-apply.ts';
import { incarnationOf, replicaOf } from '../../multipaxos/configuration.ts';
import type { CoreSnapshot, ReplicaId } from '../../multipaxos/types.ts';
import type { LogStore } from '../../ports/log-store.ts';
import type { Transport } from '../../ports/transport.ts';
import type { Condition } from './condition.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import type { DatabaseKeeper } from '../database-keeper.ts';
import type { Membership } from '../members/membership.ts';
import type { RecoveryTracker } from '../database/recovery-progress.ts';

export interface StatusParts {
  readonly config: ReplicaConfig;
  readonly log: LogStore;
  readonly transport: Transport & { faults(): readonly LinkFault[] };
  readonly keeper: DatabaseKeeper;
  readonly tracker: RecoveryTracker;
  readonly membership: Membership;
  readonly apply: OrderedApply;
  readonly core: CoreSnapshot;
  readonly leader: ReplicaId | null;
  readonly condition: Condition;
  readonly counters: Pick<ReplicaStatus['counters'], 'transactions' | 'reads'>;
  readonly clients: number;
}

export function statusOf(parts: StatusParts): ReplicaStatus {
  const { config, core, apply, membership, leader } = parts;
  const connected = new Set(parts.transport.connected());
  const { bytes, segments, purgedTo } = parts.log.stats();
  return {
    id: config.id,
    incarnation: incarnationOf(parts.log.identity.member),
    membership: membership.status(),
    recovery: parts.tracker.current(),
    group: config.group,
    role: core.role,
    ballot: core.ballot,
    leader: leader === null ? null : replicaOf(leader),
    commitPoint: core.commitPoint,
    applicationPointer: apply.pointer,
    durableApplicationPointer: apply.durablePointer,
    lastSlot: core.lastSlot,
    state: parts.condition.state,
    message: parts.condition.message,
    pgwire: config.pgwire,
    http: config.http,
    pid: process.pid,
    postgres: parts.keeper.info(),
    clients: parts.clients,
    log: { bytes, segments, purgedTo },
    peers: membership.others().map((id) => ({ id, connected: connected.has(id) })),
    faults: parts.transport.faults(),
    // Events that are dropped are counted where they are given away.
    counters: { ...parts.counters, appliedEntries: apply.appliedEntries, droppedEvents: 0 },
  };
}
