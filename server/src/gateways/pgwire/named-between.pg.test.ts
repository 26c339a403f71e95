/** What comes between a name and the statement that takes it, when all of that is repeated. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as send from '../../pgwire/frontend-messages.ts';
import { askState } from './kept/state-question.ts';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import { ask, keys, leaderAt, q, run } from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { client, gateway, insert, pg, recorded, useNamedTransactions } from './testing/named.ts';
import { connectWire } from './testing/wire-client.ts';

useNamedTransactions();

/** The same in three sessions, one after the other: what each was told of the last request. */
async function threeTimes(...requests: readonly (readonly Buffer[])[]): Promise<string[]> {
  const told: string[] = [];
  for (let times = 0; times < 3; times += 1) {
    const wire = await connectWire(gateway.connection);
    await ask(wire, q("SET barista.request_id = 'x'"));
    let last: string[] = [];
    for (const request of requests) last = await ask(wire, ...request);
    told.push(last.find((line) => /^[CE] /.test(line))?.replace('\\0', '') ?? 'ended');
    wire.close();
  }
  return told;
}

const done = ['C INSERT 0 1', 'C INSERT 0 1', 'C INSERT 0 1'];

describe('a statement that leaves the name as it is', () => {
  it.each([
    'SELECT 1',
    "SELECT 'a', 2",
    "SELECT pg_barista.request_committed('x')",
    "SELECT current_setting('work_mem')",
    "SELECT set_config('work_mem', '1MB', false)",
  ])('is run, and what comes behind it is done once: %s', async (statement) => {
    expect(await threeTimes([q(statement)])).toEqual(['C SELECT 1', 'C SELECT 1', 'C SELECT 1']);
    expect(await threeTimes([q(statement)], [q(insert)])).toEqual(done);
    expect(await threeTimes([run(statement), send.sync], [run(insert), send.sync])).toEqual(done);
    expect(await keys(pg)).toHaveLength(1);
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });

  it.each([
    'SELECT 1 AS x',
    'SELECT true, NULL, 1.5',
    '/* ping */ SELECT 1 -- c',
    "SELECT $$it's$$, E'x'::text",
    'SELECT 1::int',
    'SELECT version(), current_user, pg_catalog.now()',
    'SELECT pg_is_in_recovery(), current_schema(), txid_current_if_assigned()',
  ])('is the ping of a driver or a pooler: %s', async (statement) => {
    expect(await threeTimes([q(statement)], [q(insert)])).toEqual(done);
    expect(await threeTimes([run(statement), send.sync], [run(insert), send.sync])).toEqual(done);
    expect(await keys(pg)).toHaveLength(1);
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });

  it.each(['', ';', '-- ping'])('is an empty one, in a block, too: %j', async (statement) => {
    const read = await threeTimes([q('BEGIN')], [q(statement)], [q('COMMIT')]);
    expect(read).toEqual(['C COMMIT', 'C COMMIT', 'C COMMIT']);
    expect(await threeTimes([q(statement)], [run(statement), send.sync], [q(insert)])).toEqual(done);
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });

  it('is one with parameters', async () => {
    const ping = [run('SELECT $1::text AS x, $2', '5', 'y'), send.sync];
    expect(await threeTimes(ping, [q(insert)])).toEqual(done);
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
  });

  it('takes the name where a function of the client’s that writes stands for the built-in one', async () => {
    await client.query(
      "CREATE FUNCTION version() RETURNS int LANGUAGE sql AS $$ INSERT INTO t SELECT count(*), 'x' FROM t RETURNING a $$",
    );
    const path = q('SET search_path = public, pg_catalog');
    expect(await threeTimes([path], [q('SELECT version()')])).toEqual([
      'C SELECT 1',
      ...Array<unknown>(2).fill(expect.stringContaining('C=RQ001')),
    ]);
    expect(await recorded()).toEqual(['barista x']);
    expect(await keys(pg)).toEqual([0]);
    await client.query('DROP FUNCTION public.version');
  });

  it('is the question of a follower for what the session has', async () => {
    const question = askState(['barista.request_id']);
    expect(await threeTimes([question], [q(insert)])).toEqual(done);
    expect(await keys(pg)).toHaveLength(1);
  });
});

describe('a name that is given by parameters, through a follower', () => {
  let follower: TestGateway;
  beforeEach(async () => {
    const service = createMemoryClientService(null);
    service.setService(leaderAt(gateway.connection.port));
    follower = await startGateway(pg, { service });
  });
  afterEach(() => follower.listener.close());

  it('is known there, too: what is sent at once with the change would be awaited for ever', async () => {
    const parameters = ['barista.request_id', 'x', 'false'];
    const given = [
      send.parse('', 'SELECT set_config($1, $2, $3)'),
      send.bind({ portal: '', statement: '', parameters }),
    ];
    for (let times = 0; times < 3; times += 1) {
      const wire = await connectWire(follower.connection);
      await ask(wire, ...given, send.execute(''), send.sync);
      expect(await ask(wire, run(insert), send.sync)).toContain('C INSERT 0 1\\0');
      wire.close();
    }
    expect(await keys(pg)).toHaveLength(1);
  });
});

