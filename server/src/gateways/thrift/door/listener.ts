/**
 * The Thrift gateway of one replica: the published API (clients/barista.thrift) over the binary protocol, buffered or framed, in the clear or behind TLS, all on one port.
 *
 * Responsible for: the listening socket, telling TLS from the rest, what is measured, and ending. Whatever SQL means is the SQL gateway's.
 */
import { createServer, type Socket } from 'node:net';
import type { ThriftMeasures } from '../../../api/measures.ts';
import type { SharedSessions } from '../../../ports/statement-sessions.ts';
import { listenOn } from '../../listen.ts';
import { type ClientLink, plainLink } from '../../pgwire/login/client-link.ts';
import { ClientTls } from '../../pgwire/tls/client-tls.ts';
import type { TlsFiles } from '../../pgwire/tls/tls-identity.ts';
import { defaultLimits, type ThriftLimits } from '../limits.ts';
import { Budget } from '../sql/budget.ts';
import { PgwireSessions } from '../sql/pgwire-sessions.ts';
import { SharedThriftSessions } from '../sql/shared-thrift-sessions.ts';
import type { SqlSessions } from '../sql/sql-sessions.ts';
import { ThriftConnection } from './connection.ts';
import { Crowd } from './crowd.ts';
import { MeasuredCalls } from './measured-calls.ts';

export interface ThriftListenerOptions {
  readonly host: string;
  /** 0: any free port; `port` of the listener tells. */
  readonly port: number;
  /** To this replica's SQL gateway (listener.ts there). */
  readonly connectAs: (link: ClientLink) => Promise<Socket>;
  readonly plaintextPasswords: boolean;
  /** Where statements travel: sessions that exist at every replica, and what the replicas have in common that make handles of them. */
  readonly shared?: { readonly sessions: SharedSessions; readonly clusterSecret: string } | undefined;
  /** Clients may begin with TLS. */
  readonly tls?: TlsFiles | undefined;
  readonly logger: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
  readonly limits?: Partial<ThriftLimits>;
}

export interface ThriftListener {
  readonly port: number;
  measures(): ThriftMeasures;
  /** Ends every client and stops listening. */
  close(): Promise<void>;
}

/** The first byte of a TLS handshake, and of no message of Thrift. As the first of a frame it would be one of 352 MiB. */
const handshakeType = 0x16;
const keepAliveDelayMs = 60_000;

/** @throws Error that says what is wrong with which file of `tls` or names the address if it cannot be listened on */
export async function createThriftListener(options: ThriftListenerOptions): Promise<ThriftListener> {
  const limits: ThriftLimits = { ...defaultLimits, ...options.limits };
  const { logger, connectAs, plaintextPasswords } = options;
  const tls = options.tls === undefined ? null : await openTls(options.tls, limits, logger);
  const crowd = new Crowd(limits);
  const answers = new Budget(limits.resultBytesInAllMax);
  const logins = { connectAs, plaintextPasswords, limits, budget: answers };
  const sessions: SqlSessions =
    options.shared === undefined
      ? new PgwireSessions(logins)
      : new SharedThriftSessions({ ...logins, ...options.shared });
  const calls = new MeasuredCalls();
  const sockets = new Set<Socket>();

  function serve(socket: Socket, link: ClientLink): void {
    const { address } = link;
    const onBroken = (why: string): void => {
      calls.broken += 1;
      logger.info({ address, why }, 'a connection of a Thrift client is ended');
    };
    const onFailure = (error: unknown): void =>
      logger.warn({ error, address }, 'a request of a Thrift client failed');
    const onAnswered = calls.note.bind(calls);
    void new ThriftConnection(socket, link, {
      sessions,
      limits,
      crowd,
      answers,
      onAnswered,
      onBroken,
      onFailure,
    });
  }

  const server = createServer({ noDelay: true, keepAlive: true, keepAliveInitialDelay: keepAliveDelayMs });
  server.on('connection', (raw) => {
    const link = plainLink(raw);
    sockets.add(raw);
    raw.on('close', () => sockets.delete(raw));
    raw.on('error', () => raw.destroy());
    if (tls === null) serve(raw, link);
    else {
      const place = { address: link.address, end: () => raw.destroy() };
      crowd.enter(place);
      const timer = setTimeout(place.end, limits.strangerIdleMs).unref();
      raw.on('close', () => {
        clearTimeout(timer);
        crowd.leave(place);
      });
      void tellApart(raw, link, tls, (socket, known) => {
        clearTimeout(timer);
        crowd.leave(place);
        serve(socket, known);
      });
    }
  });
  const port = await listenOn(server, options).catch((error: unknown) => {
    tls?.close();
    throw error;
  });
  return {
    port,
    measures: () =>
      calls.measures({ connections: crowd.members.size + crowd.strangers, sessions: sessions.size }),
    async close() {
      tls?.close();
      const closed = new Promise<void>((resolve) => {
        server.close(() => resolve());
      });
      sessions.close();
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function openTls(
  files: TlsFiles,
  limits: ThriftLimits,
  logger: ThriftListenerOptions['logger'],
): Promise<ClientTls> {
  const {
    handshakeTimeoutMs,
    certificateLookMs: lookMs,
    handshakesAtOnce: burst,
    handshakeEveryMs: everyMs,
  } = limits;
  return ClientTls.open({ files, lookMs, handshakeTimeoutMs, pace: { burst, everyMs }, logger });
}

/** By the first byte. Never rejects. */
async function tellApart(
  raw: Socket,
  link: ClientLink,
  tls: ClientTls,
  serve: (socket: Socket, link: ClientLink) => void,
): Promise<void> {
  const first = await firstByte(raw);
  if (first === null) raw.destroy();
  else if (first !== handshakeType) serve(raw, link);
  else {
    const encrypted = await tls.accept(raw);
    if (encrypted === null) return;
    const { socket, encryption } = encrypted;
    socket.on('error', () => socket.destroy());
    socket.on('close', () => raw.destroy());
    // The SQL gateway is not to bind a proof to a certificate that it has not shown itself.
    serve(socket, { ...link, encryption: { ...encryption, endpoint: null } });
  }
}

/** It stays in the socket, which is paused. */
function firstByte(socket: Socket): Promise<number | null> {
  return new Promise((resolve) => {
    const onGone = (): void => resolve(null);
    socket.once('close', onGone);
    socket.once('data', (chunk: Buffer) => {
      socket.off('close', onGone);
      socket.pause();
      socket.unshift(chunk);
      resolve(chunk[0] ?? null);
    });
  });
}
