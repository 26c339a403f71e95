/**
 * A server for HTTP, or for HTTP over TLS, with bounds on what a client may send before anything is asked of it, and on how long that may take.
 *
 * Responsible for: those bounds, and TLS with certificates that may change while it runs. Knows no routes.
 */
import { constants } from 'node:crypto';
import { createServer, type RequestListener, type Server, type ServerOptions } from 'node:http';
import { createServer as createTlsServer } from 'node:https';
import type { TlsOptions } from 'node:tls';
import { readByTurns } from '../../adapters/http-turns.ts';
import { boundConnections } from './crowded-server.ts';

/** As adapters/tls-files has them. */
export interface ServerCertificates {
  current(): ServerIdentity;
  onChange(listener: (now: ServerIdentity) => void): () => void;
}

export interface ServerIdentity {
  /** In PEM. */
  readonly certificate: string;
  readonly key: string;
  /** Whoever shows a certificate of it is `authorized`; null: nobody is asked for one. */
  readonly authority: string | null;
}

const bounds: ServerOptions = {
  maxHeaderSize: 16 * 1024,
  headersTimeout: 10_000,
  requestTimeout: 60_000,
  connectionsCheckingInterval: 5_000,
};
const handshakeMs = 10_000;
/** More than a browser, Prometheus and an operator need together; each costs a file descriptor, which PostgreSQL's files and clients need, too. */
const connectionsMax = 256;

export function createWebServer(
  answer: RequestListener,
  tls: ServerCertificates | null,
): { readonly server: Server; readonly stopLooking: () => void } {
  if (tls === null)
    return { server: bounded(createServer(bounds, answer), 'connection'), stopLooking: () => {} };
  const server = createTlsServer(
    { ...bounds, ...contextOf(tls.current()), handshakeTimeout: handshakeMs },
    answer,
  );
  // Nobody is there yet whom it could be told.
  server.on('tlsClientError', (_error, socket) => socket.destroy());
  return {
    server: bounded(server, 'secureConnection'),
    stopLooking: tls.onChange((now) => server.setSecureContext(contextOf(now))),
  };
}

function bounded(server: Server, event: 'connection' | 'secureConnection'): Server {
  readByTurns(server, event);
  boundConnections(server, connectionsMax);
  return server;
}

/** Who shows no certificate of the authority, or none, is let in all the same: a token may still tell who it is. */
function contextOf({ certificate, key, authority }: ServerIdentity): TlsOptions {
  const client = authority === null ? {} : { ca: authority, requestCert: true, rejectUnauthorized: false };
  // No session is resumed: each connection shows who it is.
  const secureOptions = constants.SSL_OP_NO_TICKET;
  return { cert: certificate, key, minVersion: 'TLSv1.2', secureOptions, ...client };
}
