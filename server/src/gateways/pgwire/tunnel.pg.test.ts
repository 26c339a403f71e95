/** Clients of a follower: served by the leader, and told what is true when the leader goes away. */
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startRelay, type Relay } from '../../adapters/testing/relay.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import {
  ask,
  backends,
  cancelPacket,
  codeOf,
  endSleeping,
  fatal,
  holdCommits,
  keyOf,
  keys,
  lastWords,
  leaderAt,
  q,
  run,
  sleep,
  sleeping,
  untilCommitsWait,
  waitingCommits,
  withholdTransactions,
} from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, describeFrame, type WireClient } from './testing/wire-client.ts';

let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;
/** Between the follower and the leader. */
let cable: Relay;
let wire: WireClient;
let letCommitsGo: (() => Promise<void>) | null = null;
/** The leader learns which transaction is open, and tells the follower. */
let transactionIsTold: () => Promise<void>;

async function openFollower(bitBytes?: number): Promise<void> {
  cable = await startRelay(leader.connection.port, bitBytes);
  const service = createMemoryClientService(null);
  service.setService(leaderAt(cable.port));
  follower = await startGateway(pg, {
    service,
    limits: { leaderWaitMs: 300, keepWaitMs: 300, tunnelGraceMs: 200, outcomeWaitMs: 1_234 },
  });
  wire = await connectWire(follower.connection);
}

beforeAll(async () => {
  pg = await startTestPostgres();
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  leader = await startGateway(pg, { limits: { lateMs: 50, leaderWaitMs: 300 } });
  transactionIsTold = withholdTransactions(leader.service);
  await openFollower();
  await ask(wire, q('CREATE TABLE t (a int PRIMARY KEY)'));
});
afterEach(async () => {
  await letCommitsGo?.();
  letCommitsGo = null;
  wire.close();
  await follower.listener.close();
  cable.close();
  await leader.listener.close();
  await endSleeping(pg);
  await pg.superuser.query('DROP TABLE IF EXISTS t');
});

const insert = 'INSERT INTO t VALUES (1)';

async function commitThatWaits(...messages: readonly Buffer[]): Promise<void> {
  letCommitsGo = await holdCommits(pg);
  wire.send(...messages);
  await untilCommitsWait(pg, 1);
}

