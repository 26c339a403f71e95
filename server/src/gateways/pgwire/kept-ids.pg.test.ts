/** Ids of transactions that are asked for ahead of what commits them: what is known when the leader dies, and that nobody notices otherwise. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Relay, startRelay } from '../../adapters/testing/relay.ts';
import type { OpenTransaction } from '../../ports/client-service.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import { message } from './testing/exchange.ts';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import {
  ask,
  endSleeping,
  holdCommits,
  keys,
  leaderAt,
  q,
  run,
  settled,
  sleep,
  sleeping,
  untilCommitsWait,
} from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, describeFrame, type WireClient } from './testing/wire-client.ts';

let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;
let cable: Relay;
let wire: WireClient;
let letCommitsGo: (() => Promise<void>) | null = null;

beforeAll(async () => {
  pg = await startTestPostgres();
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  // It is never late: what the follower knows it has asked for itself.
  leader = await startGateway(pg, { limits: { lateMs: 60_000 } });
  cable = await startRelay(leader.connection.port);
  const service = createMemoryClientService(null);
  service.setService(leaderAt(cable.port));
  follower = await startGateway(pg, { service, limits: { keepWaitMs: 5_000 } });
  wire = await connectWire(follower.connection);
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

/** Of the only transaction that waits, as PostgreSQL has it. */
async function waitingId(): Promise<bigint> {
  const { rows } = await pg.superuser.query<{ xid: string }>(
    "SELECT backend_xid::text AS xid FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = 'barista'",
  );
  return BigInt(rows[0]?.xid ?? 0);
}

async function hears(times = 1): Promise<string[]> {
  const lines: string[] = [];
  for (let time = 0; time < times; time += 1) {
    lines.push(...(await wire.until('Z')).map(describeFrame));
  }
  return lines.map((line) => line.replace(/ M=.*/, ''));
}

interface Request {
  readonly name: string;
  readonly before: string | null;
  readonly messages: readonly Buffer[];
  /** What the client hears when it is committed. */
  readonly hears: readonly string[];
}

const answerLost = ['E V=ERROR C=RQ001', 'Z I'];
const requests: readonly Request[] = [
  { name: 'COMMIT', before: insert, messages: [q('COMMIT')], hears: ['C COMMIT\\0', 'Z I'] },
  {
    name: 'COMMIT by messages',
    before: insert,
    messages: [run('COMMIT'), send.sync],
    hears: ['1 ', '2 ', 'n ', 'C COMMIT\\0', 'Z I'],
  },
  { name: 'a change and COMMIT', before: '', messages: [q(`${insert}; COMMIT`)], hears: answerLost },
  {
    name: 'both by messages',
    before: '',
    messages: [run(insert), run('COMMIT'), send.sync],
    hears: answerLost,
  },
  { name: 'a change', before: null, messages: [q(insert)], hears: ['C INSERT 0 1\\0', 'Z I'] },
  { name: 'a change by messages', before: null, messages: [run(insert), send.sync], hears: answerLost },
  {
    name: 'a pipeline of changes',
    before: null,
    messages: [run(insert), run('INSERT INTO t VALUES (2)'), send.sync],
    hears: answerLost,
  },
];

async function interruptedBy(end: () => Promise<void> | void, request: Request): Promise<bigint> {
  const { before, messages } = request;
  if (before !== null) await ask(wire, q(`BEGIN; ${before}`));
  await commitThatWaits(...messages);
  const xid = await waitingId();
  await settled();
  await end();
  return xid;
}

describe.each(requests)('$name that waits when the leader goes', (request) => {
  it('is asked for by its id', async () => {
    const xid = await interruptedBy(() => cable.cut(), request);
    await expect.poll(() => follower.service.asked).toMatchObject([{ leadership: { round: 1 } }]);
    expect((follower.service.asked[0] as OpenTransaction).xid % 2n ** 32n).toBe(xid);
  });

  it('has the answer that is true', async () => {
    follower.service.outcome = 'committed';
    await interruptedBy(() => cable.cut(), request);
    expect(await hears()).toEqual(request.hears);
    expect((await ask(wire, q('SELECT 1'))).at(-1)).toBe('Z I');
  });
});

it.each([
  ['a Query', [q(insert)], ['C INSERT 0 1\\0', 'Z I']],
  ['messages', [run(insert), send.sync], ['1 ', '2 ', 'n ', 'C INSERT 0 1\\0', 'Z I']],
])('a change whose id has not come was not committed: %s', async (_, messages, told) => {
  leader.service.holdAnswers();
  wire.send(...messages);
  await sleep(100);
  expect(await keys(pg)).toEqual([]);
  cable.cut();
  leader.service.letGo();
  expect(await hears()).toEqual(told);
  expect(await keys(pg)).toEqual([1]);
  expect(follower.service.asked).toEqual([]);
});

