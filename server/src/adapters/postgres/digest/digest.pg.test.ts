import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import type { Slot } from '../../../multipaxos/types/names.ts';
import type { PgBinaries } from '../binaries.ts';
import { PlainPostgres, testBinaries } from '../copy/testing/plain-postgres.ts';
import { socketPort } from '../data-directory.ts';
import { connectPg, isEnterTimeout } from '../pg-client.ts';
import { createDigestSource } from './digest-source.ts';
import { differing, digestOf, openDigest } from './testing/digests.ts';

let root: string;
let binaries: PgBinaries;
let primary: PlainPostgres;
let standbys: readonly PlainPostgres[];
const never = new AbortController().signal;
// Each digest reads all catalogs of several databases.
vi.setConfig({ testTimeout: 180_000 });

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-digest-'));
  binaries = await testBinaries();
  const [first, ...others] = ['primary', 'one', 'other'].map(
    (name) => new PlainPostgres(join(root, name), binaries),
  ) as [PlainPostgres, PlainPostgres, PlainPostgres];
  [primary, standbys] = [first, others];
  for (const postgres of [primary, ...standbys]) await postgres.create(join(root, 'template'));
  // What is compared with what it was a moment ago stands still.
  await primary.start(null, { autovacuum: 'off' });
  for (const standby of standbys) await standby.start(primary);
});
afterAll(async () => {
  for (const postgres of [...standbys, primary]) await postgres.stop('immediate');
  await rm(root, { recursive: true, force: true });
});

async function run(statements: readonly string[], database = 'postgres'): Promise<void> {
  for (const statement of statements) await primary.query(statement, database);
  for (const standby of standbys) await standby.caughtUp(primary);
}

const everything = [
  'CREATE TABLE pairs (id int PRIMARY KEY, a int, b text, c float8 DEFAULT 0.1)',
  'INSERT INTO pairs SELECT i, i * 2, i::text FROM generate_series(1, 5000) i',
  "CREATE TYPE mood AS ENUM ('fine', 'tired')",
  'CREATE TYPE both_of AS (mood mood, doc json)',
  'CREATE DOMAIN moods AS mood[] CHECK (cardinality(VALUE) < 4)',
  'CREATE TABLE feelings (id int, mood mood, pair both_of[], moods moods, span int4range, place regclass)',
  `INSERT INTO feelings VALUES (1, 'fine', ARRAY[ROW('tired', '{"a": 1}')::both_of], '{fine,tired}', '[1,5)', 'pairs')`,
  'CREATE TABLE rights (acl aclitem[])',
  'CREATE TABLE amounts AS SELECT 1.50 AS n',
  'CREATE TABLE nothing ()',
  'INSERT INTO nothing SELECT FROM generate_series(1, 3)',
  'CREATE TABLE computed (a int, b int GENERATED ALWAYS AS (a * 2) STORED)',
  'INSERT INTO computed SELECT generate_series(1, 3)',
  'CREATE TABLE parts (id int) PARTITION BY RANGE (id)',
  'CREATE TABLE parts_low PARTITION OF parts FOR VALUES FROM (0) TO (10)',
  'INSERT INTO parts VALUES (1)',
  'CREATE TABLE "Odd ""name" ("a, b" text, "Ü" int)',
  `INSERT INTO "Odd ""name" VALUES (repeat('long ', 100000), 1)`,
  'CREATE MATERIALIZED VIEW seen AS SELECT id FROM pairs WHERE id < 10',
  'CREATE MATERIALIZED VIEW unseen AS SELECT id FROM pairs WITH NO DATA',
  'CREATE UNLOGGED TABLE unlogged AS SELECT 1 AS a',
  'CREATE SEQUENCE numbers',
  "SELECT nextval('numbers') FROM generate_series(1, 3)",
  'CREATE SEQUENCE unused',
  "SELECT lo_from_bytea(77, decode(repeat('ab', 5000), 'hex'))",
  'CREATE ROLE somebody LOGIN',
  "BEGIN; INSERT INTO pairs VALUES (9000, 1, 'prepared'); PREPARE TRANSACTION 'p1'",
  'ANALYZE',
];

