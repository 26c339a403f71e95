/** Clients that ask to be answered by the replica's own PostgreSQL: what they are let do, what waits, and how they are told that it cannot be. A primary stands for the standby, whose life a test ends. */
import { connect } from 'node:net';
import type { Client, ClientConfig } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { Currency, Freshness } from '../../ports/standby-reads.ts';
import { doorOf, startGateway, type TestGateway } from './testing/gateway.ts';
import {
  cancelPacket,
  codeOf,
  failure,
  fatal,
  keyOf,
  lastWords,
  leaderAt,
  q,
  run,
  sleeping,
} from './testing/helpers.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, describeFrame, type WireClient } from './testing/wire-client.ts';

let pg: TestPostgres;
let follower: TestGateway;
let asked: Freshness[] = [];
let answer: () => Currency | Promise<Currency> = () => ({ code: 'current' });

const snapshot = { options: '-c barista.read_consistency=snapshot' };
const linearizable = { options: '-c barista.read_consistency=linearizable' };
const bounded = { options: '-c barista.read_consistency=bounded -c barista.max_staleness=2s' };

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query('CREATE TABLE t (a int PRIMARY KEY)');
  await pg.superuser.query('GRANT ALL ON t TO public');
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  asked = [];
  answer = () => ({ code: 'current' });
  const service = createMemoryClientService(null);
  service.setService(leaderAt(1));
  service.setStandby(doorOf(pg));
  service.mayRead = async (_life, freshness) => {
    asked.push(freshness);
    return answer();
  };
  follower = await startGateway(pg, { service, limits: { leaderWaitMs: 300 } });
});
const opened: { end(): unknown }[] = [];
afterEach(async () => {
  for (const one of opened.splice(0)) await one.end();
  await follower.listener.close();
});

async function client(config: ClientConfig): Promise<Client> {
  const opening = await follower.client(config);
  opened.push(opening);
  return opening;
}

async function wireOf(mode: string): Promise<WireClient> {
  const wire = await connectWire({ ...follower.connection, options: `-c barista.read_consistency=${mode}` });
  opened.push({ end: () => wire.close() });
  return wire;
}

const refusal = (): Currency => ({ code: 'noAnswer', staleMs: 12_345 });

