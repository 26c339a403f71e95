/**
 * The PostgreSQL front end of one replica: accepts clients and gives each to a session of its own, or to the leader.
 *
 * Responsible for: the listening socket, start-up, who may come in, ending clients when service moves. Does not run SQL.
 */
import { connect, createServer, type Server, type Socket } from 'node:net';
import type { Agreement, Service } from '../../ports/agreement.ts';
import type { SessionSql } from '../../ports/session-sql.ts';
import { errorResponse, type GatewayError } from './codec/backend-messages.ts';
import { ProtocolViolation } from './codec/protocol-violation.ts';
import {
  type StartupMessage,
  startupForBackend,
  startupForTunnel,
  startupParameter,
} from './codec/startup.ts';
import * as errors from './errors.ts';
import { awaitService, type Placement } from './front/await-service.ts';
import { createCancelRegistry, forwardCancel } from './front/cancel-registry.ts';
import { awaitFirstPacket } from './front/first-packet.ts';
import { passAuthentication } from './front/handshake.ts';
import { startTunnel } from './front/tunnel.ts';
import { defaultLimits, type PgwireLimits } from './limits.ts';
import type { Counter } from './session/context.ts';
import { mentionsRequestId } from './session/request.ts';
import { startSession } from './session/session.ts';
import { createSqlParser, type SqlParser } from './sql/parse-sql.ts';

export interface PgwireLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface PgwireListenerOptions {
  readonly host: string;
  /** 0: any free port; `port` of the listener tells. */
  readonly port: number;
  readonly agreement: Agreement;
  /** null while PostgreSQL is down. */
  readonly sessionSql: () => SessionSql | null;
  readonly logger: PgwireLogger;
  readonly limits?: Partial<PgwireLimits>;
  /** A transaction was agreed on and committed, a read was answered, or a read was run again because it wrote. */
  readonly onCounters?: (counter: Counter) => void;
}

export interface PgwireListener {
  readonly port: number;
  readonly clients: number;
  /** Ends every client (57P01) and stops listening. */
  close(): Promise<void>;
}

/** Something that is ended when service moves or the listener closes. */
interface Served {
  readonly done: Promise<void>;
  readonly onService: (service: Service) => void;
  readonly end: (error: GatewayError) => void;
}

interface Front extends PgwireListenerOptions {
  readonly bounds: PgwireLimits;
  readonly parse: SqlParser;
  readonly served: Set<Served>;
  readonly cancels: ReturnType<typeof createCancelRegistry>;
}

/** @throws Error that names the address if it is in use. */
export const createPgwireListener = async (options: PgwireListenerOptions): Promise<PgwireListener> => {
  const bounds = { ...defaultLimits, ...options.limits };
  const parse = await createSqlParser({ cacheBytesMax: bounds.parseCacheBytesMax });
  const front: Front = { ...options, bounds, parse, served: new Set(), cancels: createCancelRegistry() };
  const sockets = new Set<Socket>();
  const server = createServer({ allowHalfOpen: true, noDelay: true }, (client) => {
    sockets.add(client);
    client.on('close', () => sockets.delete(client));
    client.on('error', () => client.destroy());
    void accept(front, client, sockets.size > bounds.clientsMax);
  });
  await listen(server, options);
  const stopListening = options.agreement.onServiceChange((service) => {
    for (const one of front.served) one.onService(service);
  });
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : options.port,
    get clients() {
      return front.served.size;
    },
    async close() {
      stopListening();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      for (const one of front.served) one.end(errors.shuttingDown);
      await Promise.all([...front.served].map((one) => one.done));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
};

const listen = (server: Server, at: { readonly host: string; readonly port: number }): Promise<void> =>
  new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const message =
        error.code === 'EADDRINUSE'
          ? `port ${at.port} on ${at.host} is in use by another program: choose another pgwire port`
          : `cannot listen on ${at.host}:${at.port}: ${error.message}`;
      reject(Object.assign(new Error(message, { cause: error }), { code: error.code }));
    });
    server.listen(at.port, at.host, () => resolve());
  });

const refuse = (client: Socket, error: GatewayError): void => {
  client.end(errorResponse('FATAL', error));
  const linger = setTimeout(() => client.destroy(), 5_000);
  client.once('close', () => clearTimeout(linger));
  client.resume();
};

