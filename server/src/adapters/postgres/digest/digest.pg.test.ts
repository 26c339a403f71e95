import { setTimeout as sleep } from 'node:timers/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DataDigest } from '../../../ports/control.ts';
import { connectPg } from '../pg-client.ts';
import type { PostgresServer } from '../postgres-server.ts';
import { startPair } from '../testing/replicated-pair.ts';
import type { ReplicatedPair } from '../testing/replicated-pair.ts';
import { createDigestSource } from './digest-source.ts';

let pair: ReplicatedPair;
const never = new AbortController().signal;

beforeAll(async () => {
  pair = await startPair();
  await pair.run(
    'CREATE TABLE pairs (id int PRIMARY KEY, a int, b text, c float8 DEFAULT 0.1)',
    'INSERT INTO pairs SELECT i, i * 2, i::text FROM generate_series(1, 5000) i',
    'CREATE INDEX pairs_by_a ON pairs (a)',
    'CREATE TABLE doubled (n int)',
    'INSERT INTO doubled VALUES (1), (1), (2)',
    'CREATE TABLE parts (id int) PARTITION BY RANGE (id)',
    'CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (10)',
    'INSERT INTO parts VALUES (1)',
    'CREATE SEQUENCE numbers',
    "CREATE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT n * 2'",
    'CREATE VIEW seen AS SELECT id FROM pairs',
  );
  await pair.run("SELECT nextval('numbers')", 'INSERT INTO doubled VALUES (3)');
  await pair.replicate();
});
afterAll(() => pair.stop());

async function digestOf(server: PostgresServer): Promise<DataDigest> {
  const prepared = await createDigestSource(server).prepare();
  const snapshot = await prepared.open();
  try {
    return await snapshot.digest(never);
  } finally {
    await snapshot.close();
  }
}

/** Names of what is not the same. */
function differing(one: DataDigest, other: DataDigest): string[] {
  const lines = (digest: DataDigest): Set<string> =>
    new Set(digest.objects.map(({ kind, name, rows, digest: sum }) => `${kind} ${name}|${rows} ${sum}`));
  const [left, right] = [lines(one), lines(other)];
  const found = [...left, ...right].filter((line) => !left.has(line) || !right.has(line));
  return [...new Set(found.map((line) => line.split('|')[0] ?? ''))].sort();
}

it('replicas that applied the same log have the same digest, whichever of them led', async () => {
  const [leader, follower] = await Promise.all([digestOf(pair.leader), digestOf(pair.follower)]);
  expect(differing(leader, follower)).toEqual([]);
  expect(follower.slot).toBe(pair.log.length);
  const find = (name: string): unknown => follower.objects.find((object) => object.name === name);
  expect(find('public.pairs')).toMatchObject({ kind: 'table', rows: 5000 });
  expect(find('public.parts_low')).toMatchObject({ kind: 'table', rows: 1 });
  expect(find('public.numbers')).toEqual({
    kind: 'sequence',
    name: 'public.numbers',
    rows: 0,
    digest: '1 called',
  });
  expect(find('index public.pairs_by_a')).toMatchObject({ kind: 'schema' });
});

it('positions that are recorded out of slot order are agreed on all the same: no value comes twice', async () => {
  const [first, second, back] = [await pair.session(), await pair.session(), await pair.session()];
  const take = async (client: Client, statement: string): Promise<number> => {
    await client.query('BEGIN');
    const result = await client.query<{ n: string }>(`SELECT ${statement} AS n`);
    await client.query('INSERT INTO doubled VALUES (7)');
    return Number(result.rows[0]?.n);
  };
  await take(first, "nextval('numbers')");
  const earlier = await pair.agree(first);
  const highest = await take(second, "nextval('numbers')");
  await pair.finish(second, (await pair.agree(second)).slot);
  // One that takes the sequence back on purpose has to wait for those that are under way.
  await take(back, "setval('numbers', 1)");
  let waits = true;
  const setBack = pair.agree(back).then((agreed) => ((waits = false), agreed));
  await sleep(200);
  expect(waits).toBe(true);
  await pair.finish(first, earlier.slot);
  await pair.replicate();
  const agreed = (digest: DataDigest): unknown =>
    digest.objects.find(({ kind, name }) => kind === 'sequence' && name === 'public.numbers')?.digest;
  expect(agreed(await digestOf(pair.leader))).toBe(`${highest} called`);
  await pair.finish(back, (await setBack).slot);
  await pair.replicate();
  expect(agreed(await digestOf(pair.leader))).toBe('1 called');
  expect(differing(await digestOf(pair.leader), await digestOf(pair.follower))).toEqual([]);
});

