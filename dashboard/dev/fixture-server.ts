/**
 * Development only: the demo's API over a toy cluster, for work on the dashboard without a real one.
 *
 *   npx tsx dashboard/dev/fixture-server.ts [--port 8080] [--replicas 3] [--scenario] [--diverged] [--rate 40]
 *
 * With `--diverged` the third replica holds other data than the rest. `--scenario` plays election, load, crash, restart, partition, heal in a loop. Serves dashboard/dist too. Loopback only.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { extname, join, normalize } from 'node:path';
import { parseArgs } from 'node:util';
import { WebSocketServer } from 'ws';
import type { FaultRequest } from '../../server/src/api/status.ts';
import { createToyCluster } from './toy-cluster.ts';
import { answerSql } from './workload.ts';

const { values } = parseArgs({
  options: {
    port: { type: 'string', default: '8080' },
    replicas: { type: 'string', default: '3' },
    rate: { type: 'string', default: '40' },
    scenario: { type: 'boolean', default: false },
    diverged: { type: 'boolean', default: false },
  },
});

const dist = join(import.meta.dirname, '../dist');
const cluster = createToyCluster(Number(values.replicas));
cluster.setRate(Number(values.rate));
const startedMs = performance.now();
const types: Readonly<Record<string, string>> = {
  '.html': 'text/html',
  '.js': 'text/javascript',
  '.css': 'text/css',
};

async function bodyOf(request: IncomingMessage): Promise<unknown> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return JSON.parse(text);
}

function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

async function answerStatement(body: { readonly sql: string }): Promise<Record<string, unknown>> {
  if (cluster.leader() === null) {
    return {
      error: {
        code: '57P03',
        message: 'no leader is known',
        hint: 'A majority of the replicas must be up and connected. Try again.',
      },
    };
  }
  const result = answerSql(body.sql);
  if (!('error' in result) && !/^\s*select/i.test(body.sql)) cluster.propose(body.sql);
  await new Promise((done) => setTimeout(done, 30));
  return result;
}

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? '/', 'http://localhost').pathname;
  if (path === '/api/cluster') return answer(response, 200, cluster.status());
  if (path === '/api/fault') {
    const problem = cluster.fault((await bodyOf(request)) as FaultRequest);
    return problem === null
      ? answer(response, 200, { ok: true })
      : answer(response, 400, { error: { code: 'badRequest', message: problem } });
  }
  if (path === '/api/verify') {
    await new Promise((done) => setTimeout(done, 1500));
    const { replicas } = cluster.status();
    const slot = Math.max(...replicas.map(({ status }) => status?.commitPoint ?? 0));
    const result = replicas.map(({ id, process }, index) => {
      if (process !== 'running') return { replica: id, outcome: 'noReport', detail: ['no answer in time'] };
      return index === 2 && values.diverged
        ? { replica: id, outcome: 'differs', detail: ['public.orders', 'public.carts'] }
        : { replica: id, outcome: 'equal', detail: [] };
    });
    return answer(response, 200, { slot, replicas: result });
  }
  const asked = /^\/api\/log\/(\d+)$/.exec(path)?.[1];
  if (asked !== undefined) {
    const found = cluster.slot(Number(asked));
    return answer(response, 'error' in found ? 404 : 200, found);
  }
  if (path === '/api/sql')
    return answer(response, 200, await answerStatement((await bodyOf(request)) as { sql: string }));
  const file = join(dist, normalize(path === '/' ? '/index.html' : path));
  const data = await readFile(file).catch(() => null);
  if (data === null) return answer(response, 404, { error: { code: 'notFound', message: path } });
  // The demo's own policy, so that what it would refuse is noticed here.
  response
    .writeHead(200, {
      'content-type': types[extname(file)] ?? 'application/octet-stream',
      'content-security-policy': "default-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:",
    })
    .end(data);
}

const server = createServer((request, response) => {
  serve(request, response).catch((error: unknown) =>
    answer(response, 500, { error: { code: 'broken', message: String(error) } }),
  );
});
const streams = new WebSocketServer({ server, path: '/api/stream' });
const broadcast = (frame: unknown): void => {
  const text = JSON.stringify(frame);
  for (const client of streams.clients) client.send(text);
};

setInterval(() => cluster.step(performance.now() - startedMs), 10);
setInterval(() => {
  const events = cluster.takeEvents();
  if (events.length > 0) broadcast({ type: 'events', events });
}, 50);
setInterval(() => broadcast({ type: 'cluster', cluster: cluster.status() }), 250);
setInterval(() => broadcast({ type: 'rates', at: Date.now(), perReplica: cluster.takeRates() }), 1000);

/** Seconds after the start of a round, and what happens then; `leader` stands for whoever leads. */
const scenario: readonly (readonly [number, (leader: string) => FaultRequest])[] = [
  [12, (leader) => ({ action: 'crash', replica: leader }) as FaultRequest],
  [22, () => ({ action: 'restart', replica: 'r1' }) as FaultRequest],
  [32, (leader) => ({ action: 'isolate', replica: leader }) as FaultRequest],
  [42, () => ({ action: 'heal' })],
  [48, () => ({ action: 'delay', from: 'r2', to: 'r3', amount: 400 }) as FaultRequest],
  [56, () => ({ action: 'heal' })],
];
const roundSeconds = 62;

if (values.scenario) {
  const play = (): void => {
    for (const [atSeconds, request] of scenario) {
      setTimeout(() => cluster.fault(request(cluster.leader()?.id ?? 'r1')), atSeconds * 1000);
    }
  };
  play();
  setInterval(play, roundSeconds * 1000);
}

server.listen(Number(values.port), '127.0.0.1', () => {
  process.stdout.write(`fixture (not a real cluster): http://127.0.0.1:${values.port}\n`);
});
