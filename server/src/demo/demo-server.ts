/**
 * The demo's web server: the dashboard's files, what the cluster is doing, what its log holds, faults, what operators ask, and the SQL console.
 *
 * Responsible for: routes, their checks, and the frames of the stream. Breaks nothing itself: the supervisor does.
 * Invariants: listens on loopback only; refuses what a page of another site makes a browser send; every request is bounded in size and
 * time; replicas are asked for events and latencies only while someone watches.
 */
import express, { type Express, type RequestHandler } from 'express';
import type { Logger } from 'pino';
import { WebSocketServer } from 'ws';
import { onUpgrade } from '../adapters/http-turns.ts';
import type { CheckStatus } from '../api/check.ts';
import type { SqlError, SqlResult } from '../api/sql.ts';
import type { ClusterStatus } from '../api/status.ts';
import { guard, onError } from '../gateways/http/http-gateway.ts';
import { closeServer, listenOn } from '../gateways/listen.ts';
import { requestProblem } from '../gateways/http/request-guard.ts';
import { createWebServer } from '../gateways/http/web-server.ts';
import { checkShape, requestText } from '../shapes/check-shape.ts';
import type { ActivityReader } from './activity.ts';
import { createActivityRoutes } from './activity-routes.ts';
import { createAdminProxy } from './admin-proxy.ts';
import { type ClusterReport, reportReplica } from './cluster-report.ts';
import type { DashboardState } from './dashboard-build.ts';
import { faultRequestSchema } from './fault-table.ts';
import { demoGroup, demoHost, type ReplicaPlan } from './layout.ts';
import type { DemoLoad } from './load/load.ts';
import { loadSettingsSchema } from './load/load-settings.ts';
import type { DemoBackups } from './demo-backups.ts';
import { createLogProxy } from './log-proxy.ts';
import { createRatesSender } from './rates-sender.ts';
import { sqlBody } from './sql-console.ts';
import type { ReplicaChanges } from './replica-changes.ts';
import { createReplicaRoutes } from './replica-routes.ts';
import { ifStillWanted } from './still-wanted.ts';
import { createStreamHub, type StreamHub } from './stream-hub.ts';
import type { Supervisor } from './supervisor.ts';

const clusterMs = 250;
const ratesMs = 1000;
const loadMs = 500;
const sqlAtOnceMax = 8;

export interface DemoServerOptions {
  readonly port: number;
  readonly supervisor: Supervisor;
  /** What the checker says; null: there is none. */
  readonly check?: (() => CheckStatus) | null;
  readonly clusterSecret: string;
  /** Null: behind the replicas is no PostgreSQL. */
  readonly activity?: ActivityReader | null;
  /** Null: replicas neither come nor go, and nothing is backed up. */
  readonly changes?: ReplicaChanges | null;
  readonly backups?: DemoBackups | null;
  /** Null: there is none. */
  readonly load?: DemoLoad | null;
  /** Runs what is typed into the console, through this replica. */
  readonly runSql: (plan: ReplicaPlan, sql: string) => Promise<SqlResult | { readonly error: SqlError }>;
  /** Looked at on every request, since the build may still run when the server starts. */
  readonly dashboard: () => DashboardState | null;
  readonly logger: Logger;
}

export interface DemoServer {
  readonly port: number;
  close(): Promise<void>;
}

