/** Transactions that are repeated under a name under which something failed before another one took it: nothing is told as done that was not, and nothing is done twice. */
import type { QueryConfig } from 'pg';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import * as send from '../../pgwire/frontend-messages.ts';
import { frame } from './testing/frames.ts';
import { ask, codeOf, q, run } from './testing/helpers.ts';
import { client, connect, gateway, name, pg, recorded, useNamedTransactions } from './testing/named.ts';
import { connectWire, type WireClient } from './testing/wire-client.ts';

useNamedTransactions();

beforeEach(async () => {
  // Fails as long as there is no row in `ready`.
  await client.query('CREATE TABLE ready (yes int); CREATE TABLE done (what text)');
});
afterEach(async () => {
  await pg.superuser.query('DROP TABLE ready, done');
});

/** Fails the first time, and would not later. */
const failing = "INSERT INTO done SELECT 'A' || 1 / (SELECT count(*) FROM ready)";
const other = "INSERT INTO done VALUES ('B')";

async function done(): Promise<string[]> {
  const { rows } = await pg.superuser.query<{ what: string }>('SELECT what FROM done ORDER BY what');
  return rows.map(({ what }) => what);
}

/** Requests of a session under the name, one after the other, to the end of the session or theirs: what each heard, its tag or the code of its error. */
async function session(...requests: readonly (readonly Buffer[])[]): Promise<string[]> {
  const wire = await connectWire(gateway.connection);
  await ask(wire, q("SET barista.request_id = 'x'"));
  const heard: string[] = [];
  for (const request of requests) {
    const answer = await ask(wire, ...request);
    heard.push(wordsOf(answer));
    if (answer.at(-1)?.startsWith('Z') !== true) break;
  }
  wire.close();
  return heard;
}

function wordsOf(answer: readonly string[]): string {
  const error = answer.find((line) => line.startsWith('E '));
  if (error !== undefined) return /V=(?:FATAL|ERROR) C=\w+/.exec(error)?.[0] ?? error;
  const notice = answer.some((line) => line.startsWith('N ')) ? 'again ' : '';
  const tag = answer.findLast((line) => line.startsWith('C ')) ?? '';
  return notice + tag.replace('\\0', '').replace('C ', '');
}

const block = (...statements: string[]): Buffer[][] =>
  ['BEGIN', ...statements, 'COMMIT'].map((sql) => [q(sql)]);
const failed = [[q('BEGIN')], [q(failing)], [q('ROLLBACK')]];
const another = 'V=FATAL C=RQ001';

/** From now on nothing fails any more. */
async function mend(): Promise<void> {
  await pg.superuser.query('INSERT INTO ready VALUES (1)');
}

