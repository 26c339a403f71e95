/**
 * The SQL gateway of one replica: accepts clients and gives each to a session of its own here, or to the leader.
 *
 * Responsible for: the listening socket, who may come in, ending clients when service moves. Runs no SQL and reads none.
 */
import { createServer, type Socket } from 'node:net';
import type { ClientService, Service } from '../../ports/client-service.ts';
import { listenOn } from '../listen.ts';
import { errorResponse, type GatewayError } from './codec/backend-messages.ts';
import { ProtocolViolation } from './codec/protocol-violation.ts';
import { type StartupMessage, startupParameter } from './codec/startup.ts';
import * as errors from './errors.ts';
import { Admission, type Connection } from './front/admission.ts';
import { awaitService, type Placement } from './front/await-service.ts';
import { CancelRegistry } from './front/cancel-registry.ts';
import { awaitFirstPacket } from './front/first-packet.ts';
import { Tunnel } from './front/tunnel.ts';
import { defaultLimits, type PgwireLimits } from './limits.ts';
import { AnswerGate } from './session/answer-gate.ts';
import { closeWithWords } from './session/close-with-words.ts';
import { LateWatch } from './session/late-watch.ts';
import { Session } from './session/session.ts';

export interface PgwireLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface PgwireListenerOptions {
  readonly host: string;
  /** 0: any free port; `port` of the listener tells. */
  readonly port: number;
  readonly service: ClientService;
  readonly logger: PgwireLogger;
  readonly limits?: Partial<PgwireLimits>;
}

/** What a session is running now, for people to see. */
export interface RunningQuery {
  /** Of PostgreSQL's process. */
  readonly pid: number;
  /** The transaction's id, where it is known. */
  readonly xid: bigint | null;
  /** Of the simple protocol; shortened. */
  readonly sql: string;
}

export interface PgwireListener {
  readonly port: number;
  /** Clients that are logged in, here or through this replica at the leader. */
  readonly clients: number;
  /** Connections that are not logged in. */
  readonly strangers: number;
  /** How often answers had to wait until they could leave. */
  readonly answersHeld: number;
  running(): readonly RunningQuery[];
  /** Ends every client and stops listening. */
  close(): Promise<void>;
}

/** A client's connection that is being served: here, or by the leader. */
interface Served {
  readonly client: Socket;
  readonly session: Session | null;
  onService(service: Service): void;
  end(error: GatewayError, options?: { readonly atOnce?: boolean }): void;
}

interface Front {
  readonly service: ClientService;
  readonly logger: PgwireLogger;
  readonly limits: PgwireLimits;
  readonly admission: Admission;
  readonly cancels: CancelRegistry;
  readonly late: LateWatch;
  readonly sockets: Set<Socket>;
  readonly served: Set<Served>;
  gate: AnswerGate;
  answersHeld: number;
}

/** A dead client's connection is noticed some minutes later, though nothing is sent on it. */
const keepAliveDelayMs = 60_000;
const sqlCharsShown = 400;

/** @throws Error that names the address if it cannot be listened on */
export async function createPgwireListener(options: PgwireListenerOptions): Promise<PgwireListener> {
  const limits = { ...defaultLimits, ...options.limits };
  const { service, logger } = options;
  const front: Front = {
    service,
    logger,
    limits,
    admission: new Admission(limits),
    cancels: new CancelRegistry(limits.cancelsMax),
    late: new LateWatch(service, limits.lateMs),
    sockets: new Set(),
    served: new Set(),
    gate: new AnswerGate(service, 0),
    answersHeld: 0,
  };
  const sockets = {
    allowHalfOpen: true,
    noDelay: true,
    keepAlive: true,
    keepAliveInitialDelay: keepAliveDelayMs,
  };
  const server = createServer(sockets, (client) => void accept(front, client));
  const port = await listenOn(server, options);
  const stopListening = service.onServiceChange((now) => {
    for (const one of front.served) one.onService(now);
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
      return front.answersHeld + front.gate.holds;
    },
    running: () =>
      [...front.served].flatMap(({ session }) => (session === null ? [] : runningQuery(session))),
    async close() {
      stopListening();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      for (const one of front.served) one.end(errors.shuttingDown, { atOnce: true });
      const beingServed = new Set([...front.served].map(({ client }) => client));
      for (const socket of front.sockets) if (!beingServed.has(socket)) socket.destroy();
      await closed;
    },
  };
}

function runningQuery({ pid, tracker, known }: Session): RunningQuery[] {
  const sql = tracker.loneText;
  if (sql === null) return [];
  const xid = known.doubt?.kind === 'transaction' ? known.doubt.transaction.xid : null;
  return [{ pid, xid, sql: sql.slice(0, sqlCharsShown) }];
}

