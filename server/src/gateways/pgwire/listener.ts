/**
 * The SQL gateway of one replica: each client gets a PostgreSQL session of its own here, or is passed on to the leader.
 *
 * Responsible for: the listening socket, and ending clients when service moves or the replica stops. How a client comes in is in front/reception.ts.
 */
import { createServer, type Socket } from 'node:net';
import type { GatewayMeasures } from '../../api/measures.ts';
import type { LeftRunning } from '../../api/status.ts';
import type { ClientService } from '../../ports/client-service.ts';
import type { StatementSessions } from '../../ports/statement-sessions.ts';
import { listenOn } from '../listen.ts';
import * as errors from './errors.ts';
import { Admission } from './front/admission.ts';
import { LeftProcesses } from './front/left-processes.ts';
import { CancelRegistry } from './front/cancel-registry.ts';
import { receive } from './front/reception.ts';
import type { Front, ServedBackend } from './front/sessions.ts';
import { ToldErrors } from './front/told-errors.ts';
import { VouchedLinks } from './front/vouched-links.ts';
import { FunctionLooks } from './kept/function-looks.ts';
import { IdleWatch } from './kept/idle-watch.ts';
import { KeptBudgets } from './kept/kept-budget.ts';
import { Turns } from './kept/turns.ts';
import { ThreadShare } from './session/thread-share.ts';
import { type AccessRuleText, compileAccess } from './login/access-rules.ts';
import type { ClientLink } from './login/client-link.ts';
import { gatewayKeys } from './login/keys.ts';
import { defaultLimits, type PgwireLimits } from './limits.ts';
import { AnswerGate } from './session/answer-gate.ts';
import { LateWatch } from './session/late-watch.ts';
import { RequestDatabases } from './session/named/request-databases.ts';
import { ClientTls } from './tls/client-tls.ts';
import type { TlsFiles } from './tls/tls-identity.ts';

export interface PgwireLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface PgwireListenerOptions {
  readonly host: string;
  /** 0: any free port; `port` of the listener tells. */
  readonly port: number;
  readonly service: ClientService;
  /** Where statements are what travels: clients are served by these instead. */
  readonly statements?: StatementSessions | undefined;
  /** What gateways of one cluster have in common, and nobody else knows. */
  readonly clusterSecret: string;
  /** The first rule that matches a client counts. */
  readonly access: readonly AccessRuleText[];
  /** Clients may ask for TLS. */
  readonly tls?: TlsFiles | undefined;
  readonly logger: PgwireLogger;
  readonly limits?: Partial<PgwireLimits>;
}

export interface PgwireListener {
  readonly port: number;
  /** Clients that are logged in, here or through this replica at the leader. */
  readonly clients: number;
  /** Connections that are not logged in. */
  readonly strangers: number;
  /** How often answers had to wait until they could leave. */
  readonly answersHeld: number;
  measures(): GatewayMeasures;
  /** Whose session at this replica's primary has this process, or had it, and has left it running; null: no client's. */
  sessionOf(pid: number): Omit<ServedBackend, 'pid'> | null;
  leftRunning(): LeftRunning;
  /** A connection to itself for a client of another gateway of this process. @throws Error */
  connectAs(link: ClientLink): Promise<Socket>;
  /** Ends every client and stops listening. */
  close(): Promise<void>;
}

/** A dead client's connection is noticed some minutes later, though nothing is sent on it. */
const keepAliveDelayMs = 60_000;

function openTls(
  files: TlsFiles,
  { logger }: PgwireListenerOptions,
  limits: PgwireLimits,
): Promise<ClientTls> {
  const {
    handshakeTimeoutMs,
    certificateLookMs: lookMs,
    handshakesAtOnce: burst,
    handshakeEveryMs: everyMs,
  } = limits;
  return ClientTls.open({ files, lookMs, handshakeTimeoutMs, pace: { burst, everyMs }, logger });
}

/** @throws Error that says what is wrong with which file of `tls` or names the address if it cannot be listened on */
export async function createPgwireListener(options: PgwireListenerOptions): Promise<PgwireListener> {
  const limits = { ...defaultLimits, ...options.limits };
  const { service, logger } = options;
  const tls = options.tls === undefined ? null : await openTls(options.tls, options, limits);
  const left = new LeftProcesses({
    lingering: () => front.admission.lingering,
    door: () => service.door() ?? service.reads.standby(),
    lookMs: limits.lingeringLookMs,
    slowMs: limits.slowEntryMs,
    warn: (fields, message) => logger.warn(fields, message),
  });
  const front: Front = {
    service,
    statements: options.statements ?? null,
    info: (fields, message) => logger.info(fields, message),
    warn: (fields, message) => logger.warn(fields, message),
    access: compileAccess(options.access),
    keys: gatewayKeys(options.clusterSecret),
    tls,
    limits,
    admission: new Admission(limits, () => left.start()),
    left,
    cancels: new CancelRegistry(limits.cancelsMax, tls !== null),
    late: new LateWatch(service, limits.lateMs),
    requestDatabases: new RequestDatabases(service),
    moves: new Turns(limits.movesMax),
    share: new ThreadShare(),
    keptBudgets: new KeptBudgets(limits.keptBytesInAllMax),
    idleWatch: new IdleWatch(limits.idleLookMs),
    functionLooks: new FunctionLooks(
      (database, known) => service.lookAtFunctions(database, known, limits.functionsWaitMs),
      limits.functionsLookMs,
    ),
    vouched: new VouchedLinks(),
    sockets: new Set(),
    served: new Map(),
    told: new ToldErrors(),
    gate: new AnswerGate(service, 0),
    answersHeld: 0,
    repeats: { repeated: 0, notRepeated: 0 },
    readGate: null,
  };
  const sockets = {
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveDelayMs,
  };
  const server = createServer(sockets, (client) => void receive(front, client));
  const port = await listenOn(server, options).catch((error: unknown) => {
    tls?.close();
    throw error;
  });
  const stopListening = service.onServiceChange((now) => {
    for (const one of front.served.values()) one.onService(now);
  });
  return {
    port,
    get clients() {
      return front.admission.clients;
    },
    get strangers() {
      return front.admission.strangers;
    },
    get answersHeld() {
      return answersHeldBy(front);
    },
    measures: () => measuresOf(front),
    sessionOf(pid) {
      for (const { backend } of front.served.values())
        if (backend?.pid === pid) {
          const { role, database, address } = backend;
          return { role, database, address };
        }
      return left.ownerOf(pid);
    },
    leftRunning: () => left.report(),
    connectAs: (link) => front.vouched.connect({ host: options.host, port }, link),
    async close() {
      stopListening();
      left.stop();
      tls?.close();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      for (const one of front.served.values()) one.end(errors.shuttingDown, { atOnce: true });
      const beingServed = new Set<unknown>(front.served.keys());
      for (const socket of front.sockets) if (!beingServed.has(socket)) socket.destroy();
      await closed;
    },
  };
}

function answersHeldBy({ answersHeld, gate }: Front): number {
  return answersHeld + gate.holds;
}

function measuresOf(front: Front): GatewayMeasures {
  const sessions = { leader: 0, tunnel: 0, read: 0, statements: 0 };
  for (const { kind } of front.served.values()) sessions[kind] += 1;
  const { logins, sessions: ended } = front.told;
  return {
    sessions,
    loginsRefused: logins,
    sessionsEnded: ended,
    answersHeld: answersHeldBy(front),
    requestsRepeated: front.repeats.repeated,
    requestsNotRepeated: front.repeats.notRepeated,
  };
}
