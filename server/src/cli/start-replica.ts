/**
 * Puts one replica together: its log, its PostgreSQL, its peers, its core, its door for SQL clients.
 *
 * Responsible for: which adapter stands behind which port. Starts nothing that the parts do not start themselves.
 */
import { join } from 'node:path';
import { locateBinaries } from '../adapters/postgres/binaries.ts';
import { createDatabase } from '../adapters/postgres/database.ts';
import { startPostgres } from '../adapters/postgres/postgres-server.ts';
import { createSessionSql } from '../adapters/postgres/session-sql.ts';
import { openSegmentLog } from '../adapters/segment-log/segment-log.ts';
import { systemClock } from '../adapters/system-clock.ts';
import { createWsTransport, type WsTransport } from '../adapters/ws-transport/ws-transport.ts';
import type { LinkFault, ReplicaStatus } from '../api/status.ts';
import { createPgwireListener } from '../gateways/pgwire/listener.ts';
import type { ReplicaId, Slot } from '../multipaxos/types.ts';
import { LogStoreError, type LogStore } from '../ports/log-store.ts';
import type { ReplicaConfig } from '../replica/config.ts';
import { DatabaseKeeper, type RunningDatabase } from '../replica/database-keeper.ts';
import { Replica } from '../replica/replica.ts';
import type { ServeContext, ServedReplica } from './serve.ts';
import { timedAgreement } from './timed-agreement.ts';

/** @throws LaunchError, LogStoreError or a listening error; a corrupt log is not thrown but served as a replica that refuses to vote. */
export async function startReplica(config: ReplicaConfig, context: ServeContext): Promise<ServedReplica> {
  let log: LogStore;
  try {
    log = await openSegmentLog({ directory: join(config.dataDir, 'log'), group: config.group });
  } catch (error) {
    if (error instanceof LogStoreError && error.code === 'logCorrupt')
      return refusingReplica(config, context, error);
    throw error;
  }
  // Nothing is awaited between here and the replica, so no link can come up before there is someone to tell.
  let tellPeer = (_peer: ReplicaId, _connected: boolean): void => {};
  const transport = await openTransport(config, context, (peer, connected) => tellPeer(peer, connected));
  const keeper = new DatabaseKeeper({
    launch: () => launchDatabase(config),
    logger: context.logger,
    retryMinMs: 200,
    retryMaxMs: 5000,
  });
  const replica = new Replica(config, {
    log,
    transport,
    keeper,
    clock: systemClock,
    logger: context.logger,
    random: Math.random,
    onFatal: context.onFatal,
  });
  // Before anything can happen: the trace is of no use if its beginning is missing.
  replica.subscribe(context.onEvent);
  tellPeer = (peer, connected) =>
    replica.events.operation({ name: connected ? 'PeerConnected' : 'PeerLost', peer });
  let reads = 0;
  const pgwire = await createPgwireListener({
    ...config.pgwire,
    agreement: timedAgreement(replica.service, systemClock, context.latencies),
    sessionSql: () => keeper.sessionSql(),
    logger: context.logger,
    limits: { clientsMax: config.bounds.clientsMax },
    onCounters: (counter) => {
      if (counter === 'reads') reads++;
    },
  });
  replica.start();
  return {
    status: () => replica.status(pgwire.clients, reads),
    subscribe: (listener) => replica.subscribe(listener),
    setFault: (fault) => {
      transport.setFault(fault);
      replica.events.operation({ name: 'FaultChanged', description: describeFault(fault) });
    },
    healFaults: () => {
      transport.heal();
      replica.events.operation({ name: 'FaultChanged', description: 'all links healed' });
    },
    stop: async () => {
      await pgwire.close();
      await replica.stop();
    },
  };
}