it('a primary and its standbys have the same digest, of everything that replication carries', async () => {
  await run(everything);
  await run([
    'CREATE DATABASE second',
    "CREATE DATABASE latin TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc",
  ]);
  await run(['CREATE TABLE only_here AS SELECT 5 AS a'], 'second');
  await run([`CREATE TABLE "Ü" AS SELECT 'ü' AS "ß"`], 'latin');
  const digests = await Promise.all([primary, ...standbys].map((each) => digestOf(each, binaries.version)));
  const [leader, one, other] = digests as [(typeof digests)[0], (typeof digests)[0], (typeof digests)[0]];
  expect([differing(leader, one), differing(one, other)]).toEqual([[], []]);
  const rowsOf = (name: string, database = 'postgres'): number | undefined =>
    one.objects.find((object) => object.name === name && object.database === database)?.rows;
  expect(
    ['pairs', 'feelings', 'nothing', 'computed', 'parts_low', '"Odd ""name"'].map((name) =>
      rowsOf(`public.${name}`),
    ),
  ).toEqual([5000, 1, 3, 3, 1, 1]);
  expect(rowsOf('public.only_here', 'second')).toBe(1);
  expect(rowsOf(String.raw`public."\xdc"`, 'latin')).toBe(1);
  expect(rowsOf('pg_catalog.pg_largeobject')).toBe(3);
  expect(rowsOf('pg_catalog.pg_authid', '')).toBeGreaterThan(10);
  expect(rowsOf('pg_catalog.pg_authid')).toBe(undefined);
  expect(rowsOf('pg_catalog.pg_class', 'template1')).toBeGreaterThan(300);
  for (const name of ['unlogged', 'parts', 'unseen']) expect(rowsOf(`public.${name}`)).toBe(undefined);
  expect(rowsOf('public.seen')).toBe(binaries.majorVersion >= 18 ? 9 : undefined);
  const ofRights = 'public.rights: it holds names of other objects beside values that have no binary format';
  const ofComputed =
    'generated columns of public.computed: they can only be read by a SELECT, which would run code of clients';
  const reasons = one.skipped.map(({ name, reason }) => `${name}: ${reason}`);
  expect(reasons).toEqual(
    binaries.majorVersion >= 18
      ? [ofRights, ofComputed]
      : [ofRights, ofComputed, 'public.seen: materialized views are compared from PostgreSQL 18 on'],
  );
  const sequences = one.objects.filter(({ kind }) => kind === 'sequence');
  expect(sequences.map(({ name, digest }) => `${name} ${digest}`)).toEqual([
    'public.numbers 33',
    'public.unused ',
  ]);
  expect([leader.hasSequences, one.hasSequences]).toEqual([false, true]);
});

/** On all of them alike. */
const quietly = (rows: number): string =>
  `INSERT INTO pairs SELECT generate_series(100001, 100000 + ${rows})`;

it('a snapshot holds what was there when it was opened, whatever is written and altered meanwhile', async () => {
  const before = await digestOf(primary, binaries.version);
  const snapshot = await openDigest(primary, binaries.version);
  await run([
    quietly(50),
    'UPDATE pairs SET a = -1 WHERE id < 100',
    "SELECT nextval('numbers')",
    'CREATE TABLE younger (a int)',
    'DROP TABLE computed',
    'ANALYZE pairs',
    'VACUUM',
    "COMMENT ON TABLE pairs IS 'changed'",
    'ALTER TABLE parts_low RENAME TO lower_parts',
    'CREATE INDEX ON feelings (id)',
  ]);
  const after = await snapshot.digest(never);
  await snapshot.close();
  expect(differing(before, after)).toEqual([]);
  const left = after.skipped.filter(({ reason }) => reason === 'it was altered while it was compared');
  expect(left.map(({ name }) => name).toSorted()).toEqual(['public.computed', 'public.parts_low']);
  const names = differing(before, await digestOf(primary, binaries.version));
  expect(names).toEqual(expect.arrayContaining(['postgres: public.pairs', 'postgres: public.younger']));
});