/** A port where somebody listens, and says no more than this. */
async function startSilence(says?: Buffer) {
  const open = new Set<Socket>();
  const silence = { port: 0, heard: 0, messages: 0, open: 0, close: (): void => undefined };
  const server = createServer((socket) => {
    open.add(socket);
    silence.open = open.size;
    socket.on('data', (bytes) => {
      silence.heard += bytes.length;
      silence.messages += 1;
      if (says !== undefined && silence.messages === 1) socket.write(says);
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      open.delete(socket);
      silence.open = open.size;
    });
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  silence.port = (server.address() as AddressInfo).port;
  silence.close = () => {
    server.close();
    for (const socket of open) socket.destroy();
  };
  return silence;
}

describe('a client of a follower', () => {
  it('is served by the leader, and counts at both', async () => {
    const client = await follower.client();
    await client.query('INSERT INTO t SELECT generate_series(1, 1000)');
    expect((await client.query('SELECT count(*)::int AS n FROM t')).rows).toEqual([{ n: 1000 }]);
    expect([leader.listener.clients, follower.listener.clients]).toEqual([2, 2]);
    await client.end();
    await expect.poll(() => [leader.listener.clients, follower.listener.clients]).toEqual([1, 1]);
  });

  it('may cancel there what it runs', async () => {
    const client = await follower.client();
    const cancelled = codeOf(client.query('SELECT pg_sleep(20)'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    const packet = cancelPacket(keyOf(client));
    const socket = connect(follower.connection.port, '127.0.0.1', () => socket.end(packet));
    socket.on('error', () => {});
    expect(await cancelled).toBe('57014');
    await client.end();
  });

  it('has the connection of a cancel end no sooner than that is delivered', async () => {
    const client = await follower.client();
    client.on('error', () => {});
    cable.freeze();
    let ended = false;
    const socket = connect(follower.connection.port, '127.0.0.1', () =>
      socket.write(cancelPacket(keyOf(client))),
    );
    socket.on('error', () => {});
    socket.on('close', () => {
      ended = true;
    });
    socket.resume();
    await sleep(300);
    expect(ended).toBe(false);
    cable.cut();
    await expect.poll(() => ended).toBe(true);
  });

  it('ends quietly with a Terminate, and with the end of its connection', async () => {
    await ask(wire, q(`BEGIN; ${insert}`));
    wire.send(send.terminate);
    expect(await wire.untilClosed()).toEqual([]);
    const other = await connectWire(follower.connection);
    other.socket.end();
    expect(await other.untilClosed()).toEqual([]);
    await expect.poll(() => backends(pg)).toBe(0);
    expect(await keys(pg)).toEqual([]);
  });

  it('that goes away while its COMMIT waits does not end the wait', async () => {
    await commitThatWaits(q(insert));
    wire.socket.resetAndDestroy();
    await sleep(100);
    expect(await waitingCommits(pg)).toBe(1);
    await letCommitsGo?.();
    await expect.poll(() => keys(pg)).toEqual([1]);
  });

  it('that breaks the protocol is ended alone, with 08P01', async () => {
    const other = await follower.client();
    wire.send(Buffer.from([0x51, 0, 0, 0, 1]));
    expect(await lastWords(wire)).toEqual([fatal('08P01')]);
    expect((await other.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await other.end();
  });

  it('hears it when its password is wrong, and counts nowhere', async () => {
    const before = [leader.listener.clients, follower.listener.clients];
    expect(await codeOf(follower.client({ password: 'wrong' }))).toBe('28P01');
    await expect.poll(() => [leader.listener.strangers, follower.listener.strangers]).toEqual([0, 0]);
    expect([leader.listener.clients, follower.listener.clients]).toEqual(before);
  });

  it('waits for a leader to be found, for a bounded time', async () => {
    follower.service.setService({ kind: 'nowhere', reason: 'an election' });
    const begun = performance.now();
    expect(await codeOf(follower.client())).toBe('57P03');
    expect(performance.now() - begun).toBeGreaterThan(250);
    setTimeout(() => follower.service.setService(leaderAt(leader.connection.port)), 100);
    const client = await follower.client();
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();
  });

  it('is passed on to whoever leads next when it has only said hello, and hears nothing of it', async () => {
    const silent = await startSilence();
    follower.service.setService(leaderAt(silent.port, 'r2'));
    const before = follower.listener.clients;
    const client = follower.client();
    await expect.poll(() => silent.heard).toBeGreaterThan(0);
    follower.service.setService({ kind: 'nowhere', reason: 'an election' });
    await expect.poll(() => silent.open).toBe(0);
    follower.service.setService(leaderAt(leader.connection.port));
    expect((await (await client).query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    expect([follower.listener.clients, follower.listener.strangers]).toEqual([before + 1, 0]);
    await (await client).end();
    await expect.poll(() => follower.listener.clients).toBe(before);
    silent.close();
  });

  it('is passed on again where the next one leads no more, either', async () => {
    const [first, second] = [await startSilence(), await startSilence()];
    follower.service.setService(leaderAt(first.port, 'r2'));
    const client = follower.client();
    await expect.poll(() => first.heard).toBeGreaterThan(0);
    follower.service.setService(leaderAt(second.port, 'r3'));
    await expect.poll(() => second.heard).toBeGreaterThan(0);
    await expect.poll(() => first.open).toBe(0);
    follower.service.setService(leaderAt(leader.connection.port));
    expect((await (await client).query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await (await client).end();
    first.close();
    second.close();
  });

  it('is not sent round and round by two that take each other for the leader', async () => {
    leader.service.setService(leaderAt(follower.connection.port, 'r2'));
    expect(await codeOf(follower.client())).toBe('57P03');
  });

  it('that comes when the leader has just died waits for the next one', async () => {
    follower.service.setService(leaderAt(1));
    const coming = follower.client();
    await sleep(150);
    follower.service.setService(leaderAt(cable.port));
    const client = await coming;
    expect((await client.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    await client.end();
  });

  it('of a leader that nobody answers for hears 08001', async () => {
    follower.service.setService(leaderAt(1));
    expect(await codeOf(follower.client())).toBe('08001');
  });

  it('that mentions synchronous_commit is distrusted by the leader', async () => {
    await ask(wire, q('SET synchronous_commit = off'));
    expect([leader.service.distrusted, follower.service.distrusted]).toEqual([1, 0]);
  });
});

/** What a client hears of what it has asked, up to the end of that; its connection stays. */
async function hears(client: WireClient): Promise<readonly string[]> {
  return (await client.until('Z')).map((one) => describeFrame(one).replace(/ M=.*/, ''));
}
const goesOn = ['T', 'D', 'C SELECT 1\\0', 'Z I'];

describe('when the leader goes away, a client of a follower', () => {
  it('goes on if it is owed nothing, and hears at its next statement that the transaction is lost that was open', async () => {
    const open = await connectWire(follower.connection);
    await ask(open, q(`BEGIN; ${insert}`));
    cable.cut();
    await sleep(100);
    const told = await ask(wire, q('SELECT 1'));
    expect(told.map((line, at) => (at < 2 ? line[0] : line))).toEqual(goesOn);
    open.send(q('SELECT 1'));
    expect(await hears(open)).toEqual(['E V=ERROR C=40001', 'Z E']);
    expect(await ask(open, q('ROLLBACK'))).toEqual(['C ROLLBACK\\0', 'Z I']);
    expect(await ask(open, q('SELECT a FROM t'))).toHaveLength(3);
    expect(follower.service.asked).toEqual([]);
    open.close();
  });

  it.each([
    ['committed', ['C COMMIT\\0', 'Z I']],
    ['notCommitted', ['E V=ERROR C=40001', 'Z I']],
    ['unknown', ['E V=ERROR C=08007', 'Z I']],
  ] as const)('whose COMMIT waits and is %s hears so', async (outcome, words) => {
    follower.service.outcome = outcome;
    await ask(wire, q(`BEGIN; ${insert}`));
    await commitThatWaits(q('COMMIT'));
    await transactionIsTold();
    cable.cut();
    expect(await hears(wire)).toEqual(words);
    expect(follower.service.asked).toMatchObject([{ leadership: { round: 1, replica: 'test' } }]);
    expect(leader.service.asked).toEqual([]);
  });

  it('whose statement is committed hears that its answer is lost', async () => {
    follower.service.outcome = 'committed';
    await commitThatWaits(run(`${insert} RETURNING a`), send.sync);
    await transactionIsTold();
    cable.cut();
    expect(await hears(wire)).toEqual(['E V=ERROR C=RQ001', 'Z I']);
  });

  it('whose statement in a block was running hears that it was not committed', async () => {
    await ask(wire, q(`BEGIN; ${insert}`));
    wire.send(q('SELECT pg_sleep(20)'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    cable.cut();
    expect(await hears(wire)).toEqual(['E V=ERROR C=40001', 'Z E']);
  });

  it('of whose transaction nothing is known hears 08007', async () => {
    wire.send(q('DO $$ BEGIN PERFORM pg_sleep(20); END $$'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    cable.cut();
    expect(await hears(wire)).toEqual(['E V=ERROR C=08007', 'Z I']);
    expect(follower.service.asked).toEqual([]);
  });

  it('that was answered is not told of the transaction before', async () => {
    follower.service.outcome = 'committed';
    await commitThatWaits(run(insert), send.sync);
    await transactionIsTold();
    await letCommitsGo?.();
    await wire.until('Z');
    cable.cut();
    await sleep(100);
    const told = await ask(wire, q('SELECT 1'));
    expect(told.map((line, at) => (at < 2 ? line[0] : line))).toEqual(goesOn);
    expect(follower.service.asked).toEqual([]);
  });

  it('of which part of the answer was told hears no second answer', async () => {
    follower.service.outcome = 'committed';
    await ask(wire, q('BEGIN'));
    await commitThatWaits(q("SELECT repeat('x', 20000); INSERT INTO t VALUES (1); COMMIT"));
    await wire.until('T');
    await sleep(200);
    cable.cut();
    expect((await hears(wire)).slice(-2)).toEqual(['E V=ERROR C=08007', 'Z I']);
  });

  it('does not wait for long for a leader that lives, leads no more and says nothing', async () => {
    follower.service.outcome = 'notCommitted';
    await ask(wire, q(`BEGIN; ${insert}`));
    await commitThatWaits(q('COMMIT'));
    await transactionIsTold();
    follower.service.setService({ kind: 'here', generation: 2 });
    expect(await lastWords(wire)).toEqual([fatal('40001')]);
  });

  it('gets from its own replica what the leader does not know', async () => {
    follower.service.outcome = 'committed';
    leader.service.outcome = 'unknown';
    await ask(wire, q(`BEGIN; ${insert}`));
    await commitThatWaits(q('COMMIT'));
    await transactionIsTold();
    leader.service.setService({ kind: 'nowhere', reason: 'deposed' });
    expect(await lastWords(wire)).toEqual(['C COMMIT\\0', 'Z I', fatal('57P01')]);
  });

  it('hears from the leader itself what the leader knows', async () => {
    leader.service.outcome = 'notCommitted';
    await ask(wire, q(`BEGIN; ${insert}`));
    await commitThatWaits(q('COMMIT'));
    await transactionIsTold();
    leader.service.setService({ kind: 'nowhere', reason: 'deposed' });
    expect(await lastWords(wire)).toEqual([fatal('40001')]);
    expect(follower.service.asked).toEqual([]);
  });

  it('hears that the outcome is unknown if its own replica stops meanwhile', async () => {
    await ask(wire, q(`BEGIN; ${insert}`));
    await commitThatWaits(q('COMMIT'));
    await transactionIsTold();
    void follower.listener.close();
    expect(await lastWords(wire)).toEqual([fatal('08007')]);
  });
});

it.each([1, 3, 7])(
  'what the replicas tell each other never reaches a client, in bits of %i bytes',
  async (bitBytes) => {
    wire.close();
    await follower.listener.close();
    cable.close();
    await openFollower(bitBytes);
    const answers: string[] = [];
    for (const sql of [
      `BEGIN; ${insert}; SELECT pg_sleep(0.2); COMMIT`,
      "INSERT INTO t SELECT 2 FROM pg_sleep(0.2) RETURNING repeat('x', 9000)",
    ]) {
      answers.push((await ask(wire, q(sql))).map((line) => line[0]).join(''));
      await sleep(60);
    }
    expect(answers).toEqual(['CCTDCCZ', 'TDCZ']);
    const direct = await connectWire(leader.connection);
    expect(await ask(direct, q('INSERT INTO t SELECT 3 FROM pg_sleep(0.2)'))).toEqual([
      'C INSERT 0 1\\0',
      'Z I',
    ]);
    direct.close();
  },
);