it('rows whose checks look at the clock may be applied meanwhile', async () => {
  await pair.run('CREATE TABLE clocked (id int, until timestamptz CHECK (until > clock_timestamp()))');
  await pair.replicate();
  const before = await digestOf(pair.follower);
  const prepared = await createDigestSource(pair.follower).prepare();
  const snapshot = await prepared.open();
  await pair.run("INSERT INTO clocked VALUES (1, clock_timestamp() + interval '1 hour')");
  await pair.replicate();
  expect(differing(before, await snapshot.digest(never))).toEqual([]);
  await snapshot.close();
  expect(differing(before, await digestOf(pair.follower))).toEqual(['table public.clocked']);
});

it.each([
  ['a changed row', 'UPDATE pairs SET a = a + 1 WHERE id = 77', ['table public.pairs']],
  ['a last bit of a number', 'UPDATE pairs SET c = c + 1e-17 * 2 WHERE id = 77', ['table public.pairs']],
  [
    'values of two rows that changed places',
    'UPDATE pairs SET b = CASE id WHEN 5 THEN $$6$$ ELSE $$5$$ END WHERE id IN (5, 6)',
    ['table public.pairs'],
  ],
  [
    'one of two equal rows that became another one',
    'UPDATE doubled SET n = 2 WHERE ctid = $$(0,1)$$',
    ['table public.doubled'],
  ],
  ['a row of a partition', 'DELETE FROM parts', ['table public.parts_low']],
  [
    'a missing index',
    'DROP INDEX pairs_by_a',
    ['schema index public.pairs_by_a', 'schema relation public.pairs_by_a'],
  ],
  [
    'a changed function',
    "CREATE OR REPLACE FUNCTION twice(n int) RETURNS int LANGUAGE sql AS 'SELECT n + n'",
    ['schema function public.twice(integer)'],
  ],
  ['another default', 'ALTER TABLE pairs ALTER c SET DEFAULT 0.2', ['schema columns of public.pairs']],
  ['a right', 'GRANT SELECT (a) ON pairs TO PUBLIC', ['schema columns of public.pairs']],
  [
    'a view',
    'CREATE OR REPLACE VIEW seen AS SELECT id FROM pairs WHERE id > 0',
    ['schema rule "_RETURN" on public.seen', 'schema view public.seen'],
  ],
  [
    'a sequence that was moved',
    "SELECT setval((SELECT agreed FROM _barista.tracked_sequence WHERE sequence = 'numbers'::regclass)::regclass, 9)",
    ['sequence public.numbers'],
  ],
])('%s is found and named', async (_what, change, names) => {
  // Behind the back of replication.
  const client = await connectPg(pair.follower);
  try {
    const before = await digestOf(pair.follower);
    await client.query('SET session_replication_role = replica');
    await client.query(change);
    expect(differing(before, await digestOf(pair.follower))).toEqual(names);
  } finally {
    await client.end();
  }
});

it('a snapshot holds what was there when it was opened, whatever is written meanwhile, and blocks nobody', async () => {
  const before = await digestOf(pair.leader);
  const prepared = await createDigestSource(pair.leader).prepare();
  const snapshot = await prepared.open();
  const above = [...snapshot.pointer.above];
  await pair.run(
    'UPDATE pairs SET a = -1 WHERE id <= 100',
    "INSERT INTO doubled VALUES (nextval('numbers'))",
  );
  const after = await snapshot.digest(never);
  expect(differing(before, after)).toEqual([]);
  expect(above).not.toContain(pair.log.length);
  // Its transaction is still open: nothing that it read is locked.
  await pair.run('ALTER TABLE pairs ADD extra int', 'TRUNCATE doubled');
  await snapshot.close();
  expect(differing(before, await digestOf(pair.leader))).toEqual([
    'schema columns of public.pairs',
    'sequence public.numbers',
    'table public.doubled',
    'table public.pairs',
  ]);
});

it.each(['ALTER TABLE pairs ADD more int', 'TRUNCATE pairs', 'DROP TABLE parts'])(
  '%s between the snapshot and the digest makes it say nothing rather than something wrong',
  async (change) => {
    const prepared = await createDigestSource(pair.leader).prepare();
    const snapshot = await prepared.open();
    await pair.run(change);
    await expect(snapshot.digest(never)).rejects.toMatchObject({
      name: 'DigestError',
      code: 'schemaChanged',
    });
    await snapshot.close();
  },
);

it('a digest that is given up ends at once, and its query with it', async () => {
  const operator = await connectPg(pair.leader);
  await operator.query('BEGIN; LOCK TABLE doubled');
  const prepared = await createDigestSource(pair.leader).prepare();
  const snapshot = await prepared.open();
  const control = new AbortController();
  setTimeout(() => control.abort(new Error('enough')), 500);
  const begunMs = performance.now();
  await expect(snapshot.digest(control.signal)).rejects.toThrow('enough');
  expect(performance.now() - begunMs).toBeLessThan(5_000);
  const waiting = await operator.query("SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
  expect(waiting.rowCount).toBe(0);
  await operator.end();
  await snapshot.close();
});