function openTransport(
  config: ReplicaConfig,
  { logger, onFatal }: ServeContext,
  onPeer: (peer: ReplicaId, connected: boolean) => void,
): Promise<WsTransport> {
  const up = new Set<ReplicaId>();
  return createWsTransport({
    group: config.group,
    id: config.id,
    peers: config.peers,
    listen: config.peerListen,
    secret: config.clusterSecret,
    faultsAllowed: config.faults,
    onPeerChange: (peer, connected, reason) => {
      logger.info({ peer, connected, reason }, 'peer');
      // Attempts that fail are told as well; only what changes is an event.
      if (connected === up.has(peer)) return;
      if (connected) up.add(peer);
      else up.delete(peer);
      onPeer(peer, connected);
    },
    onRefused: (from, reason) => logger.warn({ from, reason }, 'a peer was turned away'),
    onHandlerError: (error) => onFatal(error instanceof Error ? error : new Error(String(error))),
  });
}

async function launchDatabase(config: ReplicaConfig): Promise<RunningDatabase> {
  const { pgBin, settings } = config.postgres;
  const server = await startPostgres({
    directory: join(config.dataDir, 'postgres'),
    binaries: await locateBinaries(pgBin === undefined ? {} : { pgBin }),
    settings,
    // Sessions of clients, and the replica's own: applier, flush, supervision.
    connectionsMax: config.bounds.clientsMax + 20,
    ...(config.bootstrap === undefined
      ? {}
      : {
          database: config.bootstrap.database,
          roles: [{ name: config.bootstrap.user, password: config.bootstrap.password }],
        }),
  });
  return {
    database: createDatabase(server),
    sessionSql: createSessionSql(server),
    info: () => ({
      pid: server.pid(),
      socketDir: server.socketDir,
      port: server.port,
      version: server.version,
    }),
    onExit: (listener) =>
      void server.onExit(({ code, signal }) => {
        listener(`PostgreSQL ended (${signal === null ? `exit code ${code}` : signal})`);
      }),
    restart: () => server.restart(),
    stop: () => server.stop(),
  };
}

function describeFault({ from, to, cut, delayMs, drop, duplicate }: LinkFault): string {
  const what = [
    cut ? 'cut' : '',
    delayMs > 0 ? `delayed by ${delayMs} ms` : '',
    drop > 0 ? `drops ${Math.round(drop * 100)} %` : '',
    duplicate > 0 ? `duplicates ${Math.round(duplicate * 100)} %` : '',
  ].filter((text) => text !== '');
  return `link ${from} to ${to}: ${what.join(', ') || 'healthy'}`;
}

/** Its log is damaged: it shows itself and why, and does nothing else. What it might vote could contradict what it has voted. */
function refusingReplica(
  config: ReplicaConfig,
  { logger }: ServeContext,
  error: LogStoreError,
): ServedReplica {
  logger.fatal({ err: error }, 'the log is damaged: this replica does not vote, apply or serve');
  const nothing = { slot: 0 as Slot, ballot: { round: 0, replica: '' as ReplicaId } };
  const status: ReplicaStatus = {
    id: config.id,
    group: config.group,
    role: 'follower',
    ballot: nothing.ballot,
    leader: null,
    commitPoint: nothing.slot,
    applicationPointer: nothing.slot,
    durableApplicationPointer: nothing.slot,
    lastSlot: nothing.slot,
    state: 'logCorrupt',
    message: `${error.message}. It has not been read as data. Restore this replica from the others.`,
    pgwire: config.pgwire,
    http: config.http,
    pid: process.pid,
    postgres: { pid: null, socketDir: '', port: 0, up: false, version: null },
    clients: 0,
    log: { bytes: 0, segments: 0, purgedTo: nothing.slot },
    peers: config.peers.filter(({ id }) => id !== config.id).map(({ id }) => ({ id, connected: false })),
    faults: [],
    counters: { transactions: 0, reads: 0, appliedEntries: 0, droppedEvents: 0 },
  };
  const refuse = (): never => {
    throw new RangeError('a replica with a damaged log has no links');
  };
  return {
    status: () => status,
    subscribe: () => () => {},
    setFault: refuse,
    healFaults: () => {},
    stop: () => Promise.resolve(),
  };
}
