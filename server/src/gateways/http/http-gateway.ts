/**
 * What a replica serves over HTTP: health, metrics, status, what its log holds, its stream of events and, where allowed, the faults of its links.
 *
 * Responsible for: the routes and who may use them. Knows the replica only through HttpReplica; decides nothing about it.
 * Invariants: faults can be set only from this machine, and only if they are allowed; but for health, and what the configuration opens (`http.open`), all is for operators (operator-access.ts), and what changes
 * something always is (admin-routes.ts); requests that a web page of another site has made a browser send are refused; headers and bodies are bounded, in size and in time.
 */
import type { IncomingMessage } from 'node:http';
import express, { type ErrorRequestHandler, type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import { z } from 'zod';
import { onUpgrade } from '../../adapters/http-turns.ts';
import type { LinkFault, ReplicaStatus } from '../../api/status.ts';
import type { SlotAnswer, SlotRefusal } from '../../api/wal-summary.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { adminRoutes, type HttpAdmin } from './admin-routes.ts';
import { createEventFeed, type Subscribe } from './event-feed.ts';
import { closeServer, listenOn } from '../listen.ts';
import { logRoutes } from './log-routes.ts';
import type { Metrics } from './metrics.ts';
import { checkShape, requestText } from '../../shapes/check-shape.ts';
import { type OperatorAccess, requireOperator } from './operator-access.ts';
import { isLoopbackAddress, type ListenerNames, requestProblem } from './request-guard.ts';
import { createWebServer, type ServerCertificates } from './web-server.ts';

export interface HttpReplica {
  status(): ReplicaStatus;
  readonly subscribe: Subscribe;
  /** All of them, or none; `heals`: all other links are healed. @throws RangeError if one is no link of this replica, or out of bounds */
  setFaults(faults: readonly LinkFault[], heals: boolean): void;
  /** What a slot of its log holds. Never rejects. */
  readSlot(slot: Slot): Promise<SlotAnswer | SlotRefusal>;
  readonly admin: HttpAdmin;
}

/** What needs no token: whether the replica is well; the metrics, too; all that changes nothing, and faults. */
export type OpenParts = 'health' | 'metrics' | 'all';

export interface HttpGatewayOptions {
  readonly listen: ListenerNames & { readonly port: number };
  /** Null: without TLS. */
  readonly tls?: ServerCertificates | null;
  readonly replica: HttpReplica;
  readonly metrics: Metrics;
  readonly faultsAllowed: boolean;
  readonly access: OperatorAccess;
  readonly open: OpenParts;
  readonly logger: Logger;
}

export interface HttpGateway {
  readonly port: number;
  /** Events that some listener did not get. */
  droppedEvents(): number;
  close(): Promise<void>;
}

/** All that the link is to have: what is not named it has not. One that is to be healthy says so, by a 0 or a false. */
const linkFault = z
  .strictObject({
    from: z.string().transform((id) => id as ReplicaId),
    to: z.string().transform((id) => id as ReplicaId),
    cut: z.boolean().exactOptional(),
    delayMs: z.number().exactOptional(),
    drop: z.number().exactOptional(),
    duplicate: z.number().exactOptional(),
  })
  .refine((fault) => Object.keys(fault).length > 2, 'must have at least one of cut, delayMs, drop, duplicate')
  .transform((fault) => ({ cut: false, delayMs: 0, drop: 0, duplicate: 0, ...fault }));

const faultsBody = z
  .strictObject({
    /** Takes all faults off this replica's links before `faults` are set. */
    heal: z.boolean().default(false),
    faults: z.array(linkFault).max(64).default([]),
  })
  .refine(({ heal, faults }) => heal || faults.length > 0, 'asks for nothing: it must have heal or faults');

/** @throws if the address cannot be listened on */
export async function startHttpGateway(options: HttpGatewayOptions): Promise<HttpGateway> {
  const feed = createEventFeed(options.replica.subscribe);
  const { server, stopLooking } = createWebServer(routes(options), options.tls ?? null);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 1024, perMessageDeflate: false });
  onUpgrade(server, (request, stream, head) => {
    stream.on('error', () => stream.destroy());
    const status = whyNotUpgraded(options, request);
    if (status !== null) {
      stream.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, stream, head, (socket) => feed.join(socket));
  });
  const port = await listenOn(server, options.listen);
  return {
    port,
    droppedEvents: () => feed.dropped(),
    async close() {
      stopLooking();
      feed.close();
      sockets.close();
      await closeServer(server);
    },
  };
}