it('what is altered between snapshot and reading is left out, rather than compared as something that it was not', async () => {
  const alterations: Record<string, readonly string[]> = {
    emptied: ['TRUNCATE emptied'],
    rewritten: ['ALTER TABLE rewritten ALTER n TYPE bigint'],
    compacted: ['VACUUM FULL compacted'],
    narrower: ['ALTER TABLE narrower DROP COLUMN n'],
    exchanged: [
      'ALTER TABLE exchanged DROP COLUMN n, ADD COLUMN m int',
      'ALTER TABLE exchanged RENAME m TO n',
    ],
    labelled: ["ALTER TYPE label RENAME VALUE 'a' TO 'b'"],
    labelled_back: [
      "ALTER TYPE other_label RENAME VALUE 'a' TO 'b'",
      "ALTER TYPE other_label RENAME VALUE 'b' TO 'a'",
    ],
    composed: ['ALTER TYPE inner_of ADD ATTRIBUTE more int'],
    taken_over: ['ALTER TABLE taken_over RENAME TO old', 'CREATE TABLE taken_over AS SELECT 2 AS n'],
    removed: ['DROP TABLE removed'],
  };
  const names = Object.keys(alterations);
  const columns: Record<string, string> = {
    labelled: ', x label[]',
    labelled_back: ', x other_label',
    composed: ', x outer_of',
  };
  await run([
    "CREATE TYPE label AS ENUM ('a', 'z'); CREATE TYPE other_label AS ENUM ('a', 'z'); CREATE TYPE inner_of AS (a int)",
    'CREATE TYPE outer_of AS (inners inner_of[])',
    ...names.map((name) => `CREATE TABLE ${name} (n int${columns[name] ?? ''})`),
    ...names.map((name) => `INSERT INTO ${name} (n) VALUES (1)`),
    "UPDATE labelled SET x = '{a}'; UPDATE labelled_back SET x = 'a'; UPDATE composed SET x = ROW(ARRAY[ROW(1)::inner_of])",
    'CREATE TABLE beside AS SELECT 1 AS n',
  ]);
  const before = await digestOf(primary, binaries.version);
  const snapshot = await openDigest(primary, binaries.version);
  await run(names.flatMap((name) => alterations[name] ?? []));
  const after = await snapshot.digest(never);
  await snapshot.close();
  expect(differing(before, after)).toEqual([]);
  const left = new Set(after.skipped.map(({ name }) => name));
  expect(names.filter((name) => !left.has(`public.${name}`))).toEqual([]);
  expect(after.objects.map(({ name }) => name)).toContain('public.beside');
});

it('no code of a client runs, whatever is made of tables and databases', async () => {
  await primary.query('CREATE ROLE client LOGIN CREATEDB');
  await primary.query('CREATE DATABASE theirs OWNER client');
  const client = new Client({
    host: primary.socketDir,
    port: socketPort,
    user: 'client',
    database: 'theirs',
  });
  await client.connect();
  const expression = '(spy(1) + n)';
  const refusals: string[] = [];
  for (const statement of [
    `CREATE FUNCTION spy(n int) RETURNS int LANGUAGE plpgsql IMMUTABLE
       AS $$ BEGIN RAISE WARNING 'a spy runs as % (%)', current_user, current_setting('is_superuser'); RETURN n; END $$`,
    'CREATE DOMAIN checked AS int CHECK (spy(VALUE) > 0)',
    'CREATE TABLE trap (n int CHECK (spy(n) > 0), c checked, g int GENERATED ALWAYS AS (spy(n)) STORED)',
    'INSERT INTO trap SELECT i, i FROM generate_series(1, 100) i',
    `CREATE INDEX ON trap (${expression})`,
    `CREATE INDEX ON trap (n) WHERE spy(1) + n > 0`,
    `CREATE STATISTICS more ON ${expression}, c FROM trap`,
    `CREATE MATERIALIZED VIEW seen AS SELECT n, spy(n) FROM trap`,
    `CREATE INDEX ON seen (${expression})`,
    'CREATE POLICY own ON trap USING (spy(n) > 0)',
    'ALTER TABLE trap ENABLE ROW LEVEL SECURITY',
    'ALTER TABLE trap FORCE ROW LEVEL SECURITY',
    'CREATE RULE instead AS ON SELECT TO trap WHERE false DO INSTEAD SELECT spy(1) AS n, 1::checked AS c, 2 AS g',
    'ANALYZE',
    "ALTER DATABASE theirs SET role = 'client'",
    "ALTER DATABASE theirs SET search_path = 'public', 'pg_catalog'",
    "ALTER DATABASE theirs SET statement_timeout = '1ms'",
    "ALTER DATABASE theirs SET exit_on_error = 'on'",
    "ALTER DATABASE theirs SET local_preload_libraries = 'nowhere'",
    'CREATE FUNCTION public.concat(VARIADIC a "any") RETURNS text LANGUAGE internal AS \'text_concat\' STABLE',
  ])
    await client.query(statement).catch((error: Error) => refusals.push(error.message));
  await client.end();
  // PostgreSQL knows some of the traps.
  expect(refusals.filter((message) => !/rules|views|internal/.test(message))).toEqual([]);
  const warnings = (): number =>
    readFileSync(join(primary.directory, 'postgres.log'), 'utf8').split('a spy runs as postgres (on)')
      .length - 1;
  const before = warnings();
  for (const standby of standbys) await standby.caughtUp(primary);
  const [one, other] = [
    await digestOf(primary, binaries.version),
    await digestOf(standbys[0]!, binaries.version),
  ];
  expect(differing(one, other)).toEqual([]);
  expect(one.objects.find(({ name }) => name === 'public.trap')).toMatchObject({ rows: 100 });
  expect(warnings()).toBe(before);
  // A SELECT would have done it.
  const own = await connectPg({ socketDir: primary.socketDir, database: 'theirs', silentMsMax: null });
  await own.query('SET search_path = public; SELECT count(*) FROM trap');
  await own.end();
  expect(warnings()).toBeGreaterThan(before);
});