describe('a statement that may not be in a block, behind another one', () => {
  it.each(['VACUUM t', 'CREATE INDEX CONCURRENTLY i ON t (b)', 'CREATE DATABASE d', "ROLLBACK PREPARED 'x'"])(
    'is refused by PostgreSQL, and the session lives on: %s',
    async (statement) => {
      const wire = await connectWire(gateway.connection);
      await ask(wire, q("SET barista.request_id = 'x'"));
      const answer = await ask(wire, run(insert), run(statement), send.sync);
      expect(answer.at(-2)).toContain('V=ERROR C=25001');
      expect(answer.at(-1)).toBe('Z I');
      expect(await keys(pg)).toEqual([]);
      expect(await ask(wire, run(insert), send.sync)).toContain('C INSERT 0 1\\0');
      expect(await recorded()).toEqual(['barista x INSERT 0 1']);
      wire.close();
    },
  );

  it('is run with it where PostgreSQL allows that', async () => {
    const wire = await connectWire(gateway.connection);
    for (const again of [false, true]) {
      await ask(wire, q("SET barista.request_id = 'x'"));
      const answer = await ask(wire, run(insert), run('ANALYZE t'), run('REINDEX TABLE t'), send.sync);
      expect(answer.at(-2)).toContain(again ? 'C=RQ001' : 'C REINDEX');
    }
    expect(await keys(pg)).toEqual([1]);
    wire.close();
  });
});

describe('a statement that fails before another one takes the name', () => {
  const failing = "INSERT INTO t VALUES (0 / (SELECT 0), 'x')";

  it('is not told to be done when it is repeated, and nothing is done twice: the session ends', async () => {
    expect(await threeTimes([q(failing)])).toEqual(Array(3).fill(expect.stringContaining('C=22012')));
    expect(await threeTimes([q(failing)], [q(insert)])).toEqual(['C INSERT 0 1', 'ended', 'ended']);
    expect(await threeTimes([q(failing)])).toEqual(Array(3).fill(expect.stringContaining('V=FATAL C=RQ001')));
    expect(await keys(pg)).toHaveLength(1);
  });

  it('does not keep the one that took it from being told by itself', async () => {
    expect(await threeTimes([run(failing), send.sync], [run(insert), send.sync])).toEqual([
      'C INSERT 0 1',
      'ended',
      'ended',
    ]);
    expect(await threeTimes([run(insert), send.sync])).toEqual(done);
    expect(await keys(pg)).toHaveLength(1);
  });
});

describe('a COMMIT whose name PostgreSQL has refused to give to another statement', () => {
  const attempts: [string, Buffer[], Buffer[], Buffer[]][] = [
    [
      'that of a statement',
      [send.parse('c', 'COMMIT'), send.sync],
      [send.parse('c', insert), send.sync],
      [send.bind({ portal: '', statement: 'c' }), send.execute(''), send.sync],
    ],
    [
      'that of a statement, behind an error',
      [send.parse('c', 'COMMIT'), send.sync],
      [run('SELECT 1 / 0'), send.closeStatement('c'), send.parse('c', insert), send.sync],
      [send.bind({ portal: '', statement: 'c' }), send.execute(''), send.sync],
    ],
    [
      'that of a portal',
      [send.parse('c', 'COMMIT'), send.bind({ portal: 'p', statement: 'c' }), send.sync],
      [send.parse('', insert), send.bind({ portal: 'p', statement: '' }), send.sync],
      [send.execute('p'), send.sync],
    ],
  ];
  it.each(attempts)('is recorded: %s', async (_, given, refused, committing) => {
    const wire = await connectWire(gateway.connection);
    await ask(wire, q('BEGIN'));
    await ask(wire, q(insert));
    await ask(wire, ...given);
    await ask(wire, q("SET barista.request_id = 'x'"));
    await ask(wire, q('SAVEPOINT s'));
    expect((await ask(wire, ...refused)).at(-1)).toBe('Z E');
    await ask(wire, q('ROLLBACK TO s'));
    expect(await ask(wire, ...committing)).toContain('C COMMIT\\0');
    expect(await recorded()).toEqual(['barista x COMMIT']);
    wire.close();
  });

  it('that of a statement that gives the name, which takes effect', async () => {
    const wire = await connectWire(gateway.connection);
    await ask(wire, send.parse('n', "SET barista.request_id = 'x'"), send.sync);
    await ask(wire, q('DELETE FROM t'));
    await ask(wire, send.parse('n', insert), send.sync);
    await ask(wire, send.bind({ portal: '', statement: 'n' }), send.execute(''), send.sync);
    await ask(wire, q(insert));
    expect(await recorded()).toEqual(['barista x INSERT 0 1']);
    wire.close();
  });
});