/** The status of the answer, or null. */
function whyNotUpgraded(
  { listen, access, open }: HttpGatewayOptions,
  request: IncomingMessage,
): string | null {
  if (requestProblem(request.headers, listen) !== null) return '403 Forbidden';
  if (open !== 'all') {
    const verdict = access.judge(request);
    if (verdict.code !== 'operator') return upgradeRefusals[verdict.status];
  }
  return request.url === '/api/events' ? null : '404 Not Found';
}

const upgradeRefusals = {
  400: '400 Bad Request',
  401: '401 Unauthorized',
  429: '429 Too Many Requests',
} as const;

function routes(options: HttpGatewayOptions): Express {
  const { replica, metrics, logger, access, open } = options;
  const app = express();
  app.disable('x-powered-by');
  // For load balancers, which may call this server anything, or nothing.
  app.get('/healthz', (_request, response) => {
    response.json({ ok: true });
  });
  app.get('/readyz', (_request, response) => {
    const { state } = replica.status();
    const ready = state === 'serving';
    response.status(ready ? 200 : 503).json({ ready, state });
  });
  app.use(guard(options.listen));
  const operators = requireOperator(access);
  if (open === 'health') app.use('/metrics', operators);
  if (open !== 'all') app.use('/api', operators);
  app.get('/metrics', async (_request, response) => {
    response.type(metrics.contentType).send(await metrics.text());
  });
  app.get('/api/status', (_request, response) => {
    response.json(replica.status());
  });
  app.get('/api/latencies', async (_request, response) => {
    response.json(await metrics.buckets());
  });
  app.use(logRoutes((slot) => replica.readSlot(slot)));
  app.post(
    '/api/faults',
    faultsOnlyHere(options.faultsAllowed),
    express.json({ limit: '16kb' }),
    setFaults(options),
  );
  app.use(adminRoutes(replica.admin, access, logger));
  app.use((_request, response) => {
    response.status(404).json({ error: { code: 'notFound', message: 'There is nothing here.' } });
  });
  app.use(onError(logger));
  return app;
}

/** Refuses what a browser was made to send. */
export function guard(listener: ListenerNames): RequestHandler {
  return (request, response, next) => {
    const problem = requestProblem(request.headers, listener);
    if (problem === null) next();
    else response.status(403).json({ error: { code: 'forbidden', message: problem } });
  };
}

function faultsOnlyHere(allowed: boolean): RequestHandler {
  return (request, response, next) => {
    const message = !allowed
      ? 'Faults are not allowed on this replica (configuration key "faults").'
      : !isLoopbackAddress(request.socket.remoteAddress)
        ? 'Faults can only be set from the same machine.'
        : null;
    if (message === null) next();
    else response.status(403).json({ error: { code: 'forbidden', message } });
  };
}

function setFaults({ replica, logger }: HttpGatewayOptions): RequestHandler {
  return (request, response) => {
    const body = checkShape(faultsBody, request.body, '(body)');
    if (!body.ok) {
      const message = requestText(body.problems);
      response.status(400).json({ error: { code: 'badRequest', message } });
      return;
    }
    try {
      replica.setFaults(body.value.faults, body.value.heal);
    } catch (error) {
      if (!(error instanceof RangeError)) throw error;
      response.status(400).json({ error: { code: 'badFault', message: error.message } });
      return;
    }
    logger.warn({ heal: body.value.heal, faults: body.value.faults }, 'faults set');
    response.json({ faults: replica.status().faults });
  };
}

/** Answers errors of body parsing as the client's, and anything else as the server's, without its details. */
export function onError(logger: Logger): ErrorRequestHandler {
  return (error: Error & { readonly status?: number }, request, response, next) => {
    if (response.headersSent) {
      next(error);
      return;
    }
    const status = error.status ?? 500;
    if (status >= 500) logger.error({ err: error, path: request.path }, 'request failed');
    const message = status >= 500 ? 'The server failed; its log says why.' : error.message;
    response.status(status).json({ error: { code: status >= 500 ? 'internal' : 'badRequest', message } });
  };
}