it('a snapshot is taken again until nothing is missing from it', async () => {
  const busy = await primary.client();
  await busy.query('BEGIN; CREATE TABLE open_still (a int)');
  const { rows } = await busy.query<{ id: string }>('SELECT pg_current_xact_id()::text AS id');
  const id = BigInt(rows[0]!.id);
  const seen: string[] = [];
  const opening = openDigest(primary, binaries.version, {
    isMissing: (view) => {
      const isShown = id < view.end && !view.running.has(id);
      seen.push(String(isShown));
      return !isShown;
    },
  });
  while (seen.length < 5) await new Promise((resolve) => setTimeout(resolve, 10));
  await busy.query('COMMIT');
  const snapshot = await opening;
  expect(seen.slice(0, 5)).toContain('false');
  const digest = await snapshot.digest(never);
  expect(digest.objects.map(({ name }) => name)).toContain('public.open_still');
  await snapshot.close();
  await busy.end();
});

it('opening ends when it is given up, and leaves no session', async () => {
  const control = new AbortController();
  const prepared = await createDigestSource({
    socketDir: primary.socketDir,
    version: binaries.version,
  }).prepare();
  setTimeout(() => control.abort(new Error('enough')), 200);
  await expect(prepared.open(1 as Slot, () => true, control.signal)).rejects.toThrow('enough');
  await expect.poll(sessionsOnPrimary).toBe('0');
});

const sessionsOnPrimary = (): Promise<string> =>
  primary.value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'barista verify'");

it('a table that somebody keeps locked is left out; a digest that is given up ends at once', async () => {
  await run(['CREATE TABLE locked AS SELECT 1 AS a']);
  const locker = await primary.client();
  await locker.query('BEGIN; LOCK TABLE locked');
  const digest = await digestOf(primary, binaries.version);
  expect(digest.skipped).toContainEqual({
    database: 'postgres',
    name: 'public.locked',
    reason: 'somebody had it locked for more than 5 s',
  });
  const snapshot = await openDigest(primary, binaries.version);
  const control = new AbortController();
  const digesting = snapshot.digest(control.signal);
  const waiting = (): Promise<string> =>
    primary.value("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'");
  await expect.poll(waiting).toBe('1');
  const begunMs = performance.now();
  control.abort(new Error('enough'));
  await expect(digesting).rejects.toThrow('enough');
  expect(performance.now() - begunMs).toBeLessThan(4000);
  await snapshot.close();
  await expect.poll(sessionsOnPrimary).toBe('0');
  await locker.end();
});

it('a database that somebody keeps locked is left out, in an open transaction or a prepared one, and no session waits for it', async () => {
  const owner = await primary.client();
  const skipped = async (): Promise<readonly string[]> => {
    const { skipped: left, objects } = await digestOf(primary, binaries.version);
    expect(objects.map(({ name }) => name)).toContain('public.pairs');
    return left.filter(({ name }) => name === '').map(({ database, reason }) => `${database}: ${reason}`);
  };
  await primary.query('CREATE DATABASE kept');
  await owner.query('BEGIN; ALTER DATABASE kept RENAME TO other');
  expect(await skipped()).toEqual(['kept: somebody has it locked']);
  await owner.query("PREPARE TRANSACTION 'keeps'");
  expect(await skipped()).toEqual(['kept: somebody has it locked']);
  const waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND locktype = 'object'";
  expect(await primary.value(waiting)).toBe('0');
  // One that is locked between the look and the attempt.
  const late = connectPg({
    socketDir: primary.socketDir,
    database: 'kept',
    silentMsMax: null,
    enterMsMax: 300,
  });
  expect(isEnterTimeout(await late.catch((error: unknown) => error))).toBe(true);
  await owner.query("ROLLBACK PREPARED 'keeps'");
  // Whoever has it locked for a moment only is waited for.
  await owner.query('BEGIN; ALTER DATABASE kept RENAME TO other');
  const digesting = skipped();
  await sleep(300);
  await owner.query('ROLLBACK');
  expect(await digesting).toEqual([]);
  await owner.end();
  await run(['DROP DATABASE kept']);
});