it('a change whose client has gone before its id came is made all the same', async () => {
  leader.service.holdAnswers();
  wire.send(q(insert));
  await sleep(100);
  wire.close();
  await sleep(100);
  leader.service.letGo();
  await expect.poll(() => keys(pg)).toEqual([1]);
});

it('the id of a transaction that was rolled back is not that of the next one in its chain', async () => {
  for (const sql of ['BEGIN', insert, 'ROLLBACK AND CHAIN', insert]) await ask(wire, q(sql));
  const xid = await interruptedBy(() => cable.cut(), {
    name: '',
    before: null,
    messages: [q('COMMIT')],
    hears: [],
  });
  await expect.poll(() => follower.service.asked).toHaveLength(1);
  expect((follower.service.asked[0] as OpenTransaction).xid % 2n ** 32n).toBe(xid);
});

it('a change that is not committed is sent to the next leader', async () => {
  follower.service.outcome = 'notCommitted';
  await ask(wire, q('CREATE TABLE u (a int)'));
  await interruptedBy(() => cable.cut(), {
    name: '',
    before: null,
    messages: [q('INSERT INTO u VALUES (1)')],
    hears: [],
  });
  // Here the next leader has the same PostgreSQL.
  await untilCommitsWait(pg, 2);
  await letCommitsGo?.();
  expect(await hears()).toEqual(['C INSERT 0 1\\0', 'Z I']);
  // Both are woken at once, and whoever is answered first need not be the first that others see.
  const count = () => pg.superuser.query<{ n: number }>('SELECT count(*)::int AS n FROM u');
  await expect.poll(async () => (await count()).rows[0]?.n).toBe(2);
  await ask(wire, q('DROP TABLE u'));
});

it('a tag is told behind the commit: where that fails, the error alone', async () => {
  await pg.superuser.query(
    'CREATE TABLE parent (a int PRIMARY KEY); GRANT ALL ON parent TO PUBLIC; CREATE TABLE child (a int REFERENCES parent DEFERRABLE INITIALLY DEFERRED); GRANT ALL ON child TO PUBLIC',
  );
  try {
    for (const port of [leader.connection.port, follower.connection.port]) {
      const one = await connectWire({ ...follower.connection, port });
      const told = (await ask(one, q('INSERT INTO child VALUES (7) RETURNING a'))).map((line) => line[0]);
      expect(told.join('')).toBe('TDEZ');
      const both = (await ask(one, q('INSERT INTO child VALUES (7); SELECT 1'))).map((line) => line[0]);
      expect(both.join('')).toBe('CTDEZ');
      one.close();
    }
  } finally {
    await pg.superuser.query('DROP TABLE child, parent');
  }
});

describe('a read that is under way when the leader goes', () => {
  const slow = 'SELECT a, pg_sleep(0.5) IS NULL AS slept FROM t';
  const requests = { 'a Query': [q(slow)], messages: [run(slow), send.sync] };

  it.each(Object.entries(requests))('is made at the next one: %s', async (_, messages) => {
    await ask(wire, q(insert));
    wire.send(...messages);
    await expect.poll(() => sleeping(pg)).toBe(1);
    cable.cut();
    const told = await hears();
    expect(told.slice(-3).map((line) => line.split(' ')[0])).toEqual(['D', 'C', 'Z']);
    expect(told.slice(-2)).toEqual(['C SELECT 1\\0', 'Z I']);
    expect(await ask(wire, q('INSERT INTO t VALUES (2)'))).toEqual(['C INSERT 0 1\\0', 'Z I']);
  });

  it('leaves the statement without a name to the client', async () => {
    await ask(wire, q(insert));
    wire.send(run(slow), send.sync);
    await expect.poll(() => sleeping(pg)).toBe(1);
    cable.cut();
    expect((await hears()).slice(-2)).toEqual(['C SELECT 1\\0', 'Z I']);
    const again = [send.bind({ portal: '', statement: '' }), send.execute(''), send.sync];
    expect((await ask(wire, ...again)).slice(-2)).toEqual(['C SELECT 1\\0', 'Z I']);
  });

  it('is not repeated if it writes: nobody knows whether it has', async () => {
    await pg.superuser.query(
      `CREATE OR REPLACE FUNCTION writes() RETURNS int LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN PERFORM pg_sleep(0.5); INSERT INTO t VALUES (9); RETURN 9; END $$`,
    );
    for (const messages of [[q('SELECT writes()')], [run('SELECT writes()'), send.sync]]) {
      wire.send(...messages);
      await expect.poll(() => sleeping(pg)).toBe(1);
      await settled();
      cable.cut();
      expect((await hears()).slice(-2)).toEqual(['E V=ERROR C=08007', 'Z I']);
      await expect.poll(() => sleeping(pg)).toBe(0);
      expect(await ask(wire, q('BEGIN'))).toEqual(['C BEGIN\\0', 'Z T']);
      expect(await ask(wire, q('DELETE FROM t'))).toEqual(['C DELETE 1\\0', 'Z T']);
      expect(await ask(wire, q('COMMIT'))).toEqual(['C COMMIT\\0', 'Z I']);
    }
  });

  it('has an error of its own', async () => {
    wire.send(q('SELECT 1 / (pg_sleep(0.5)::text = $$x$$)::int'));
    await expect.poll(() => sleeping(pg)).toBe(1);
    cable.cut();
    expect((await hears()).slice(-2)).toEqual(['E V=ERROR C=22012', 'Z I']);
    expect((await ask(wire, q('SELECT 1'))).at(-1)).toBe('Z I');
  });
});

