/**
 * Puts one replica together: its log, its PostgreSQL, its peers, its core, its door for SQL clients. One that has no log waits first to be let into its group.
 *
 * Responsible for: which adapter stands behind which port, and the order joining, log, transport, replica. Starts nothing that the parts do not start themselves.
 * Invariants: no message leaves under an incarnation whose log is not on disk; a crash at any moment is a crash of a replica that was never admitted, or of one
 * that has a log.
 */
import { inspectDatabase, placesOf } from '../adapters/postgres/database-directory.ts';
import { openPassage } from '../adapters/postgres/launch-user.ts';
import { systemClock } from '../adapters/system-clock.ts';
import { describeFault } from '../adapters/ws-transport/link-faults.ts';
import { createWsTransport, type WsTransport } from '../adapters/ws-transport/ws-transport.ts';
import { noGatewayMeasures, noPeerTraffic, noReplicaMeasures } from '../api/measures.ts';
import type { LinkFault, ReplicaStatus } from '../api/status.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { createPgwireListener, type PgwireListener } from '../gateways/pgwire/listener.ts';
import { defaultLimits } from '../gateways/pgwire/limits.ts';
import { defaultAccess } from '../gateways/pgwire/login/access-rules.ts';
import type { ThriftListener } from '../gateways/thrift/door/listener.ts';
import { ballotNone } from '../multipaxos/ballot.ts';
import { memberName, replicaOf } from '../multipaxos/configuration.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { LogStoreError, type LogStore } from '../ports/log-store.ts';
import type { Joined } from '../replica/database/missing-database.ts';
import type { SharedSessions } from '../ports/statement-sessions.ts';
import { RecoveryTracker } from '../replica/database/recovery-progress.ts';
import { causeBeforeAdmission, causeOf, Joining, type Admission } from '../replica/members/joining.ts';
import { ReplicaEvents } from '../replica/status/events.ts';
import { CliError, exitCodes } from './errors.ts';
import { becomeStatementReplica } from './become-statement-replica.ts';
import { becomeWalReplica } from './become-wal-replica.ts';
import type { Frame } from './frame.ts';
import { createLog, openLog } from './log-store.ts';
import { boundsThatFit, openFilesMax } from './open-files.ts';
import { adminOf } from './replica-admin.ts';
import type { ServeContext, ServedReplica } from './serve.ts';
import { createServiceDoor } from './service-door.ts';
import { createSessionsDoor } from './sessions-door.ts';
import { unreadable } from './show-replica.ts';
import { checkStack, stackKbMax } from './stack-limit.ts';
import { stackDepthKb } from '../payload/statements/statement-settings.ts';
import { addressOf, statusOfJoining, statusWithoutLog } from './without-log.ts';

const lookForLogMs = 2000;

/** @throws LogStoreError, LaunchError or a listening error; a corrupt log is not thrown but served as a replica that refuses to vote. */
export async function startReplica(config: ReplicaConfig, context: ServeContext): Promise<ServedReplica> {
  if (config.payload === 'statements') checkStack(stackDepthKb, stackKbMax());
  await openPassage(config.dataDir);
  let log: LogStore | null = null;
  try {
    log = await openLog(config);
  } catch (error) {
    if (!(error instanceof LogStoreError)) throw error;
    if (error.code === 'logCorrupt') return refusingReplica(config, context, error);
    if (error.code !== 'logMissing') throw error;
  }
  if (log !== null) await requireOwn(config, log);
  const frame = await openFrame(config, context, log);
  const pgwire = await createPgwireListener({
    ...config.pgwire,
    service: frame.door,
    ...(config.payload === 'statements' ? { statements: frame.sessions } : {}),
    clusterSecret: config.clusterSecret,
    access: config.pgwire.access ?? defaultAccess(config.pgwire.tls !== undefined),
    logger: context.logger,
    limits: clientLimits(config, context),
  });
  const thrift = await openThrift(config, context, pgwire, frame.sessions.shared);
  const beginning = log === null ? join(frame) : becomeReplica(frame, log, null);
  if (log !== null) await beginning;
  const { transport, events } = frame;
  const whyNot = (): string => frame.joining?.message ?? 'The replica is starting.';
  return {
    status: () => statusOf(frame, pgwire),
    measures: () => ({
      replica: frame.running?.measures() ?? noReplicaMeasures,
      gateway: pgwire.measures(),
      thrift: thrift?.measures() ?? null,
      peers: transport.counters(),
    }),
    subscribe: (listener, attention) => events.subscribe(listener, attention),
    setFaults: (faults, heals) => {
      transport.setFaults(faults, heals);
      if (heals) events.operation({ name: 'FaultChanged', description: 'all links healed' });
      for (const fault of faults)
        events.operation({ name: 'FaultChanged', description: describeFault(fault) });
    },
    admin: adminOf(() => frame.running?.admin ?? null, whyNot),
    readSlot: async (slot) => frame.running?.readSlot(slot) ?? unreadable(whyNot()),
    stop: async () => {
      await frame.running?.beforeStop();
      await thrift?.close();
      await pgwire.close();
      frame.stopping = true;
      frame.joining?.stop();
      await beginning;
      if (frame.running === null) await transport.close();
      else await frame.running.stop();
    },
  };
}

