/**
 * `barista serve`: one replica in this process, from its configuration to its end.
 *
 * Responsible for: logging, the HTTP gateway and the trace file around a replica, and for when it stops: on SIGTERM or SIGINT, and when the
 * demo that started it is gone. How a replica is put together is start-replica.ts's business.
 * Invariants: stops once, gateways first; if stopping takes too long the process ends all the same (a replica survives a crash).
 */
import { join } from 'node:path';
import { type Logger, pino } from 'pino';
import { openSyncTraceFile } from '../adapters/trace-file/sync-trace-file.ts';
import { openTraceFile, type TraceFile } from '../adapters/trace-file/trace-file.ts';
import type { TraceEvent } from '../api/events.ts';
import type { Measures } from '../api/measures.ts';
import type { PeerTls } from '../adapters/ws-transport/peer-tls.ts';
import { type HttpGateway, type HttpReplica, startHttpGateway } from '../gateways/http/http-gateway.ts';
import { createMetrics, type LatencyObserver, type Metrics } from '../gateways/http/metrics.ts';
import { createOperatorAccess } from '../gateways/http/operator-access.ts';
import { isLoopbackName } from '../gateways/http/request-guard.ts';
import { type ReplicaConfig, loadReplicaConfig } from '../config/replica-config.ts';
import { untilAskedToStop } from './asked-to-stop.ts';
import { buildInfo } from './build-info.ts';
import { type CertificateFiles, openCertificateFiles } from './certificate-files.ts';
import { CliError, exitCodes, type ExitCode } from './errors.ts';
import { wordsOf } from './failure-words.ts';
import { letHeapGrow } from './heap-growth.ts';
import { operatorTokens } from './operator-tokens.ts';
import { watchStandstill } from './standstill.ts';

/** A replica that is asked to stop has ended by then. */
export const stopMsMax = 10_000;

export interface ServedReplica extends HttpReplica {
  measures(): Measures;
  stop(): Promise<void>;
}

export interface ServeContext {
  readonly logger: Logger;
  readonly latencies: LatencyObserver;
  /** To be given every event, from the first; null: nobody wants them. */
  readonly onEvent: ((event: TraceEvent) => void) | null;
  /** Null: peers are spoken to without TLS. */
  readonly peerTls?: PeerTls | null;
  /** The replica cannot go on: the process ends at once, as in a crash. */
  readonly onFatal: (error: Error) => void;
}

export type StartReplica = (config: ReplicaConfig, context: ServeContext) => Promise<ServedReplica>;

/** Only a defect is logged with its stack. */
function loggedError(error: Error): object {
  const logged = pino.stdSerializers.err(error);
  return wordsOf(error).kind === 'defect' ? logged : { ...logged, stack: undefined };
}

/** Resolves when the replica has stopped because it was asked to. */
export async function serve(configFile: string, start: StartReplica): Promise<ExitCode> {
  letHeapGrow();
  const config = loadReplicaConfig(configFile);
  const logger = pino(
    { name: config.id, level: config.logLevel, serializers: { err: loggedError } },
    pino.destination({ dest: 1, sync: true }),
  );
  const onFatal = (error: Error): void => {
    logger.fatal({ err: error }, 'the replica cannot go on');
    process.exit(exitCodes.failed);
  };
  // From here on, so that a replica that is asked to stop while it starts does stop.
  const asked = untilAskedToStop();
  let replica: ServedReplica | null = null;
  const started = (): ServedReplica => {
    if (replica === null) throw new Error('the replica is starting');
    return replica;
  };
  const measures = (): Measures => started().measures();
  const metrics = createMetrics(() => served(started()).status(), { measures, build: buildInfo() });
  const stopWatching = watchStandstill(logger, metrics.stoodStill);
  let trace: TraceFile | null = null;
  let certificates: CertificateFiles | null = null;
  let gateway: HttpGateway | null = null;
  const stop = async (): Promise<void> => {
    const timer = setTimeout(() => {
      logger.error('stopping takes too long; ending as in a crash');
      // An exit would wait for what a disk does not answer.
      process.kill(process.pid, 'SIGKILL');
    }, stopMsMax);
    await gateway?.close();
    await replica?.stop();
    // Last, so that it has what happened while stopping.
    await trace?.close();
    certificates?.close();
    stopWatching();
    clearTimeout(timer);
  };
  /** The replica does not know what became of its events, nor what certificates are shown for it. */
  const served = (inner: HttpReplica): HttpReplica => ({
    ...inner,
    status: () => {
      const status = inner.status();
      const droppedEvents = (gateway?.droppedEvents() ?? 0) + (trace?.dropped ?? 0);
      const counters = { ...status.counters, droppedEvents };
      return { ...status, certificates: certificates?.status() ?? [], counters };
    },
  });
  try {
    const files = await openCertificateFiles(config, logger);
    certificates = files;
    // As operators and supervisors tell a process that its files are new.
    process.on('SIGHUP', () => void files.look());
    trace = await openTrace(config, logger);
    const written = trace;
    const onEvent = written === null ? null : (event: TraceEvent): void => written.write(event);
    const { latencies } = metrics;
    // Whoever is gone already may have a successor, which wants the same ports.
    const before = await Promise.race([asked, Promise.resolve(null)]);
    if (before !== null) {
      logger.info({ reason: before }, 'not started');
      await stop();
      return exitCodes.ok;
    }
    replica = await start(config, { logger, latencies, onEvent, onFatal, peerTls: files.peers });
    gateway = await openGateway(config, { replica: served(replica), metrics, files, logger });
    const { host, port } = config.pgwire;
    logger.info({ group: config.group, pgwire: `${host}:${port}`, pid: process.pid }, 'replica started');
    const reason = await asked;
    logger.info({ reason }, 'stopping');
  } catch (error) {
    await stop();
    throw describeStart(error, config);
  }
  await stop();
  logger.info('stopped');
  return exitCodes.ok;
}