describe('nobody notices', () => {
  it('the statement without a name is the client’s', async () => {
    await ask(wire, send.parse('', insert), send.sync);
    await ask(wire, q('SELECT 1'));
    await ask(wire, send.parse('', 'INSERT INTO t VALUES (2)'), send.sync);
    const bound = [send.bind({ portal: '', statement: '' }), send.execute(''), send.sync];
    expect((await ask(wire, ...bound)).map((line) => line[0]).join('')).toBe('2CZ');
    expect(await keys(pg)).toEqual([2]);
  });

  it('nothing of it is left in the session, nor said of it', async () => {
    expect(await ask(wire, q(insert))).toEqual(['C INSERT 0 1\\0', 'Z I']);
    await ask(wire, q('BEGIN'));
    await ask(wire, q('INSERT INTO t VALUES (2)'));
    expect(await ask(wire, q('COMMIT AND CHAIN'))).toEqual(['C COMMIT\\0', 'Z T']);
    const left =
      "SELECT FROM pg_prepared_statements WHERE name <> '' UNION ALL SELECT FROM pg_cursors WHERE name <> ''";
    expect((await ask(wire, run(left), send.sync)).filter((line) => line.startsWith('D'))).toEqual([]);
    expect(await ask(wire, q('COMMIT'))).toEqual(['C COMMIT\\0', 'Z I']);
    const none = run('UPDATE t SET a = a + 10 WHERE a = 99');
    expect(await ask(wire, none, send.sync)).toEqual(['1 ', '2 ', 'n ', 'C UPDATE 0\\0', 'Z I']);
  });

  it('reads get no id', async () => {
    const now = async (): Promise<string> =>
      (await pg.superuser.query<{ x: string }>('SELECT pg_snapshot_xmax(pg_current_snapshot())::text AS x'))
        .rows[0]?.x ?? '';
    const before = await now();
    await ask(wire, q('SELECT 1'));
    await ask(wire, run('SELECT 1'), send.sync);
    await ask(wire, q('BEGIN'));
    await ask(wire, q('SELECT 1'));
    await ask(wire, q('COMMIT'));
    expect(await now()).toBe(before);
  });

  it('an error of the request is its own', async () => {
    await ask(wire, q(insert));
    for (const messages of [[q(insert)], [run(insert), send.sync]]) {
      const told = (await ask(wire, ...messages)).map((line) => line.replace(/ M=.*/, ''));
      expect(told.slice(-2)).toEqual(['E V=ERROR C=23505', 'Z I']);
    }
    expect(await ask(wire, q('INSERT INTO t VALUES (3)'))).toEqual(['C INSERT 0 1\\0', 'Z I']);
  });

  it('a change is committed though its client leaves behind it', async () => {
    wire.send(q(insert), message('X'));
    expect(await wire.untilClosed()).not.toEqual([]);
    await expect.poll(() => keys(pg)).toEqual([1]);
  });

  it('a change behind a message that fails is passed over, up to Sync', async () => {
    wire.send(send.parse('', 'SELEC'), q(insert));
    await wire.until('E');
    expect(await ask(wire, send.sync)).toEqual(['Z I']);
    expect(await ask(wire, q(insert))).toEqual(['C INSERT 0 1\\0', 'Z I']);
  });

  it.each<readonly [string, readonly Buffer[]]>([
    ['a Query', [q(`SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; ${insert}; COMMIT`)]],
    [
      'messages',
      [run('SET TRANSACTION ISOLATION LEVEL SERIALIZABLE'), run(insert), run('COMMIT'), send.sync],
    ],
  ])('what has to come before any query can still be said: %s', async (_, messages) => {
    await ask(wire, q('BEGIN'));
    const told = (await ask(wire, ...messages)).filter((line) => line.startsWith('C'));
    expect(told).toEqual(['C SET\\0', 'C INSERT 0 1\\0', 'C COMMIT\\0']);
  });

  it.each<readonly [string, readonly Buffer[]]>([
    ['a Query', [q(insert)]],
    ['messages', [run(insert), send.sync]],
  ])('nor who hears all that PostgreSQL says of its work: %s', async (_, messages) => {
    await ask(wire, q('SET client_min_messages = debug5'));
    expect((await ask(wire, ...messages)).filter((line) => line.includes('barista_'))).toEqual([]);
  });

  it('what a statement notifies of comes behind its tag, and ahead of ReadyForQuery', async () => {
    await ask(wire, q('CREATE TABLE n (a text)'));
    await ask(wire, q('LISTEN x'));
    for (const port of [leader.connection.port, follower.connection.port]) {
      const one = await connectWire({ ...follower.connection, port });
      await ask(one, q('LISTEN x'));
      const told = await ask(one, q("INSERT INTO n SELECT 1 FROM pg_notify('x', 'y')"));
      expect(told.map((line) => line[0]).join('')).toBe('CAZ');
      one.close();
    }
    await ask(wire, q('DROP TABLE n'));
  });

  it('of many requests at once, none of which is waited for', async () => {
    const numbers = [...Array(200).keys()];
    for (const n of numbers)
      wire.send(
        n % 2 === 0 ? q(`INSERT INTO t VALUES (${n})`) : run(`INSERT INTO t VALUES (${n})`),
        ...(n % 2 === 0 ? [] : [send.sync]),
      );
    const lines = await hears(numbers.length);
    expect(lines.filter((line) => line === 'C INSERT 0 1\\0')).toHaveLength(numbers.length);
    expect(await keys(pg)).toEqual(numbers);
  });

  it('where the functions may not be called', async () => {
    const functions = 'FUNCTION pg_current_xact_id(), pg_current_xact_id_if_assigned()';
    await pg.superuser.query(`REVOKE EXECUTE ON ${functions} FROM PUBLIC`);
    try {
      expect(await ask(wire, q(insert))).toEqual(['C INSERT 0 1\\0', 'Z I']);
      const told = await ask(wire, run('INSERT INTO t VALUES (2)'), send.sync);
      expect(told).toEqual(['1 ', '2 ', 'n ', 'C INSERT 0 1\\0', 'Z I']);
      await ask(wire, q('BEGIN; INSERT INTO t VALUES (3)'));
      expect(await ask(wire, q('COMMIT'))).toEqual(['C COMMIT\\0', 'Z I']);
      expect(await keys(pg)).toEqual([1, 2, 3]);
    } finally {
      await pg.superuser.query(`GRANT EXECUTE ON ${functions} TO PUBLIC`);
    }
  });
});