describe('behind a block that failed', () => {
  it.each([
    ['rolled back', failed],
    ['committed, and answered ROLLBACK', block(failing)],
    ['a part of one message', [[q(`BEGIN; ${failing}`)], [q('ROLLBACK')]]],
    [
      'in the extended protocol',
      [
        [run('BEGIN'), run(failing), send.sync],
        [run('ROLLBACK'), send.sync],
      ],
    ],
  ])(
    'another transaction took the name: the session ends, and nothing is done twice (%s)',
    async (_, first) => {
      for (const taking of [[[q(other)]], block(other)]) {
        expect((await session(...first, ...taking)).at(-1)).toMatch(/^(INSERT 0 1|COMMIT)$/);
        await mend();
        expect((await session(...block(failing), ...taking)).at(-1)).toBe(another);
        expect((await session([run(failing), send.sync], ...taking)).at(-1)).toBe(another);
        expect(await done()).toEqual(['B']);
        await pg.superuser.query('DELETE FROM ready; DELETE FROM done; DELETE FROM pg_barista.request');
      }
    },
  );

  it.each([
    ['a block', block(other)],
    ['a statement', [[q(other)]]],
    [
      'the extended protocol',
      [
        [run('BEGIN'), run(other), send.sync],
        [run('COMMIT'), send.sync],
      ],
    ],
    ['a pipeline', [[run(other), run('SELECT 1 FROM done'), send.sync]]],
  ])('what took the name is told by itself, and where the other fails again: %s', async (_, taking) => {
    await session(...failed, ...taking);
    const again = /^again|^V=ERROR C=RQ001/;
    expect((await session(...taking)).at(-1)).toMatch(again);
    expect((await session(...failed, ...taking)).at(-1)).toMatch(again);
    expect(await done()).toEqual(['B']);
  });

  it('a loop that tries the same again is told that it is done', async () => {
    const attempt = [[q('BEGIN')], [run('SELECT $1', '5'), send.sync], [q(failing)]];
    const later = [[q('ROLLBACK')], ...attempt, [q('COMMIT')]];
    const wire = await connectWire(gateway.connection);
    await ask(wire, q("SET barista.request_id = 'x'"));
    for (const request of attempt) await ask(wire, ...request);
    await mend();
    for (const request of later) await ask(wire, ...request);
    wire.close();
    for (let times = 0; times < 2; times += 1)
      expect((await session(...attempt, [q('COMMIT')])).at(-1)).toBe('again COMMIT');
    expect((await session(...attempt, ...later)).at(-1)).toBe('again COMMIT');
    expect(await done()).toEqual(['A1']);
  });

  it('a loop is, too, that gives the name in each block, in the first of a session also', async () => {
    const statements: (QueryConfig | string)[] = [
      'BEGIN',
      { text: 'SELECT set_config($1, $2, true)', values: ['barista.request_id', 'x'] },
      failing,
    ];
    const first = await connect();
    for (const statement of statements) await first.query(statement).catch(() => {});
    await first.query('ROLLBACK');
    await mend();
    for (let times = 0; times < 3; times += 1) {
      const one = times === 0 ? first : await connect();
      for (const statement of [...statements, 'COMMIT']) await one.query(statement);
      await one.end();
    }
    expect(await done()).toEqual(['A1']);
    expect(await recorded()).toEqual(['barista x COMMIT']);
  });

  it('a block of which a part passed before the name was given is not certain to be the same', async () => {
    await session(...failed, ...block(other));
    const one = await connect();
    await one.query('BEGIN');
    await one.query('SELECT 1 FROM done');
    await one.query("SET LOCAL barista.request_id = 'x'");
    await one.query(other);
    expect(await codeOf(one.query('COMMIT'))).toBe('RQ001');
    await one.end().catch(() => {});
    expect(await done()).toEqual(['B']);
  });

  it('parameters tell two transactions apart', async () => {
    const insert = (what: string): Buffer[] => [run('INSERT INTO done VALUES ($1)', what), send.sync];
    const blockOf = (what: string): Buffer[][] => [[q('BEGIN')], insert(what), [q('COMMIT')]];
    await session(...failed, ...blockOf('B'));
    expect((await session(...blockOf('C'))).at(-1)).toBe(another);
    expect((await session(...blockOf('B'))).at(-1)).toBe('again COMMIT');
    expect(await done()).toEqual(['B']);
  });

  it('several statements of one batch are told apart, not the first alone', async () => {
    const batch = (what: string): Buffer[] => [
      run(other),
      run('INSERT INTO done VALUES ($1)', what),
      send.sync,
    ];
    await session(...failed, batch('C'));
    expect((await session(batch('D'))).at(-1)).toBe(another);
    expect((await session(batch('C'))).at(-1)).toBe('V=ERROR C=RQ001');
    expect(await done()).toEqual(['B', 'C']);
  });

  it('a COMMIT that fails counts', async () => {
    await client.query('ALTER TABLE t ADD c int REFERENCES t (a) DEFERRABLE INITIALLY DEFERRED');
    const deferred = block('INSERT INTO t VALUES (1, NULL, 7)');
    expect(await session(...deferred, [q(other)])).toEqual([
      'BEGIN',
      'INSERT 0 1',
      'V=ERROR C=23503',
      'INSERT 0 1',
    ]);
    await pg.superuser.query('INSERT INTO t VALUES (7)');
    expect((await session(...deferred, [q(other)])).at(-1)).toBe(another);
    expect(await done()).toEqual(['B']);
  });

  it('a block that its client rolled back counts, one that only read nothing does not', async () => {
    expect(
      (
        await session([q('BEGIN')], [q(other)], [q('ROLLBACK')], ...block("INSERT INTO done VALUES ('C')"))
      ).at(-1),
    ).toBe('COMMIT');
    expect((await session(...block(other))).at(-1)).toBe(another);
    await pg.superuser.query('DELETE FROM done; DELETE FROM pg_barista.request');
    await session([q('BEGIN')], [q('SELECT 1')], [q('ROLLBACK')], ...block("INSERT INTO done VALUES ('C')"));
    expect((await session(...block(other))).at(-1)).toBe('again COMMIT');
    expect(await done()).toEqual(['C']);
  });
});