/** Only whoever has this door loads what it needs. */
async function openThrift(
  { thrift, payload, clusterSecret, pgwire: { tls } }: ReplicaConfig,
  { logger }: ServeContext,
  pgwire: PgwireListener,
  sessions: SharedSessions,
): Promise<ThriftListener | null> {
  if (thrift === undefined) return null;
  const { createThriftListener } = await import('../gateways/thrift/door/listener.ts');
  const shared = payload === 'statements' ? { sessions, clusterSecret } : undefined;
  const connectAs = pgwire.connectAs.bind(pgwire);
  return createThriftListener({ ...thrift, connectAs, shared, tls, logger });
}

const fewerClients =
  'this process may have so few files open that it takes fewer clients than bounds.clientsMax: allow more (LimitNOFILE= in its systemd unit, ulimit -n)';

/** One role or address leaves a tenth of the places to others, unless the configuration says otherwise. */
function clientLimits({ bounds, thrift }: ReplicaConfig, { logger }: ServeContext) {
  const { clientsPerRoleMax, clientsPerAddressMax } = bounds;
  const { openingMax, provingMax } = defaultLimits;
  const wanted = { clientsMax: bounds.clientsMax, openingMax, provingMax };
  const filesMax = openFilesMax();
  const fitted = boundsThatFit(wanted, filesMax, thrift !== undefined);
  const { clientsMax } = fitted;
  if (clientsMax < bounds.clientsMax)
    logger.warn({ filesMax, clientsMax, wanted: bounds.clientsMax }, fewerClients);
  const most = clientsMax - Math.floor(clientsMax / 10);
  return {
    ...fitted,
    clientsPerRoleMax: clientsPerRoleMax ?? most,
    clientsPerAddressMax: clientsPerAddressMax ?? most,
  };
}

function statusOf(frame: Frame, pgwire: PgwireListener): ReplicaStatus {
  if (frame.running === null) return statusOfJoining(frame, pgwire.clients);
  const running = frame.running.status(pgwire.clients);
  if (frame.config.payload === 'statements') return running;
  const status = { ...running, left: pgwire.leftRunning() };
  const { held } = status;
  if (held == null) return status;
  const holders = held.locks.holders.map((each) => ({
    ...each,
    ...(each.pid === null ? {} : pgwire.sessionOf(each.pid)),
  }));
  return { ...status, held: { ...held, locks: { ...held.locks, holders } } };
}

function becomeReplica(frame: Frame, log: LogStore, joined: Joined | null): Promise<void> {
  return frame.config.payload === 'statements'
    ? becomeStatementReplica(frame, log)
    : becomeWalReplica(frame, log, joined);
}

/** @throws CliError if the log, which is closed then, is another member's, whose votes it holds */
async function requireOwn({ id, dataDir }: ReplicaConfig, log: LogStore): Promise<void> {
  const owner = replicaOf(log.identity.member);
  if (owner === id) return;
  await log.close();
  throw new CliError(
    `The log in ${dataDir} is that of ${owner}, and the configuration is that of ${id}. Start it with the configuration of ${owner}, or give ${id} its own dataDir.`,
    exitCodes.refused,
  );
}

async function openFrame(config: ReplicaConfig, context: ServeContext, log: LogStore | null): Promise<Frame> {
  const events = new ReplicaEvents(log?.identity.member ?? memberName(config.id, 0));
  // Before anything can happen: the trace is of no use if its beginning is missing.
  if (context.onEvent !== null) events.subscribe(context.onEvent, 'all');
  events.operation({ name: 'ReplicaStarted', pid: process.pid });
  const tracker = new RecoveryTracker({
    nowMs: () => systemClock.nowMs(),
    logger: context.logger,
    onEvent: (event) => events.operation(event),
  });
  const transport = await openTransport(config, context, (peer, connected) =>
    events.operation({ name: connected ? 'PeerConnected' : 'PeerLost', peer }),
  );
  if (log !== null) transport.become(log.identity.member, log.identity.cluster);
  const frame: Frame = {
    config,
    context,
    transport,
    events,
    tracker,
    door: createServiceDoor(() => frame.joining?.message ?? 'the replica is starting'),
    sessions: createSessionsDoor(() => frame.joining?.message ?? 'the replica is starting'),
    running: null,
    joining: null,
    stopping: false,
  };
  return frame;
}