describe.each(requests)('$name whose session is terminated while it waits', (request) => {
  const terminate = async (): Promise<void> => {
    await pg.superuser.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'barista'",
    );
  };

  it.each([
    ['committed', 'E V=FATAL C=57P01'],
    ['notCommitted', 'E V=FATAL C=57P01'],
    ['unknown', 'E V=FATAL C=08007'],
  ] as const)('hears what is true if that is %s, and is not made anew', async (outcome, hears) => {
    follower.service.outcome = outcome;
    await interruptedBy(terminate, request);
    const words = (await wire.untilClosed()).map((line) => describeFrame(line).replace(/ M=.*/, ''));
    const warned = words.indexOf('N V=WARNING C=57P01');
    // PostgreSQL sends what it has of the answer ahead of the warning.
    const isBegun = warned > 0;
    const answer = request.hears === answerLost || isBegun ? [] : request.hears;
    const lost = request.hears === answerLost || isBegun ? 'E V=FATAL C=RQ001' : hears;
    expect(words.slice(warned + 1)).toEqual(outcome === 'committed' ? [...answer, lost] : [hears]);
    expect(follower.listener.measures()).toMatchObject({ requestsRepeated: 0 });
  });
});

describe('a session that hears no warnings', () => {
  it('is not made anew either when it is terminated while it waits', async () => {
    await ask(wire, q('SET client_min_messages = error'));
    await commitThatWaits(q(insert));
    await settled();
    await pg.superuser.query(
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'barista'",
    );
    const words = (await wire.untilClosed()).map((line) => describeFrame(line).replace(/ M=.*/, ''));
    expect(words).toEqual(['E V=FATAL C=08007']);
  });
});