describe('what is not known in full is no repetition', () => {
  let wire: WireClient;
  beforeEach(async () => {
    wire = await connectWire(gateway.connection);
    await ask(wire, q("SET barista.request_id = 'x'"));
    await ask(wire, q(failing));
  });
  afterEach(() => {
    wire.close();
  });

  it('COPY, whose data may be others', async () => {
    const copy = 'COPY done FROM STDIN';
    wire.send(q(copy));
    await wire.until('G');
    expect(await ask(wire, frame('d', 'B\n'), frame('c'))).toContain('C COPY 1\\0');
    expect(await session([q(copy)])).toEqual([another]);
    expect(await done()).toEqual(['B']);
  });

  it.each([
    ['EXECUTE', ['PREPARE p AS INSERT INTO done VALUES ($1)'], "EXECUTE p('B')"],
    ['search_path', ['SET search_path = public, pg_temp'], other],
    ['a role', ['SET ROLE barista'], other],
    ['a custom setting', ["SELECT set_config('app.tenant', '5', false)"], other],
    ['DISCARD', ['DISCARD PLANS'], other],
    ['a setting in a block', ['BEGIN READ ONLY', 'SET search_path = public, pg_temp', 'COMMIT'], other],
  ])('%s', async (_, between, taking) => {
    for (const sql of between) await ask(wire, q(sql));
    expect(await ask(wire, q(taking))).toContain('C INSERT 0 1\\0');
    const again = [...between, taking].map((sql) => [q(sql)]);
    expect((await session(...again)).at(-1)).toBe(another);
    expect(await done()).toEqual(['B']);
  });

  it.each([
    ['under a name', 'p', 'again INSERT 0 1'],
    ['without a name', '', another],
    ['under a name that stood for something else', 'q', another],
  ])('but for a statement that was prepared before, %s', async (_, statement, expected) => {
    const bound = (one: string): Buffer[] => [send.bind({ portal: '', statement: one }), send.execute('')];
    const set = [send.parse('s', "SET barista.request_id = 'y'"), ...bound('s'), send.sync];
    const first = await connectWire(gateway.connection);
    await ask(first, send.parse('q', 'SELECT 1'), send.sync);
    await ask(first, q('DEALLOCATE q'));
    await ask(first, send.parse(statement, other), send.sync);
    await ask(first, ...set);
    await ask(first, send.parse('f', failing), ...bound('f'), send.sync);
    expect(await ask(first, ...bound(statement), send.sync)).toContain('C INSERT 0 1\\0');
    first.close();
    const later = await connectWire(gateway.connection);
    await ask(later, ...set);
    const again = await ask(later, send.parse(statement, other), ...bound(statement), send.sync);
    expect(wordsOf(again)).toBe(expected);
    later.close();
  });

  it.each([
    ['a harmless setting', ["SET lock_timeout = '1s'", 'SELECT 1', 'SHOW search_path']],
    ['the name again', ["SET barista.request_id = 'x'"]],
    ['a setting that is rolled back', ['BEGIN', 'SET search_path = pg_catalog', 'SELECT 1 / 0', 'ROLLBACK']],
  ])('but for %s', async (_, between) => {
    for (const sql of between) await ask(wire, q(sql));
    expect(await ask(wire, q(other))).toContain('C INSERT 0 1\\0');
    expect(await session([q(other)])).toEqual(['again INSERT 0 1']);
    expect(await done()).toEqual(['B']);
  });
});

it('COPY and settings do not matter where nothing has failed', async () => {
  const requests = [[q('SET search_path = public')], ...block(other)];
  expect((await session(...requests)).at(-1)).toBe('COMMIT');
  expect((await session(...requests)).at(-1)).toBe('again COMMIT');
  expect((await session([q("INSERT INTO done VALUES ('C')")])).at(-1)).toBe('again COMMIT');
});

it('a session that a pooler has reset is a new one', async () => {
  const set = [q("SET barista.request_id = 'x'")];
  expect(await session(...failed, [q('DISCARD ALL')], set, [q(other)])).toContain('INSERT 0 1');
  expect((await session([q("INSERT INTO done VALUES ('C')")])).at(-1)).toBe('again INSERT 0 1');
  const named = await connect({ options: '-c barista.request_id=y' });
  await named.query(failing).catch(() => {});
  await named.query('DISCARD ALL');
  await named.query(other);
  await named.end();
  const later = await connect();
  await name('y', later);
  expect(await codeOf(later.query(failing))).toBe('RQ001');
  await later.end().catch(() => {});
  expect(await done()).toEqual(['B', 'B']);
});