interface GatewayParts {
  readonly replica: HttpReplica;
  readonly metrics: Metrics;
  readonly files: CertificateFiles;
  readonly logger: Logger;
}

function openGateway(
  config: ReplicaConfig,
  { replica, metrics, files, logger }: GatewayParts,
): Promise<HttpGateway> {
  const { http, peers, id, faults: faultsAllowed } = config;
  const problem = (text: string): void =>
    logger.error({ problem: text }, 'the token of operators cannot be read, and is not taken');
  const onWrong = (from: string | undefined): void => logger.warn({ from }, 'a wrong token was shown');
  if (!isLoopbackName(http.host) && files.http === null)
    logger.warn('http is not on loopback, and has no TLS (http.tls): tokens can be overheard');
  const own = peers.filter((peer) => peer.id === id).flatMap(({ host, pgwire }) => [host, pgwire.host]);
  return startHttpGateway({
    listen: { ...http, names: [...http.names, ...own].map((name) => name.toLowerCase()) },
    tls: files.http,
    replica,
    metrics,
    faultsAllowed,
    access: createOperatorAccess({ tokens: operatorTokens(config, problem), onWrong }),
    open: http.open,
    logger,
  });
}

async function openTrace(config: ReplicaConfig, logger: Logger): Promise<TraceFile | null> {
  if (!config.trace.file) return null;
  const open = config.protocol === 'multi-paxos' ? openTraceFile : openSyncTraceFile;
  return open({
    dir: join(config.dataDir, 'trace'),
    run: `${process.pid}-${Date.now()}`,
    fileBytesMax: config.trace.fileBytesMax,
    filesMax: config.trace.filesMax,
    onError: (error) => logger.error({ err: error }, 'the trace cannot be written; events are dropped'),
  });
}

const portKeys = [
  ['pgwire', (config: ReplicaConfig) => config.pgwire.port],
  ['peerListen', (config: ReplicaConfig) => config.peerListen.port],
  ['http', (config: ReplicaConfig) => config.http.port],
] as const;

/** Names the key to change when a port cannot be had. */
function describeStart(error: unknown, config: ReplicaConfig): unknown {
  const { code, syscall, port } = error as {
    readonly code?: string;
    readonly syscall?: string;
    readonly port?: number;
  };
  // The gateway for SQL clients says itself which address it was.
  if (syscall !== 'listen' && code?.startsWith('EADDR') === true) {
    return new CliError((error as Error).message, exitCodes.failed, { cause: error });
  }
  if (code === 'tlsFiles') {
    return new CliError(`pgwire.tls: ${(error as Error).message}`, exitCodes.failed, { cause: error });
  }
  if (syscall !== 'listen') return error;
  const key = portKeys.find(([, read]) => read(config) === port)?.[0];
  const why = code === 'EADDRINUSE' ? 'is in use by another program' : `cannot be used (${code ?? '?'})`;
  return new CliError(
    `Port ${port ?? '?'} ${why}: change ${key === undefined ? 'it' : `${key}.port`}.`,
    exitCodes.failed,
    {
      cause: error,
    },
  );
}
