import { request as httpRequest } from 'node:http';
import { Readable } from 'node:stream';
import { pino } from 'pino';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { WebSocket } from 'ws';
import type { TraceEvent } from '../../api/events.ts';
import { type HttpGateway, startHttpGateway } from './http-gateway.ts';
import { createMetrics, type Metrics } from './metrics.ts';
import { createOperatorAccess } from './operator-access.ts';
import { databaseDown, type FakeReplica, fakeReplica, replay } from './testing/fake-replica.ts';
import { eventually } from '../../ports/testing/eventually.ts';

let replica: FakeReplica;
let metrics: Metrics;
let gateway: HttpGateway;
const sockets: WebSocket[] = [];

async function start(faultsAllowed = true): Promise<void> {
  replica = fakeReplica('r1');
  metrics = createMetrics(() => replica.status());
  const listen = { host: '127.0.0.1', port: 0 };
  gateway = await startHttpGateway({
    listen,
    replica,
    metrics,
    faultsAllowed,
    access: createOperatorAccess({ tokens: () => ['the right one'] }),
    open: 'all',
    logger: pino({ level: 'silent' }),
  });
}
beforeEach(() => start());
afterEach(async () => {
  for (const socket of sockets.splice(0)) socket.terminate();
  await gateway.close();
});

const url = (path: string) => `http://127.0.0.1:${gateway.port}${path}`;
const post = (path: string, body: unknown) =>
  fetch(url(path), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: typeof body === 'string' ? body : JSON.stringify(body),
  });
