/** What clients make in a database does not keep a comparison from its end. */
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, it, vi } from 'vitest';
import type { Slot } from '../../../multipaxos/types/names.ts';
import type { DataDigest } from '../../../ports/control.ts';
import type { DigestSnapshot } from '../../../ports/digest.ts';
import { PlainPostgres, testBinaries } from '../copy/testing/plain-postgres.ts';
import { createDigestSource, type DigestOptions } from './digest-source.ts';
import { differing } from './testing/digests.ts';

let root: string;
let version: string;
let primary: PlainPostgres;
let standby: PlainPostgres;
const holders: Client[] = [];
const never = new AbortController().signal;
vi.setConfig({ testTimeout: 120_000 });

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-bounds-'));
  const binaries = await testBinaries();
  version = binaries.version;
  [primary, standby] = ['primary', 'standby'].map(
    (name) => new PlainPostgres(join(root, name), binaries),
  ) as [PlainPostgres, PlainPostgres];
  for (const postgres of [primary, standby]) await postgres.create(join(root, 'template'));
  await primary.start(null, { autovacuum: 'off' });
  await standby.start(primary);
  await primary.query('CREATE DATABASE theirs');
  await primary.query('CREATE TABLE pairs AS SELECT generate_series(1, 10) AS a');
});
afterEach(async () => {
  for (const holder of holders.splice(0)) await holder.end();
});
afterAll(async () => {
  for (const postgres of [standby, primary]) await postgres.stop('immediate');
  await rm(root, { recursive: true, force: true });
});

/** Keeps what it says in an open transaction until the test is over. */
async function hold(statement: string): Promise<void> {
  const holder = await primary.client('theirs');
  holders.push(holder);
  await holder.query(`BEGIN; ${statement}`);
}

/** As the owner of a database can, until the test is over: nobody begins a session there. */
async function shutOut(catalog: string): Promise<void> {
  await hold(`ANALYZE pg_catalog.${catalog}`);
  const waiter = await primary.client('theirs');
  holders.push(waiter);
  waiter.query(`VACUUM FULL pg_catalog.${catalog}`).catch(() => undefined);
  await expect.poll(() => primary.value('SELECT count(*) FROM pg_locks WHERE NOT granted')).toBe('1');
}

const awaited = (catalog: string, before = ''): string =>
  expect.stringMatching(
    `^theirs : ${before}process \\d+ waits to lock its catalog ${catalog}, behind process \\d+$`,
  ) as string;

async function open(postgres: PlainPostgres, options: DigestOptions = {}): Promise<DigestSnapshot> {
  const source = createDigestSource({ socketDir: postgres.socketDir, version }, options);
  return (await source.prepare()).open(7 as Slot, () => false, never);
}

async function digestOf(postgres: PlainPostgres, options: DigestOptions = {}): Promise<DataDigest> {
  const snapshot = await open(postgres, options);
  try {
    return await snapshot.digest(never);
  } finally {
    await snapshot.close();
  }
}

const placesLeftOut = ({ skipped }: DataDigest): readonly string[] =>
  skipped.map(({ database, name, reason }) => `${database} ${name}: ${reason}`);

const rowsOf = ({ objects }: DataDigest, name: string): number | undefined =>
  objects.find((object) => object.name === name)?.rows;

it('tables that each have a column of the row type of the one before are all compared', async () => {
  const tables = 300;
  await primary.query(
    `DO $$ BEGIN CREATE TABLE t0 (a int); FOR i IN 1..${tables} LOOP EXECUTE format('CREATE TABLE t%s (a t%s)', i, i - 1); END LOOP; END $$`,
    'theirs',
  );
  await primary.query('INSERT INTO t0 VALUES (1)', 'theirs');
  await standby.caughtUp(primary);
  const [one, other] = [
    await digestOf(primary, { statementMs: 15_000 }),
    await digestOf(standby, { statementMs: 15_000 }),
  ];
  expect([placesLeftOut(one), placesLeftOut(other), differing(one, other)]).toEqual([[], [], []]);
  expect([rowsOf(one, 'public.t0'), rowsOf(one, `public.t${tables}`)]).toEqual([1, 0]);
});

it('a change of a type deep within a column counts as a change of each table that has it', async () => {
  await primary.query(
    "CREATE TYPE deep AS ENUM ('a', 'z'); CREATE TYPE inner_of AS (d deep[]); CREATE DOMAIN between_of AS inner_of; CREATE TYPE outer_of AS (b between_of[])",
    'theirs',
  );
  await primary.query('CREATE TABLE has_it (x outer_of); CREATE TABLE has_none (x int)', 'theirs');
  const snapshot = await open(primary);
  await primary.query("ALTER TYPE deep RENAME VALUE 'a' TO 'b'", 'theirs');
  const digest = await snapshot.digest(never);
  await snapshot.close();
  expect(placesLeftOut(digest)).toEqual(['theirs public.has_it: it was altered while it was compared']);
  expect(rowsOf(digest, 'public.has_none')).toBe(0);
});

