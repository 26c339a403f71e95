/** What a replica shows of itself while it has no log that it could go by: it waits to be let in, or its log is damaged. */
import { noPaxosCounts, type ProtocolStatus, type ReplicaStatus } from '../api/status.ts';
import { primaryDefaults } from '../config/config-schema.ts';
import type { MemberAddress } from '../multipaxos/types/members.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { Transport } from '../ports/transport.ts';
import type { RecoveryTracker } from '../replica/database/recovery-progress.ts';

export function addressOf({ host, port, pgwire }: ReplicaConfig['peers'][number]): MemberAddress {
  return { host, port, pgwire };
}

/** A replica that waits for its incarnation, or is about to. */
export interface JoiningReplica {
  readonly config: ReplicaConfig;
  readonly tracker: RecoveryTracker;
  readonly transport: Pick<Transport, 'connected' | 'versionOf'> & { faults(): ReplicaStatus['faults'] };
  readonly joining: { readonly message: string } | null;
}

export function statusOfJoining(
  { config, tracker, transport, joining }: JoiningReplica,
  clients: number,
): ReplicaStatus {
  return statusWithoutLog(config, {
    state: joining === null ? 'starting' : 'joining',
    message: joining?.message ?? null,
    recovery: tracker.current(),
    versionOf: (id) => transport.versionOf(id),
    connected: transport.connected(),
    faults: transport.faults(),
    clients,
  });
}

export function statusWithoutLog(
  config: ReplicaConfig,
  now: Pick<ReplicaStatus, 'state' | 'message' | 'recovery'> & {
    readonly connected: readonly ReplicaId[];
    readonly versionOf: Transport['versionOf'];
    readonly faults: ReplicaStatus['faults'];
    readonly clients: number;
  },
): ReplicaStatus {
  const slot = 0 as Slot;
  return {
    id: config.id,
    incarnation: 0,
    membership: { version: 0, members: [] },
    recovery: now.recovery,
    group: config.group,
    protocol: protocolWithoutLog(config),
    payload: config.payload,
    role: 'follower',
    ballot: { round: 0, replica: '' as ReplicaId },
    leader: null,
    commitPoint: slot,
    applicationPointer: slot,
    durableApplicationPointer: slot,
    lastSlot: slot,
    state: now.state,
    message: now.message,
    pgwire: { host: config.pgwire.host, port: config.pgwire.port },
    http: { host: config.http.host, port: config.http.port },
    pid: process.pid,
    postgres: { pid: null, socketDir: '', port: 0, up: false, version: null },
    wal: null,
    archive: null,
    backup: null,
    clients: now.clients,
    log: { bytes: 0, segments: 0, purgedTo: slot },
    peers: config.peers
      .filter(({ id }) => id !== config.id)
      .map(({ id }) => ({ id, connected: now.connected.includes(id), version: now.versionOf(id) })),
    faults: now.faults,
    certificates: [],
    counters: {
      transactions: 0,
      reads: 0,
      appliedEntries: 0,
      droppedEvents: 0,
      readIndexes: 0,
      shownQuestions: 0,
      readsRefused: 0,
    },
  };
}

function protocolWithoutLog({ protocol, primary = primaryDefaults }: ReplicaConfig): ProtocolStatus {
  switch (protocol) {
    case 'paxos':
      return { name: protocol, counts: noPaxosCounts };
    case 'primary': {
      const counts = { acknowledged: 0, unacknowledged: 0 };
      return {
        name: protocol,
        role: 'recovering',
        replication: primary.replication,
        needsCopy: false,
        counts,
      };
    }
    case 'multi-paxos':
      return { name: protocol };
    default:
      return protocol satisfies never;
  }
}