describe('a session that reads', () => {
  it('answers all that a client has asked before it closed its side, also what waits for its turn', async () => {
    let go: () => void = () => undefined;
    answer = () => new Promise((resolve) => (go = () => resolve({ code: 'current' })));
    const opening = wireOf('linearizable');
    await expect.poll(() => asked.length).toBe(1);
    go();
    const wire = await opening;
    wire.socket.end(Buffer.concat([q('SELECT 1'), q('SELECT 2')]));
    await expect.poll(() => asked.length).toBe(2);
    go();
    expect((await wire.untilClosed()).map(({ type }) => type).join('')).toBe('TDCZTDCZ');
  });

  it('is answered, and writes nothing', async () => {
    const reader = await client(snapshot);
    expect((await reader.query('SELECT count(*)::int AS n FROM t')).rows).toEqual([{ n: 0 }]);
    expect(await codeOf(reader.query('INSERT INTO t VALUES (1)'))).toBe('25006');
    expect(await codeOf(reader.query('CREATE TABLE other (a int)'))).toBe('25006');
    expect((await reader.query('SHOW barista.read_consistency')).rows).toEqual([
      { 'barista.read_consistency': 'snapshot' },
    ]);
    expect(asked.every(({ kind }) => kind === 'snapshot')).toBe(true);
  });

  it('asks before each request how current what is here is, and before it begins', async () => {
    const reader = await client(bounded);
    await reader.query('SELECT 1');
    await reader.query('SELECT $1::int', [2]);
    expect(asked).toEqual(Array.from({ length: 3 }, () => ({ kind: 'bounded', stalenessMaxMs: 2000 })));
  });

  it('asks for a transaction at REPEATABLE READ until it has its snapshot, and for any other each time', async () => {
    const reader = await client(linearizable);
    const askedFor = async (...texts: readonly string[]): Promise<number> => {
      asked = [];
      for (const text of texts) await reader.query(text);
      return asked.length;
    };
    const queries = ['SELECT 1', 'SELECT 2', 'DECLARE c CURSOR FOR SELECT 3', 'FETCH c'];
    expect(await askedFor('BEGIN ISOLATION LEVEL REPEATABLE READ', ...queries, 'COMMIT')).toBe(2);
    expect(await askedFor('BEGIN', ...queries, 'COMMIT')).toBe(5);
    await askedFor('BEGIN ISOLATION LEVEL REPEATABLE READ', 'SELECT 1');
    expect(await askedFor('COMMIT AND CHAIN', 'SELECT 1', 'SELECT 2', 'COMMIT')).toBe(3);
  });

  it('passes a request on when it may, and what is sent meanwhile waits behind it', async () => {
    const wire = await wireOf('linearizable');
    const held: ((currency: Currency) => void)[] = [];
    answer = () => new Promise((resolve) => held.push(resolve));
    wire.send(q('SELECT 1'));
    await expect.poll(() => asked.length).toBe(2);
    const { rows } = await pg.superuser.query("SELECT 1 FROM pg_stat_activity WHERE query = 'SELECT 1'");
    expect(rows).toEqual([]);
    answer = () => ({ code: 'current' });
    wire.send(q('SELECT 2'));
    // Time enough for it to be read, if it were.
    for (let times = 0; times < 5; times++) await pg.superuser.query('SELECT 3');
    expect(asked.length).toBe(2);
    held[0]!({ code: 'current' });
    await wire.until('Z');
    await wire.until('Z');
    expect(asked.length).toBe(3);
  });

  it('changes how it reads by a SET of its own', async () => {
    const reader = await client(snapshot);
    asked = [];
    await reader.query("SET barista.read_consistency = 'linearizable'");
    await reader.query('SELECT 1');
    await reader.query({ text: 'SET barista.read_consistency = bounded', name: 'as JDBC does' });
    await reader.query('SELECT 1');
    await reader.query('RESET ALL');
    await reader.query('SELECT 1');
    await reader.query({ text: 'SET barista.read_consistency = bounded', name: 'as JDBC does' });
    await reader.query('SELECT 1');
    expect(asked.map(({ kind }) => kind)).toEqual(['linearizable', 'bounded', 'bounded']);
  });

  it.each([
    ["SET barista.read_consistency = 'fast'", '22023'],
    ["SET barista.max_staleness = '0'", '22023'],
    ['SET barista.read_consistency = leader', '0A000'],
    ["SELECT set_config('barista.read_consistency', 'bounded', false)", '0A000'],
  ])('is told what it cannot ask for: %s', async (text, code) => {
    const reader = await client(snapshot);
    expect(await codeOf(reader.query(text))).toBe(code);
    expect(await codeOf(reader.query(text, []))).toBe(code);
    await reader.query('SELECT 1');
  });

  it('cannot change it in a transaction, which fails', async () => {
    const reader = await client(snapshot);
    await reader.query('BEGIN');
    expect(await codeOf(reader.query('SET barista.read_consistency = linearizable'))).toBe('25001');
    expect(await codeOf(reader.query('SELECT 1'))).toBe('25P02');
    await reader.query('ROLLBACK');
    await reader.query('SELECT 1');
  });

  it('can change it only alone, not among others that are to be read so', async () => {
    const wire = await wireOf('snapshot');
    wire.send(Buffer.concat([q('SET barista.read_consistency = linearizable'), q('SELECT 1')]));
    for (let times = 0; times < 2; times++)
      expect((await wire.until('Z')).map(describeFrame)).toEqual([expect.stringContaining('0A000'), 'Z I']);
  });

  it('reads no less strictly what stands before what resets everything', async () => {
    const wire = await wireOf('snapshot');
    wire.send(q('SET barista.read_consistency = linearizable'));
    await wire.until('Z');
    wire.send(Buffer.concat([q('SELECT 1'), q('DISCARD ALL')]));
    await wire.until('Z', 2);
    wire.send(q('SELECT 1'));
    await wire.until('Z');
    expect(asked.map(({ kind }) => kind)).toEqual(['snapshot', 'linearizable']);
  });

  it('is given up when the connection of its client breaks', async () => {
    const wire = await wireOf('snapshot');
    wire.send(q('SELECT pg_sleep(60)'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    wire.socket.resetAndDestroy();
    await expect.poll(() => sleeping(pg)).toBe(0);
  });

  it('is cancelled by its own key', async () => {
    const reader = await client(snapshot);
    const sleep = codeOf(reader.query('SELECT pg_sleep(60)'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    connect(follower.connection).end(cancelPacket(keyOf(reader)));
    expect(await sleep).toBe('57014');
  });
});

describe('what is not current enough', () => {
  it.each([
    ['linearizable', linearizable, /linearizable read now/],
    ['bounded', bounded, /older than barista.max_staleness \(2000 ms\)/],
  ])('refuses a %s request, and the session goes on', async (_name, config, message) => {
    const reader = await client(config);
    answer = refusal;
    for (const request of [() => reader.query('SELECT 1'), () => reader.query('SELECT $1::int', [1])]) {
      const error = await failure(request());
      expect(error.code).toBe('57P03');
      expect(error.message).toMatch(message);
    }
    answer = () => ({ code: 'current' });
    expect((await reader.query('SELECT 1 AS a')).rows).toEqual([{ a: 1 }]);
  });

  it('answers each of several requests that came together', async () => {
    const wire = await wireOf('linearizable');
    answer = refusal;
    wire.send(Buffer.concat([q('SELECT 1'), run('SELECT 2'), send.sync, q('SELECT 3')]));
    for (let times = 0; times < 3; times++) {
      const told = (await wire.until('Z')).map(describeFrame);
      expect(told).toEqual([expect.stringContaining('57P03'), 'Z I']);
    }
  });

  it('makes a transaction fail', async () => {
    const reader = await client(linearizable);
    for (const values of [undefined, []]) {
      await reader.query('BEGIN');
      answer = refusal;
      expect(await codeOf(reader.query('SELECT 1', values))).toBe('57P03');
      answer = () => ({ code: 'current' });
      expect(await codeOf(reader.query('SELECT 1'))).toBe('25P02');
      await reader.query('ROLLBACK');
    }
  });

  it('makes a transaction of several messages fail, too', async () => {
    const reader = await client(linearizable);
    await reader.query('BEGIN');
    answer = refusal;
    expect(await codeOf(reader.query('SELECT $1::int', [1]))).toBe('57P03');
    answer = () => ({ code: 'current' });
    expect(await codeOf(reader.query('SELECT $1::int', [1]))).toBe('25P02');
    await reader.query('ROLLBACK');
    expect((await reader.query('SELECT $1::int AS a', [1])).rows).toEqual([{ a: 1 }]);
  });

  it('does not keep a transaction from ending', async () => {
    const reader = await client(linearizable);
    const ends = { name: 'end', text: 'ROLLBACK' };
    for (const end of ['ROLLBACK', 'commit;', ends, ends]) {
      answer = () => ({ code: 'current' });
      await reader.query('BEGIN');
      answer = refusal;
      await reader.query(end);
    }
    expect(await codeOf(reader.query('SELECT 1'))).toBe('57P03');
  });

  it('is given up when the client cancels it', async () => {
    const reader = await client(linearizable);
    answer = () => new Promise(() => {});
    const read = codeOf(reader.query('SELECT 1'));
    await expect.poll(() => asked.length).toBe(2);
    connect(follower.connection).end(cancelPacket(keyOf(reader)));
    expect(await read).toBe('57014');
    answer = () => ({ code: 'current' });
    await reader.query('SELECT 1');
  });

  it('leaves nothing running of a session that it ends', async () => {
    const wire = await wireOf('linearizable');
    wire.send(q('SELECT pg_sleep(60)'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    answer = refusal;
    wire.send(q('SELECT 1'));
    expect(await lastWords(wire)).toEqual([fatal('57P03')]);
    await expect.poll(() => sleeping(pg)).toBe(0);
  });

  it('ends a session that cannot be told otherwise', async () => {
    const wire = await wireOf('linearizable');
    answer = refusal;
    wire.send(run('SELECT 1'));
    expect(await lastWords(wire)).toEqual([fatal('57P03')]);
  });

  it('lets nobody in', async () => {
    answer = refusal;
    expect(await codeOf(client(linearizable))).toBe('57P03');
  });
});

describe('what a linearizable read has found', () => {
  it('is told when the leader shows it, and what comes behind it waits', async () => {
    const wire = await wireOf('linearizable');
    const held: ((isShown: boolean) => void)[] = [];
    follower.service.tells = () => new Promise((resolve) => held.push(resolve));
    wire.send(q("SELECT 'first'"), q("SELECT 'second'"));
    await expect.poll(() => held.length).toBe(1);
    let told = 0;
    wire.socket.on('data', () => told++);
    // Time enough for more to be told, if it were.
    for (let times = 0; times < 5; times++) await pg.superuser.query('SELECT 3');
    expect(told).toBe(0);
    follower.service.tells = null;
    held[0]!(true);
    const text = (await wire.until('Z', 2)).map(describeFrame).join(' ');
    expect(text).toMatch(/first.* Z I .*second.* Z I$/);
  });

  it('is held back when the session has come to read so, and no other', async () => {
    const reader = await client(snapshot);
    let waits = 0;
    follower.service.tells = async () => {
      waits += 1;
      return true;
    };
    await reader.query('SELECT 1');
    await reader.query("SET barista.read_consistency = 'linearizable'");
    expect(waits).toBe(0);
    await reader.query('SELECT 1');
    await reader.query('SELECT $1::int', [1]);
    expect(waits).toBe(2);
    await reader.query('BEGIN');
    await reader.query('SELECT 1');
    const before = waits;
    await reader.query('COMMIT');
    expect(waits).toBe(before);
    await reader.query("SET barista.read_consistency = 'bounded'");
    await reader.query('SELECT 1');
    expect(waits).toBe(before);
  });

  it('is never told when the leader does not show it in time, which ends the session', async () => {
    const wire = await wireOf('linearizable');
    follower.service.tells = () => Promise.resolve(false);
    wire.send(q('SELECT 1'));
    expect(await lastWords(wire)).toEqual([fatal('57P03')]);
  });

  it('is never told when the standby goes away before', async () => {
    const wire = await wireOf('linearizable');
    const held: ((isShown: boolean) => void)[] = [];
    follower.service.tells = () => new Promise((resolve) => held.push(resolve));
    wire.send(q('SELECT 1'));
    await expect.poll(() => held.length).toBe(1);
    follower.service.setStandby(null);
    held[0]!(false);
    expect(await lastWords(wire)).toEqual([fatal('57P01')]);
  });

  it('includes who may log in', async () => {
    follower.service.tells = () => Promise.resolve(false);
    expect(await codeOf(client(linearizable))).toBe('57P03');
  });
});

describe('without a standby', () => {
  it('nobody is let in', async () => {
    follower.service.setStandby(null);
    expect(await codeOf(client(snapshot))).toBe('57P03');
  });

  it('a session ends, and what PostgreSQL does for it is given up', async () => {
    const reader = await client(snapshot);
    const idle = await client(snapshot);
    const idleEnd = new Promise<Error>((resolve) => idle.once('error', resolve));
    const end = codeOf(reader.query('SELECT pg_sleep(60)'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    follower.service.setStandby(null);
    expect(await end).toBe('57P01');
    expect(await idleEnd).toMatchObject({ code: '57P01' });
    await expect.poll(() => sleeping(pg)).toBe(0);
  });
});

describe('at the leader', () => {
  it('a session that did not begin so is told that it is too late', async () => {
    const leader = await startGateway(pg);
    const writer = await leader.client();
    for (const values of [undefined, []]) {
      expect(await codeOf(writer.query("SET barista.read_consistency = 'snapshot'", values))).toBe('0A000');
      await writer.query("SET barista.read_consistency = 'leader'", values);
      await writer.query('RESET barista.read_consistency', values);
    }
    await writer.query('BEGIN');
    expect(await codeOf(writer.query("SET barista.read_consistency = 'snapshot'"))).toBe('0A000');
    expect(await codeOf(writer.query('SELECT 1'))).toBe('25P02');
    await writer.query('ROLLBACK');
    const reader = await leader.client(snapshot);
    await reader.query("SET barista.read_consistency = 'linearizable'");
    await Promise.all([writer.end(), reader.end()]);
    await leader.listener.close();
  });

  it('a session that reads is one like others, and writes nothing', async () => {
    const leader = await startGateway(pg);
    const reader = await leader.client(linearizable);
    await reader.query('SELECT 1');
    expect(await codeOf(reader.query('INSERT INTO t VALUES (1)'))).toBe('25006');
    await reader.end();
    await leader.listener.close();
  });
});

it('a value that there is not is refused', async () => {
  expect(await codeOf(client({ options: '-c barista.read_consistency=fast' }))).toBe('22023');
});
