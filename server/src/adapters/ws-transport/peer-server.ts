/**
 * The peers' port below WebSockets: without TLS, with it, or with both while a group changes from the one to the other.
 *
 * Responsible for: which of the two a connection speaks, certificates that change while it listens, a bound on connections that ask for nothing, and ends. Judges nobody: what a certificate has to name is for peer-listener.ts.
 */
import { createServer as createPlainServer, type Server as HttpServer } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import { createServer, type Server, type Socket } from 'node:net';
import { type OnUpgrade, onUpgrade, readByTurns } from '../http-turns.ts';
import type { TransportLimits } from './limits.ts';
import { listenerOptions, type PeerTls } from './peer-tls.ts';

export interface PeerServerOptions {
  /** Null: without TLS. */
  readonly tls: PeerTls | null;
  readonly limits: Pick<TransportLimits, 'handshakeMs' | 'strangersMax'>;
  readonly onUpgrade: OnUpgrade;
  readonly onRefused: (address: string, reason: string) => void;
}

export interface PeerServer {
  /** To be listened on. */
  readonly server: Server;
  readonly close: () => Promise<void>;
}

/** The first byte of a TLS handshake, and of no request in HTTP. */
const tlsHandshake = 0x16;
/** How often it is looked who has not ended his request in time. By itself Node.js does so every half minute. */
const lookEveryMs = 1000;

export function openPeerServer(given: PeerServerOptions): PeerServer {
  const strangers = new Strangers(given.limits.strangersMax);
  const upgrade: OnUpgrade = (request, stream, head) => {
    strangers.leave(request.socket);
    given.onUpgrade(request, stream, head);
  };
  const options = { ...given, onUpgrade: upgrade };
  const opened = open(options);
  opened.server.on('connection', (socket: Socket) => strangers.come(socket));
  return opened;
}

function open(options: PeerServerOptions): PeerServer {
  const { tls } = options;
  if (tls === null) return ending(plainServer(options));
  const { server, stopLooking } = tlsServer(options, tls);
  if (tls.required) return ending(server, [], stopLooking);
  const plain = plainServer(options);
  return ending(doorTo(plain, server, options), [plain, server], stopLooking);
}

/** Connections that have not asked for anything. The oldest makes room for the newest: a peer asks at once, and who only holds connections open does not keep it out. */
class Strangers {
  private readonly max: number;
  /** By address and port, as what is encrypted is another socket than what carries it. */
  private readonly sockets = new Map<string, Socket>();

  constructor(max: number) {
    this.max = max;
  }

  come(socket: Socket): void {
    const name = nameOf(socket);
    this.sockets.set(name, socket);
    socket.once('close', () => {
      if (this.sockets.get(name) === socket) this.sockets.delete(name);
    });
    if (this.sockets.size <= this.max) return;
    const [oldest] = this.sockets;
    if (oldest === undefined) return;
    this.sockets.delete(oldest[0]);
    oldest[1].destroy();
  }

  leave(socket: Socket): void {
    this.sockets.delete(nameOf(socket));
  }
}

const nameOf = ({ remoteAddress, remotePort }: Socket): string =>
  `${remoteAddress ?? '?'} ${remotePort ?? '?'}`;

function plainServer(options: PeerServerOptions): HttpServer {
  const server = createPlainServer({ connectionsCheckingInterval: lookEveryMs });
  readByTurns(server);
  return withUpgrades(server, options);
}

function tlsServer(options: PeerServerOptions, { certificates }: PeerTls) {
  const settings = listenerOptions(certificates.current());
  const server = createTlsServer({
    ...settings,
    handshakeTimeout: options.limits.handshakeMs,
    connectionsCheckingInterval: lookEveryMs,
  });
  readByTurns(server, 'secureConnection');
  server.on('tlsClientError', (error, socket) => {
    options.onRefused(socket.remoteAddress ?? '?', `TLS: ${error.message}`);
    socket.destroy();
  });
  const stopLooking = certificates.onChange((now) => server.setSecureContext(listenerOptions(now)));
  return { server: withUpgrades(server, options), stopLooking };
}

function withUpgrades<S extends HttpServer>(server: S, options: PeerServerOptions): S {
  server.headersTimeout = options.limits.handshakeMs;
  server.on('request', (_request, response) => {
    response.writeHead(426, { connection: 'close' }).end();
  });
  onUpgrade(server, options.onUpgrade);
  return server;
}

/** Hands each connection to whom its first byte is for. */
function doorTo(plain: HttpServer, secure: Server, { limits }: PeerServerOptions): Server {
  return createServer((socket: Socket) => {
    const destroy = (): void => void socket.destroy();
    socket.on('error', destroy);
    socket.setTimeout(limits.handshakeMs, destroy);
    socket.once('data', (bytes: Buffer) => {
      socket.pause();
      socket.setTimeout(0);
      socket.off('timeout', destroy);
      socket.unshift(bytes);
      const server = bytes[0] === tlsHandshake ? secure : plain;
      server.emit('connection', socket);
      if (server === plain) process.nextTick(() => socket.resume());
    });
  });
}

function ending(
  server: Server,
  behind: readonly HttpServer[] = [],
  stopLooking: () => void = () => undefined,
): PeerServer {
  return {
    server,
    close: () =>
      new Promise((resolve) => {
        stopLooking();
        server.close(() => resolve());
        for (const each of [server as Partial<HttpServer>, ...behind]) each.closeAllConnections?.();
      }),
  };
}