/** fetch does not let a caller choose Host. */
const statusOf = (path: string, headers: Record<string, string>) =>
  new Promise<number>((resolve, reject) => {
    const request = httpRequest(url(path), { headers }, (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    request.on('error', reject).end();
  });

interface Listener {
  readonly socket: WebSocket;
  readonly events: TraceEvent[];
  dropped: number;
}
function listen(headers: Record<string, string> = {}): Promise<Listener> {
  const socket = new WebSocket(url('/api/events').replace('http', 'ws'), { headers });
  sockets.push(socket);
  const listener: Listener = { socket, events: [], dropped: 0 };
  socket.on('message', (data) => {
    const frame = JSON.parse((data as Buffer).toString()) as { events: TraceEvent[]; dropped: number };
    listener.events.push(...frame.events);
    listener.dropped += frame.dropped;
  });
  return new Promise((resolve, reject) => {
    socket.on('open', () => resolve(listener));
    socket.on('error', reject);
  });
}

describe('health and status', () => {
  it('is healthy while it answers, and ready only while it serves', async () => {
    expect((await fetch(url('/healthz'))).status).toBe(200);
    expect((await fetch(url('/readyz'))).status).toBe(200);
    replica.change({ state: 'recovering', message: 'applying' });
    const response = await fetch(url('/readyz'));
    expect(response.status).toBe(503);
    expect(await response.json()).toEqual({ ready: false, state: 'recovering' });
    expect((await fetch(url('/healthz'))).status).toBe(200);
  });

  it('serves the status as it is', async () => {
    expect(await (await fetch(url('/api/status'))).json()).toEqual(replica.status());
    expect((await fetch(url('/api/nothing'))).status).toBe(404);
  });
});

describe('metrics', () => {
  it('show the status at the time of asking', async () => {
    const text = async () => (await fetch(url('/metrics'))).text();
    const first = await text();
    expect(first).toContain('barista_commit_point 17\n');
    expect(first).toContain('barista_role{role="leader"} 1\n');
    expect(first).toContain('barista_role{role="follower"} 0\n');
    expect(first).toContain('# TYPE barista_transactions_total counter\nbarista_transactions_total 100\n');
    replica.change({ role: 'follower', clients: 9 });
    const second = await text();
    expect(second).toContain('barista_role{role="follower"} 1\n');
    expect(second).toContain('barista_clients 9\n');
    expect(second).toContain('barista_transactions_total 100\n');
  });

  it('count latencies in buckets', async () => {
    const empty = await metrics.buckets();
    expect(empty.agreements).toEqual(empty.upToMs.map(() => 0));
    for (const ms of [0.2, 3, 3, 50_000]) metrics.latencies.agreement(ms);
    const { upToMs, agreements } = (await (await fetch(url('/api/latencies'))).json()) as typeof empty;
    expect(agreements[upToMs.indexOf(0.15)]).toBe(0);
    expect(agreements[upToMs.indexOf(0.25)]).toBe(1);
    expect(agreements[upToMs.indexOf(4)]).toBe(3);
    expect(agreements.at(-1)).toBe(4);
    expect(await metrics.text()).toContain('barista_agreement_seconds_count 4\n');
  });
});

describe('a slot of the log', () => {
  it('is told, or why it cannot be', async () => {
    const told = await fetch(url('/api/log/17'));
    expect([told.status, await told.json()]).toEqual([
      200,
      { slot: 17, label: 'noop', content: { kind: 'noop' } },
    ]);
    const unknown = await fetch(url('/api/log/18'));
    expect([unknown.status, await unknown.json()]).toMatchObject([404, { error: { code: 'notChosen' } }]);
  });

  it.each(['0', '-1', '1.5', 'x', '1'.repeat(20)])('has a number from 1 on, and not %s', async (slot) => {
    const answer = await fetch(url(`/api/log/${slot}`));
    expect([answer.status, await answer.json()]).toMatchObject([400, { error: { code: 'badRequest' } }]);
  });
});

describe('faults', () => {
  const cut = { from: 'r1', to: 'r2', cut: true };

  it('are set, shown and healed', async () => {
    const response = await post('/api/faults', { faults: [cut] });
    expect(response.status).toBe(200);
    const fault = { from: 'r1', to: 'r2', cut: true, delayMs: 0, drop: 0, duplicate: 0 };
    expect(await response.json()).toEqual({ faults: [fault] });
    await post('/api/faults', { heal: true });
    expect(replica.status().faults).toEqual([]);
  });

  it('that make no sense are refused with the reason', async () => {
    const foreign = await post('/api/faults', { faults: [{ ...cut, from: 'r2' }] });
    expect([foreign.status, await foreign.json()]).toMatchObject([400, { error: { code: 'badFault' } }]);
    const said = async (body: object): Promise<string> => {
      const answer = await post('/api/faults', body);
      expect(answer.status).toBe(400);
      return ((await answer.json()) as { readonly error: { readonly message: string } }).error.message;
    };
    const among = {
      heal: true,
      faults: [
        { ...cut, to: 'r3' },
        { ...cut, from: 'r2' },
      ],
    };
    await post('/api/faults', { faults: [cut] });
    expect((await post('/api/faults', among)).status).toBe(400);
    expect(replica.status().faults).toMatchObject([cut]);
    await post('/api/faults', { heal: true });
    expect(await said({ faults: [{ from: 'r1', to: 'r2' }] })).toMatch(
      /faults\[0\]: must have at least one of cut/,
    );
    expect(await said({})).toMatch(/\(body\): asks for nothing/);
    const misspelt = await post('/api/faults', { faults: [{ ...cut, delay: 3 }] });
    const message =
      'The request is not valid: faults[0].delay: is no key that is known; did you mean faults[0].delayMs?';
    expect([misspelt.status, await misspelt.json()]).toEqual([
      400,
      { error: { code: 'badRequest', message } },
    ]);
    expect((await post('/api/faults', '{')).status).toBe(400);
    expect((await post('/api/faults', { heal: true, pad: 'x'.repeat(20_000) })).status).toBe(413);
  });

  it('are refused where they are not allowed', async () => {
    await gateway.close();
    await start(false);
    expect((await post('/api/faults', { faults: [cut] })).status).toBe(403);
    expect(replica.status().faults).toEqual([]);
  });
});

describe('the stream of events', () => {
  it('starts with the latest rare events and goes on with all new ones, in order', async () => {
    for (let seq = 1; seq <= 1000; seq += 1) replica.emit(databaseDown('r1', seq));
    replica.emit(replay('r1', 1001));
    const listener = await listen();
    replica.emit(replay('r1', 1002));
    await eventually(() => expect(listener.events.at(-1)?.seq).toBe(1002));
    expect(listener.events.map((event) => event.seq)).toEqual([
      ...Array.from({ length: 400 }, (_, i) => 601 + i),
      1002,
    ]);
  });

  it('is what makes a replica produce frequent events, and only while somebody listens', async () => {
    expect(replica.hearsAll()).toBe(false);
    const first = await listen();
    const second = await listen();
    expect(replica.hearsAll()).toBe(true);
    first.socket.close();
    replica.emit(replay('r1', 1));
    await eventually(() => expect(second.events).toHaveLength(1));
    expect(replica.hearsAll()).toBe(true);
    second.socket.close();
    await eventually(() => expect(replica.hearsAll()).toBe(false));
  });

  it('leaves out what is too much and says how many, but not the rare events', async () => {
    const listener = await listen();
    await eventually(() => expect(gateway.droppedEvents()).toBe(0));
    for (let seq = 1; seq <= 5000; seq += 1) replica.emit(replay('r1', seq));
    replica.emit(databaseDown('r1', 5001));
    await eventually(() => expect(listener.events.at(-1)?.name).toBe('DatabaseDown'));
    expect(listener.events.length + listener.dropped).toBe(5001);
    expect(listener.dropped).toBeGreaterThan(4000);
    expect(gateway.droppedEvents()).toBe(listener.dropped);
  });

  it('is bounded in listeners', async () => {
    for (let count = 0; count < 16; count += 1) await listen();
    const { socket } = await listen();
    const code = await new Promise((resolve) => socket.on('close', resolve));
    expect(code).toBe(1013);
  });
});

describe('a page of another site', () => {
  it('gets nothing, by request or by stream', async () => {
    expect(await statusOf('/api/status', { host: 'evil.example' })).toBe(403);
    expect(await statusOf('/api/status', { origin: 'http://evil.example' })).toBe(403);
    await expect(listen({ origin: 'http://evil.example' })).rejects.toThrow(/403/);
    await expect(listen({ host: 'evil.example' })).rejects.toThrow(/403/);
  });
});

describe('what operators ask', () => {
  const ask = (path: string, body: unknown, token: string | null, method = 'POST') =>
    fetch(url(path), {
      method,
      headers: {
        'content-type': 'application/json',
        ...(token === null ? {} : { authorization: `Bearer ${token}` }),
      },
      ...(method === 'GET' ? {} : { body: JSON.stringify(body) }),
    });
  const address = { host: 'db4', port: 7532, pgwire: { host: 'db4', port: 7432 } };
  const add = { action: 'add', replica: 'r4', address };

  it.each([null, '', 'the wrong one', 'the right one%20'])(
    'is refused without the token: %s',
    async (token) => {
      for (const [path, method] of [
        ['/api/members', 'POST'],
        ['/api/verify', 'POST'],
        ['/api/leader/transfer', 'POST'],
        ['/api/sessions/end', 'POST'],
        ['/api/backup', 'GET'],
      ] as const) {
        const answer = await ask(path, add, token, method);
        expect(answer.status).toBe(401);
        expect(await answer.json()).toMatchObject({ error: { code: 'unauthorized' } });
      }
    },
  );

  it('is carried out with it', async () => {
    const answer = await ask('/api/members', add, 'the right one');
    expect(answer.status).toBe(200);
    expect(await answer.json()).toMatchObject({ ok: true, membership: { version: 1 } });
  });

  it('hands leadership over, to whoever is readiest or to one who is named, or says why not', async () => {
    const ended = await ask('/api/sessions/end', { pid: 4711 }, 'the right one');
    expect([ended.status, await ended.json()]).toEqual([200, { ok: true, pid: 4711 }]);
    expect((await ask('/api/sessions/end', { pid: 0 }, 'the right one')).status).toBe(400);
    const done = await ask('/api/leader/transfer', {}, 'the right one');
    expect([done.status, await done.json()]).toEqual([200, { ok: true, leader: 'r2', tookMs: 80 }]);
    const refused = await ask('/api/leader/transfer', { to: 'r9' }, 'the right one');
    expect([refused.status, await refused.json()]).toMatchObject([409, { error: { code: 'noSuccessor' } }]);
    const wrong = await ask('/api/leader/transfer', { to: 'r9', transactionMs: -1 }, 'the right one');
    expect(wrong.status).toBe(400);
  });

  it('says who leads, where only the leader can do it', async () => {
    const answer = await ask('/api/verify', { repair: true }, 'the right one');
    expect(answer.status).toBe(409);
    expect(await answer.json()).toMatchObject({ error: { code: 'notLeader', leader: 'r2' } });
  });

  it.each([
    {},
    { action: 'add', replica: 'r4' },
    { action: 'remove', replica: 'r4.2' },
    { ...add, address: { ...address, port: 0 } },
    { ...add, address: { ...address, host: '10.0.0.256' } },
    { ...add, address: { ...address, pgwire: { host: '[::1]', port: 1 } } },
    { ...add, more: 1 },
  ])('is refused in any other shape, in plain words: %j', async (body) => {
    const answer = await ask('/api/members', body, 'the right one');
    expect(answer.status).toBe(400);
    const { error } = (await answer.json()) as { readonly error: { code: string; message: string } };
    expect(error.code).toBe('badRequest');
    expect(error.message).toMatch(/^The request is not valid: .+: (is missing;|is no key|must be) /);
  });

  it('gives a backup as it is made, and lets one that breaks off look broken', async () => {
    expect(await (await ask('/api/backup', null, 'the right one', 'GET')).text()).toBe('all of it');
    const failing = Readable.from(
      (async function* begun() {
        yield 'the beginning';
        throw new Error('PostgreSQL went away');
      })(),
    );
    replica.admin.backup = () => Promise.resolve({ ok: true, answer: failing });
    const broken = ask('/api/backup', null, 'the right one', 'GET').then((answer) => answer.text());
    await expect(broken).rejects.toThrow('terminated');
  });
});