/** Never rejects: what goes wrong after the admission ends the process, and the next life joins again. */
async function join(frame: Frame): Promise<void> {
  const { config, context, transport, tracker } = frame;
  const self = config.peers.find(({ id }) => id === config.id);
  if (self === undefined) throw new Error(`${config.id} is not among its own peers`);
  const joining = new Joining({
    self: config.id,
    address: addressOf(self),
    peers: config.peers.map(({ id }) => id).filter((id) => id !== config.id),
    transport,
    timers: systemClock,
    onMessage: (message) => context.logger.warn({ message }, 'joining'),
  });
  frame.joining = joining;
  transport.onControl((from, message) => joining.onControl(from, message));
  try {
    const found = await inspectDatabase(placesOf(config.dataDir), null);
    tracker.begin(causeBeforeAdmission(found.kind === 'usable'), 'joining');
    const founding = watchForFounding(config, () => joining.stop());
    const admission = await joining.run();
    const log = await founding.stop();
    if (frame.stopping) await log?.close();
    else if (log !== null) await becomeReplica(frame, log, null);
    else if (admission !== null) await become(frame, admission);
  } catch (error) {
    context.onFatal(error instanceof Error ? error : new Error(String(error)));
  }
}

/** "barista init" may be run while this process waits to be let in somewhere: then the log is suddenly there. */
function watchForFounding(config: ReplicaConfig, onFound: () => void): { stop(): Promise<LogStore | null> } {
  let found: LogStore | null = null;
  let looking: Promise<void> = Promise.resolve();
  let stopped = false;
  const look = async (): Promise<void> => {
    try {
      found ??= await openLog(config);
    } catch {
      // It is not there, or just being made; what is wrong with it shows when the replica is started.
    }
    if (found !== null && !stopped) onFound();
  };
  const timer = setInterval(() => {
    looking = looking.then(() => (found === null && !stopped ? look() : undefined));
  }, lookForLogMs);
  return {
    async stop() {
      stopped = true;
      clearInterval(timer);
      await looking;
      return found;
    },
  };
}

async function become(frame: Frame, admission: Admission): Promise<void> {
  const { config, context } = frame;
  const { member, cluster, configuration, purgedTo } = admission;
  context.logger.info({ member, cluster, version: configuration.version, purgedTo }, 'admitted');
  const found = await inspectDatabase(placesOf(config.dataDir), cluster);
  const cause = causeOf(admission, found.kind === 'usable');
  // What its database holds is told to the core when that is up (Restored), and the log begins there.
  const identity = { cluster, member };
  const base = 0 as Slot;
  const log = await createLog(config, { identity, configuration, base, promised: ballotNone });
  await becomeReplica(frame, log, { cause, purgedTo });
}

function openTransport(
  config: ReplicaConfig,
  { logger, onFatal, peerTls = null }: ServeContext,
  onPeer: (peer: ReplicaId, connected: boolean) => void,
): Promise<WsTransport> {
  const up = new Set<ReplicaId>();
  return createWsTransport({
    group: config.group,
    id: config.id,
    peers: config.peers.map((peer) => ({ replica: peer.id, address: addressOf(peer) })),
    listen: config.peerListen,
    secret: config.clusterSecret,
    tls: peerTls,
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

/** Its log is damaged: it shows itself and why, and does nothing else. What it might vote could contradict what it has voted. */
function refusingReplica(
  config: ReplicaConfig,
  { logger }: ServeContext,
  error: LogStoreError,
): ServedReplica {
  logger.fatal({ err: error }, 'the log is damaged: this replica does not vote, apply or serve');
  // It has no links to break; those faults are for its next life, and the demo need not ask again.
  let faults: readonly LinkFault[] = [];
  const status = statusWithoutLog(config, {
    state: 'logCorrupt',
    message:
      `${error.message}. It has not been read as data. Move the log away (dataDir/log) and start this replica again: ` +
      'it joins its group under a new incarnation.',
    recovery: null,
    connected: [],
    versionOf: () => null,
    faults: [],
    clients: 0,
  });
  return {
    status: () => ({ ...status, faults }),
    measures: () => ({
      replica: noReplicaMeasures,
      gateway: noGatewayMeasures,
      thrift: null,
      peers: noPeerTraffic,
    }),
    subscribe: () => () => {},
    setFaults: (wanted, heals) => {
      const others = faults.filter(({ to }) => !heals && wanted.every((fault) => fault.to !== to));
      faults = [...others, ...wanted];
    },
    admin: adminOf(
      () => null,
      () => status.message ?? '',
    ),
    readSlot: () => Promise.resolve(unreadable(status.message ?? '')),
    stop: () => Promise.resolve(),
  };
}