it('a row of many megabytes is never in memory as a whole', async () => {
  const megabyte = 1024 * 1024;
  await run([`CREATE TABLE large AS SELECT repeat('0123456789abcdef', ${4 * megabyte}) AS a`]);
  const before = process.memoryUsage().arrayBuffers;
  let most = before;
  const watch = setInterval(() => {
    most = Math.max(most, process.memoryUsage().arrayBuffers);
  }, 2);
  const digest = await digestOf(primary, binaries.version);
  clearInterval(watch);
  expect(digest.objects.find(({ name }) => name === 'public.large')).toMatchObject({ rows: 1 });
  expect(most - before).toBeLessThan(10 * megabyte);
  await run(['DROP TABLE large']);
});

it('of many databases some are compared at a time, others each time, and those left out are said', async () => {
  const databases = Number(
    await primary.value("SELECT count(*) FROM pg_database WHERE datname <> 'template0'"),
  );
  expect(databases).toBeGreaterThan(4);
  const source = createDigestSource(
    { socketDir: primary.socketDir, version: binaries.version },
    { databasesMax: 3 },
  );
  const ever = new Set<string>();
  // However far apart the slots are: here by the number of the databases that are drawn from.
  for (let time = 1; time <= 8; time += 1) {
    const slot = time * (databases - 1);
    const snapshot = await (await source.prepare()).open(slot as Slot, () => false, never);
    const { objects, skipped } = await snapshot.digest(never);
    await snapshot.close();
    expect(snapshot.views).toHaveLength(3);
    const names = new Set(objects.map(({ database }) => database));
    const left = skipped.filter(({ name }) => name === '').map(({ database }) => database);
    for (const name of names) ever.add(name);
    expect([names.size - 1, left.length]).toEqual([3, databases - 3]);
    expect([...names]).toEqual(expect.arrayContaining(['', 'postgres']));
    expect(left.filter((name) => names.has(name))).toEqual([]);
  }
  expect(ever.size).toBe(databases + 1);
});

it('names that differ in a byte are different objects, and each is compared', async () => {
  const inBytes = async (database: string, bytes: readonly number[], sql: string): Promise<void> => {
    const name = String.fromCharCode(...bytes);
    await primary.query(
      `DO $$ BEGIN EXECUTE format('${sql}', convert_from('\\x${Buffer.from(name, 'latin1').toString('hex')}', 'SQL_ASCII')); END $$`,
      database,
    );
  };
  await run([
    "CREATE DATABASE mixed TEMPLATE template0 ENCODING 'SQL_ASCII' LOCALE 'C' LOCALE_PROVIDER libc",
  ]);
  const [latin, utf8] = [[0xe9], [0xc3, 0xa9]];
  for (const [bytes, rows] of [
    [latin, 2],
    [utf8, 1],
  ] as const)
    await inBytes('mixed', bytes, `CREATE TABLE %I AS SELECT generate_series(1, ${rows}) AS a`);
  await run([
    "CREATE DATABASE one_byte TEMPLATE template0 ENCODING 'LATIN1' LOCALE 'C' LOCALE_PROVIDER libc",
  ]);
  await run(['CREATE DATABASE "\u00e9" TEMPLATE template0'], 'one_byte');
  await run(['CREATE DATABASE "\u00e9" TEMPLATE template0']);
  await run(['CREATE TABLE only_here AS SELECT 5 AS a'], '\u00e9');
  const sessions = async (): Promise<number> => {
    const [rows] = await primary.query<{ n: number }>(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'barista verify'",
    );
    return rows!.n;
  };
  const [one, other] = await Promise.all(standbys.map((each) => digestOf(each, binaries.version)));
  const digest = await digestOf(primary, binaries.version);
  expect(differing(one!, other!)).toEqual([]);
  const found = digest.objects.map(({ database, name, rows }) => `${database} ${name} ${rows}`);
  expect(found).toEqual(
    expect.arrayContaining([
      String.raw`mixed public."\xe9" 2`,
      'mixed public."\u00e9" 1',
      '\u00e9 public.only_here 1',
    ]),
  );
  const databases = new Set(digest.objects.map(({ database }) => database));
  expect([...databases]).toEqual(expect.arrayContaining([String.raw`\xe9`, '\u00e9']));
  await expect.poll(sessions).toBe(0);
});