it('a database whose catalogs are not read in time is left out, and the others are compared', async () => {
  const snapshot = await open(primary, { statementMs: 2000 });
  await hold('LOCK TABLE pg_catalog.pg_enum');
  const digest = await snapshot.digest(never);
  await snapshot.close();
  expect(placesLeftOut(digest)).toEqual([
    expect.stringMatching(
      /^theirs : its catalogs could not be read within 2 s: process \d+ has its catalog pg_enum locked$/,
    ),
  ]);
  expect(rowsOf(digest, 'public.pairs')).toBe(10);
  expect(digest.objects.filter(({ database }) => database === 'theirs')).toEqual([]);
});

it('a database that is not read in its share of the time is left out', async () => {
  const snapshot = await open(primary);
  await hold('LOCK TABLE pg_catalog.pg_enum');
  // Less than a lock is waited for.
  const { skipped, objects } = await snapshot.digest(never, 4500);
  await snapshot.close();
  const reason = expect.stringMatching(/^it was not read within \d s$/) as string;
  expect(skipped).toContainEqual({ database: 'theirs', name: '', reason });
  expect(objects.filter(({ database }) => database === 'theirs')).toEqual([]);
});

it('a comparison that is given up while catalogs are read leaves no session', async () => {
  const waiting = 'SELECT count(*) FROM pg_locks WHERE NOT granted';
  const snapshot = await open(primary);
  await hold('LOCK TABLE pg_catalog.pg_enum');
  const control = new AbortController();
  const digesting = snapshot.digest(control.signal);
  await expect.poll(() => primary.value(waiting)).toBe('1');
  control.abort(new Error('enough'));
  await expect(digesting).rejects.toThrow('enough');
  // By the cancel request: the lock is waited for by nobody, long before the time limit for locks.
  await snapshot.close();
  await expect
    .poll(() =>
      primary.value("SELECT count(*) FROM pg_stat_activity WHERE application_name = 'barista verify'"),
    )
    .toBe('0');
  const log = readFileSync(join(primary.directory, 'postgres.log'), 'utf8');
  expect(log).toMatch(/canceling statement due to user request/);
});

it('a database that lets no session begin for a lock of its catalogs is left out, with who holds it, and no session waits for it', async () => {
  await shutOut('pg_class');
  const digest = await digestOf(primary);
  expect(placesLeftOut(digest)).toEqual([awaited('pg_class')]);
  expect(rowsOf(digest, 'public.pairs')).toBe(10);
  expect(await primary.value('SELECT count(*) FROM pg_locks WHERE NOT granted')).toBe('1');
});

it('a database whose catalogs are locked when the snapshots are taken is left out, and the others are compared', async () => {
  const source = createDigestSource({ socketDir: primary.socketDir, version });
  const prepared = await source.prepare();
  // So that the session that is there has to look into the catalog again.
  await primary.query('VACUUM FULL pg_catalog.pg_proc', 'theirs');
  await shutOut('pg_proc');
  const snapshot = await prepared.open(7 as Slot, () => false, never);
  const digest = await snapshot.digest(never);
  await snapshot.close();
  expect(placesLeftOut(digest)).toEqual([awaited('pg_proc')]);
  expect(rowsOf(digest, 'public.pairs')).toBe(10);
});

it('a database that no session can enter when it is read is left out', async () => {
  const snapshot = await open(primary);
  await shutOut('pg_class');
  const digest = await snapshot.digest(never);
  await snapshot.close();
  expect(placesLeftOut(digest)).toEqual([awaited('pg_class', 'no session could begin there in time: ')]);
  expect(rowsOf(digest, 'public.pairs')).toBe(10);
});

it('a sequence that is being dropped has the sequences of its database left out at a standby, and nothing else', async () => {
  await primary.query('CREATE SEQUENCE dropped', 'theirs');
  await primary.query('CREATE SEQUENCE numbers');
  await hold('DROP SEQUENCE dropped; SELECT pg_current_xact_id()');
  await primary.query('CREATE TABLE later AS SELECT 1 AS a', 'theirs');
  await standby.caughtUp(primary);
  const digest = await digestOf(standby);
  expect(placesLeftOut(digest)).toEqual(['theirs sequences: they could not be read within 0.8 s']);
  expect(rowsOf(digest, 'public.later')).toBe(1);
  expect(digest.objects.filter(({ kind }) => kind === 'sequence').map(({ name }) => name)).toEqual([
    'public.numbers',
  ]);
});