/** @throws if the port cannot be listened on */
export async function startDemoServer(options: DemoServerOptions): Promise<DemoServer> {
  const { supervisor, load } = options;
  const cluster = (): ClusterStatus => clusterOf(options);
  const hub = createStreamHub({
    greeting: () => [clusterFrame(cluster()), ...(load == null ? [] : [loadFrame(load)])],
    onFirst: () => {
      for (const monitor of supervisor.monitors()) monitor.streamEvents((text) => hub.broadcastEvents(text));
      load?.hold(false);
    },
    onLast: () => {
      for (const monitor of supervisor.monitors()) monitor.streamEvents(null);
      load?.hold(true);
    },
  });
  supervisor.onAdded = (monitor) => {
    if (hub.clients() > 0) monitor.streamEvents((text) => hub.broadcastEvents(text));
  };
  const timers = [
    setInterval(() => sendCluster(hub, cluster), clusterMs),
    setInterval(createRatesSender(hub, supervisor), ratesMs),
    ...(load == null ? [] : [setInterval(() => sendLoad(hub, load), loadMs)]),
  ];
  const { server } = createWebServer(routes(options), null);
  const sockets = new WebSocketServer({ noServer: true, maxPayload: 1024, perMessageDeflate: false });
  onUpgrade(server, (request, stream, head) => {
    stream.on('error', () => stream.destroy());
    const problem = requestProblem(request.headers, { host: demoHost });
    if (problem !== null || request.url !== '/api/stream') {
      const status = problem === null ? '404 Not Found' : '403 Forbidden';
      stream.end(`HTTP/1.1 ${status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
      return;
    }
    sockets.handleUpgrade(request, stream, head, (socket) => hub.join(socket));
  });
  const port = await listenOn(server, { host: demoHost, port: options.port });
  return {
    port,
    async close() {
      for (const timer of timers) clearInterval(timer);
      hub.close();
      sockets.close();
      await closeServer(server);
    },
  };
}

function clusterOf({ supervisor, check }: Pick<DemoServerOptions, 'supervisor' | 'check'>): ClusterStatus {
  return { group: demoGroup, check: check?.() ?? null, replicas: supervisor.cluster() };
}

function sendCluster(hub: StreamHub, cluster: () => ClusterStatus): void {
  if (hub.clients() === 0) return;
  hub.broadcast(clusterFrame(cluster()));
}

function sendLoad(hub: StreamHub, load: DemoLoad): void {
  if (hub.clients() > 0) hub.broadcast(loadFrame(load));
}

function clusterFrame(cluster: ClusterStatus): string {
  return JSON.stringify({ type: 'cluster', cluster });
}

function loadFrame(load: DemoLoad): string {
  return JSON.stringify({ type: 'load', load: load.status() });
}

function routes(options: DemoServerOptions): Express {
  const { supervisor, clusterSecret, dashboard, logger } = options;
  const app = express();
  app.disable('x-powered-by');
  app.use(guard({ host: demoHost }), securityHeaders);
  app.get('/api/cluster', async (_request, response) => {
    await supervisor.refresh();
    response.json(clusterOf(options));
  });
  app.get('/api/report', async (_request, response) => {
    await supervisor.refresh();
    response.json(reportOf(options));
  });
  app.get('/api/log/:slot', createLogProxy(supervisor));
  app.post('/api/fault', express.json({ limit: '16kb' }), ifStillWanted, postFault(supervisor, logger));
  app.post('/api/sql', express.json({ limit: '256kb' }), ifStillWanted, postSql(options));
  app.post('/api/load', express.json({ limit: '16kb' }), ifStillWanted, postLoad(options.load ?? null));
  const admin = createAdminProxy({ supervisor, clusterSecret });
  app.post('/api/members', express.json({ limit: '16kb' }), ifStillWanted, admin.members);
  app.post('/api/leader/transfer', express.json({ limit: '16kb' }), ifStillWanted, admin.transferLeadership);
  app.post('/api/sessions/end', express.json({ limit: '16kb' }), ifStillWanted, admin.endSession);
  app.post('/api/verify', express.json({ limit: '16kb' }), ifStillWanted, admin.verify);
  const activity = createActivityRoutes(supervisor, options.activity ?? null);
  app.get('/api/activity/:replica', activity.read);
  app.post('/api/activity/:replica/end', express.json({ limit: '1kb' }), ifStillWanted, activity.end);
  app.post('/api/activity/:replica/statements', ifStillWanted, activity.countStatements);
  const replicas = createReplicaRoutes(options.changes ?? null, options.backups ?? null);
  app.get('/api/replicas', replicas.changeStatus);
  app.post('/api/replicas', express.json({ limit: '16kb' }), ifStillWanted, replicas.change);
  app.get('/api/backups', replicas.backups);
  app.post('/api/backups', ifStillWanted, replicas.takeBackup);
  app.get('/api/backup', admin.backup);
  app.use('/api', (_request, response) => {
    response.status(404).json({ error: { code: 'notFound', message: 'There is nothing here.' } });
  });
  app.use(files(dashboard));
  app.use(onError(logger));
  return app;
}

export function reportOf({
  supervisor,
  check,
}: Pick<DemoServerOptions, 'supervisor' | 'check'>): ClusterReport {
  const replicas = supervisor.cluster().flatMap((replica) => {
    const plan = supervisor.plan(replica.id);
    return plan === null ? [] : [reportReplica(plan, replica)];
  });
  return { group: demoGroup, check: check?.() ?? null, replicas };
}

const securityHeaders: RequestHandler = (_request, response, next) => {
  response.setHeader(
    'content-security-policy',
    "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'",
  );
  response.setHeader('x-content-type-options', 'nosniff');
  response.setHeader('referrer-policy', 'no-referrer');
  next();
};

function postFault(supervisor: Supervisor, logger: Logger): RequestHandler {
  return async (request, response) => {
    const body = checkShape(faultRequestSchema, request.body, '(body)');
    if (!body.ok) {
      const message = requestText(body.problems);
      response.status(400).json({ error: { code: 'badRequest', message } });
      return;
    }
    const wanted = body.value;
    const outcome = await supervisor.fault(wanted);
    logger.info({ fault: wanted, outcome }, 'fault');
    if (outcome.ok) response.json(outcome);
    else response.status(409).json({ error: { code: outcome.code, message: outcome.message } });
  };
}

function postLoad(load: DemoLoad | null): RequestHandler {
  return (request, response) => {
    const body = checkShape(loadSettingsSchema, request.body, '(body)');
    if (!body.ok) {
      response.status(400).json({ error: { code: 'badRequest', message: requestText(body.problems) } });
      return;
    }
    if (load === null) {
      const message = 'This demo was started without a load.';
      response.status(409).json({ error: { code: 'unavailable', message } });
      return;
    }
    load.set(body.value);
    response.json({ ok: true });
  };
}

function postSql({ supervisor, runSql }: DemoServerOptions): RequestHandler {
  let running = 0;
  return async (request, response) => {
    const body = checkShape(sqlBody, request.body, '(body)');
    const plan = body.ok ? supervisor.plan(body.value.replica) : null;
    if (!body.ok || plan === null) {
      const message = body.ok ? `There is no replica ${body.value.replica}.` : requestText(body.problems);
      response.status(400).json({ error: { code: '22023', message } });
      return;
    }
    if (running >= sqlAtOnceMax) {
      response
        .status(429)
        .json({ error: { code: '53300', message: 'Too many statements are running already.' } });
      return;
    }
    running += 1;
    try {
      response.json(await runSql(plan, body.value.sql));
    } finally {
      running -= 1;
    }
  };
}

function files(dashboard: () => DashboardState | null): RequestHandler {
  let served: { readonly dir: string; readonly handler: RequestHandler } | null = null;
  return (request, response, next) => {
    const state = dashboard();
    if (state?.kind === 'ready') {
      if (served?.dir !== state.dir) served = { dir: state.dir, handler: express.static(state.dir) };
      served.handler(request, response, (error?: unknown) => {
        if (error === undefined) response.status(404).type('text').send('There is nothing here.\n');
        else next(error);
      });
      return;
    }
    response
      .status(503)
      .type('text')
      .send(`${state?.reason ?? 'The dashboard is being built. Try again in a moment.'}\n`);
  };
}