const accept = async (front: Front, client: Socket, tooMany: boolean): Promise<void> => {
  const timer = setTimeout(() => refuse(client, errors.startupTimedOut), front.bounds.startupTimeoutMs);
  try {
    const opening = await awaitFirstPacket(client);
    if (opening === null) client.destroy();
    else if (opening.packet.kind === 'cancel') {
      client.destroy();
      cancel(front, opening.packet.key, opening.packet.forwarded);
    } else if (tooMany) refuse(client, errors.tooManyClients);
    else {
      if (opening.rest.length > 0) client.unshift(opening.rest);
      await place(front, client, opening.packet, () => clearTimeout(timer));
    }
  } catch (error) {
    const known = error instanceof ProtocolViolation;
    if (!known) front.logger.warn({ error }, 'a client could not be served');
    refuse(client, errors.protocolViolation(known ? error.message : 'the connection failed'));
  } finally {
    clearTimeout(timer);
  }
};

const cancel = (front: Front, key: Buffer, forwarded: boolean): void => {
  if (front.cancels.cancel(key) || forwarded) return;
  const service = front.agreement.service();
  if (service.kind === 'at') void forwardCancel(service, key);
};

const admission = (startup: StartupMessage, reserved: readonly string[]): GatewayError | null => {
  const replication = startupParameter(startup, 'replication')?.toLowerCase();
  if (replication !== undefined && !['false', 'off', 'no', '0'].includes(replication))
    return errors.replicationRefused;
  const user = startupParameter(startup, 'user');
  if (user === undefined || user === '') {
    return { sqlState: '28000', message: 'no PostgreSQL user name specified in startup packet' };
  }
  return reserved.includes(user) ? errors.reservedUser(user) : null;
};

const place = async (
  front: Front,
  client: Socket,
  startup: StartupMessage,
  onStarted: () => void,
): Promise<void> => {
  const placement = await awaitService({
    agreement: front.agreement,
    sessionSql: front.sessionSql,
    tunnelled: startup.tunnelled,
    waitMs: front.bounds.leaderWaitMs,
    isGone: () => client.destroyed,
  });
  if (client.destroyed) return;
  const reserved = placement.kind === 'here' ? placement.sessionSql.reservedUsers : [];
  const refused = admission(startup, reserved);
  if (refused !== null) refuse(client, refused);
  else if (placement.kind === 'nowhere') refuse(client, placement.error);
  else if (placement.kind === 'at') {
    onStarted();
    await serve(
      front,
      startTunnel({
        client,
        leader: placement,
        startup: startupForTunnel(startup),
        limits: front.bounds,
        agreement: front.agreement,
      }),
    );
  } else await openSession(front, client, startup, placement, onStarted);
};

const serve = async (front: Front, served: Served): Promise<void> => {
  front.served.add(served);
  try {
    await served.done;
  } finally {
    front.served.delete(served);
  }
};

const openSession = async (
  front: Front,
  client: Socket,
  startup: StartupMessage,
  placement: Extract<Placement, { kind: 'here' }>,
  onStarted: () => void,
): Promise<void> => {
  const { generation, sessionSql } = placement;
  const backend = connect({ path: sessionSql.socketPath });
  const outcome = await passAuthentication(
    client,
    backend,
    startupForBackend(startup, sessionSql.startupParameters),
  );
  onStarted();
  if (outcome.kind === 'clientGone') return;
  if (outcome.kind === 'refused') {
    client.end();
    return;
  }
  if (outcome.kind === 'failed') {
    refuse(client, outcome.error);
    return;
  }
  const session = startSession({
    client,
    backend,
    clientBytes: outcome.early,
    agreement: front.agreement,
    generation,
    sessionSql,
    parse: front.parse,
    limits: front.bounds,
    count: (counter) => front.onCounters?.(counter),
    takesDoubts: startup.takesDoubts,
    usesRequests: startup.parameters.some((pair) =>
      pair.some((text) => mentionsRequestId(Buffer.from(text))),
    ),
  });
  const key = outcome.backendKey;
  const forget = key === null ? () => {} : front.cancels.add(key, sessionSql.socketPath, session.cancels);
  const leads = (service: Service): boolean => service.kind === 'here' && service.generation === generation;
  if (!leads(front.agreement.service())) session.end(errors.notLeaderAnyMore);
  await serve(front, {
    done: session.done,
    end: session.end,
    onService(service) {
      if (!leads(service)) session.end(errors.notLeaderAnyMore);
    },
  });
  forget();
};