async function accept(front: Front, client: Socket): Promise<void> {
  const { admission, sockets, limits, logger } = front;
  function refuse(error: GatewayError): void {
    closeWithWords(client, [errorResponse('FATAL', error)], limits.lastWordsMs);
  }
  sockets.add(client);
  const connection = admission.open((error) => {
    const served = [...front.served].find((one) => one.client === client);
    if (served === undefined) refuse(error);
    else served.end(error);
  });
  client.on('close', () => {
    sockets.delete(client);
    connection.closed();
  });
  client.on('error', () => client.destroy());
  try {
    const opening = await awaitFirstPacket(client);
    if (opening === null) client.destroy();
    else if (opening.kind === 'cancel') {
      client.destroy();
      cancel(front, opening.key, opening.forwarded);
    } else {
      const error = await place(front, { client, startup: opening, connection });
      if (error !== null) refuse(error);
    }
  } catch (error) {
    const known = error instanceof ProtocolViolation;
    if (!known) logger.warn({ error }, 'a client could not be served');
    refuse(known ? errors.protocolViolation(error.message) : errors.internalError(error));
  }
}

function cancel({ cancels, service }: Front, key: Buffer, forwarded: boolean): void {
  if (cancels.cancel(key) || forwarded) return;
  const now = service.service();
  if (now.kind === 'at') cancels.forward(now, key);
}

interface Arrival {
  readonly client: Socket;
  readonly startup: StartupMessage;
  readonly connection: Connection;
}

/** Returns why the client cannot be served, or null. */
async function place(front: Front, arrival: Arrival): Promise<GatewayError | null> {
  const { client, startup, connection } = arrival;
  const placement = await awaitService({
    service: front.service,
    tunnelled: startup.tunnelled,
    waitMs: front.limits.leaderWaitMs,
    isGone: () => client.destroyed,
  });
  if (client.destroyed) return null;
  if (placement.kind === 'nowhere') return placement.error;
  const reserved = placement.kind === 'here' ? placement.door.reservedUsers : [];
  const refused = admissible(startup, reserved) ?? (await connection.logIn());
  if (refused !== null || client.destroyed) return refused;
  if (placement.kind === 'here') openSession(front, arrival, placement);
  else openTunnel(front, arrival, placement);
  return null;
}

function admissible(startup: StartupMessage, reserved: readonly string[]): GatewayError | null {
  const replication = startupParameter(startup, 'replication')?.toLowerCase();
  if (replication !== undefined && !['false', 'off', 'no', '0'].includes(replication)) {
    return errors.replicationRefused;
  }
  const user = startupParameter(startup, 'user');
  if (user === undefined || user === '') return errors.noUserName;
  return reserved.includes(user) ? errors.reservedUser(user) : null;
}

function openTunnel(front: Front, arrival: Arrival, leader: Extract<Service, { kind: 'at' }>): void {
  const { client, startup, connection } = arrival;
  const tunnel = new Tunnel({
    client,
    leader,
    startup,
    limits: front.limits,
    service: front.service,
    onAuthenticated: () => connection.becomeClient(),
  });
  serve(front, {
    client,
    session: null,
    onService: (service) => tunnel.onService(service),
    end: (error, options) => tunnel.end(error, options),
  });
}

function openSession(front: Front, arrival: Arrival, placement: Extract<Placement, { kind: 'here' }>): void {
  const { client, startup, connection } = arrival;
  const { generation, door } = placement;
  const { socketPath } = door;
  let forgetKey = (): void => {};
  const session = new Session({
    client,
    socketPath,
    startup,
    service: front.service,
    gate: gateOf(front, generation),
    limits: front.limits,
    onAuthenticated: () => connection.becomeClient(),
    onKey: (key) => {
      forgetKey = front.cancels.add(key, { socketPath, isOwed: () => session.tracker.outstanding });
    },
  });
  const stopWatching = front.late.watch(session, generation);
  client.on('close', () => {
    forgetKey();
    stopWatching();
  });
  function onService(service: Service): void {
    if (service.kind !== 'here' || service.generation !== generation) session.end(errors.notLeaderAnyMore);
  }
  serve(front, { client, session, onService, end: (error, options) => session.end(error, options) });
  // It may have moved while the client waited for its turn.
  onService(front.service.service());
}

/** All sessions of one generation share a gate. */
function gateOf(front: Front, generation: number): AnswerGate {
  if (front.gate.generation !== generation) {
    front.answersHeld += front.gate.holds;
    front.gate = new AnswerGate(front.service, generation);
  }
  return front.gate;
}

function serve(front: Front, served: Served): void {
  front.served.add(served);
  served.client.on('close', () => front.served.delete(served));
  if (served.client.destroyed) front.served.delete(served);
}
