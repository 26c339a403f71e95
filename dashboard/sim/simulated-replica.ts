/**
 * What one life of a simulated replica serves over HTTP: the product's gateway, over the product's replica.
 *
 * Responsible for: what main/start-replica.ts does around a replica, as far as it can be seen from outside. Models stand only for what is asked of PostgreSQL itself.
 */
import { describeFault } from '../../server/src/adapters/ws-transport/link-faults.ts';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import type { ReplicaConfig } from '../../server/src/config/replica-config.ts';
import type { AdminAnswer } from '../../server/src/gateways/http/admin-routes.ts';
import type { HttpReplica } from '../../server/src/gateways/http/http-gateway.ts';
import { statusOfJoining } from '../../server/src/main/without-log.ts';
import { type ShownReplica, showReplica, unreadable } from '../../server/src/main/show-replica.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { MemberProcess } from '../../server/src/replica/testing/member-process.ts';
import type { MemoryMember } from '../../server/src/replica/testing/memory-member.ts';
import type { ClientSessions } from './sessions.ts';

const lookForPeersMs = 100;

export interface SimulatedLife {
  readonly member: MemoryMember;
  readonly process: MemberProcess;
  readonly config: ReplicaConfig;
  /** The process' number, which no other life has. */
  readonly pid: number;
  /** At which it is asked. */
  readonly httpPort: number;
  readonly sessions: ClientSessions;
}

export function serveLife(life: SimulatedLife): HttpReplica {
  const { process } = life;
  const { events, transport } = process;
  events.operation({ name: 'ReplicaStarted', pid: life.pid });
  tellPeers(process);
  let shown: ShownReplica | null = null;
  // It is put together when it has a log.
  const show = (): ShownReplica | null => {
    shown ??= shownOf(life);
    return shown;
  };
  process.onProposed = () => show()?.nudge();
  const unavailable = (message: string): AdminAnswer<never> => ({
    ok: false,
    error: { code: 'unavailable', message },
  });
  const whyNot = (): string => process.joining?.message ?? 'The replica is starting.';
  return {
    status: () => statusOf(life),
    subscribe: (listener, attention) => events.subscribe(listener, attention),
    setFaults: (faults, heals) => {
      transport.setFaults(faults, heals);
      if (heals) events.operation({ name: 'FaultChanged', description: 'all links healed' });
      for (const fault of faults)
        events.operation({ name: 'FaultChanged', description: describeFault(fault) });
    },
    admin: {
      members: async (request) => process.assembled?.replica.admin.members(request) ?? unavailable(whyNot()),
      verify: async (request) => process.assembled?.replica.admin.verify(request) ?? unavailable(whyNot()),
      transferLeadership: async (request) =>
        process.assembled?.replica.admin.transferLeadership(request) ?? unavailable(whyNot()),
      endSession: () => Promise.resolve(unavailable('A simulated group has no sessions of PostgreSQL.')),
      backup: () => Promise.resolve(unavailable('A simulated group has no backups.')),
    },
    readSlot: async (slot) => show()?.readSlot(slot) ?? unreadable(whyNot()),
  };
}

function shownOf({ member, process, sessions }: SimulatedLife): ShownReplica | null {
  const { assembled, log, events, timers } = process;
  if (assembled === null || log === null) return null;
  const database = {
    look: () => Promise.resolve(sessions.look(member.postgres)),
    // What the model writes is about no files.
    names: () => Promise.resolve(new Map()),
    close: () => undefined,
  };
  return showReplica(assembled, { database, log, events, timers });
}

function statusOf({ member, process, config, pid, httpPort }: SimulatedLife): ReplicaStatus {
  const { id, postgres } = member;
  const clients = postgres.run?.primary?.sessions.size ?? 0;
  const status =
    process.assembled?.replica.status(clients) ?? statusOfJoining({ ...partsOf(process), config }, clients);
  const { pgwire } = config.peers.find((peer) => peer.id === id)!;
  return { ...status, pid, pgwire, http: { host: '127.0.0.1', port: httpPort } };
}

function partsOf({ tracker, transport, joining }: MemberProcess) {
  return { tracker, transport, joining };
}

/** The network in memory has no connections whose ends it could tell of. */
function tellPeers({ timers, transport, events }: MemberProcess): void {
  let up = new Set<ReplicaId>();
  timers.every(lookForPeersMs, () => {
    const now = new Set(transport.connected());
    for (const peer of now) if (!up.has(peer)) events.operation({ name: 'PeerConnected', peer });
    for (const peer of up) if (!now.has(peer)) events.operation({ name: 'PeerLost', peer });
    up = now;
  });
}
