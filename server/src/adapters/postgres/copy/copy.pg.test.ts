import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { copyTo, sourceOf } from './testing/copying.ts';
import { PlainPostgres, testBinaries } from './testing/plain-postgres.ts';

let root: string;
let one: PlainPostgres;
let two: PlainPostgres;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-copy-'));
  const binaries = await testBinaries();
  one = new PlainPostgres(join(root, 'one'), binaries);
  two = new PlainPostgres(join(root, 'two'), binaries);
  await one.create(join(root, 'template'));
  await one.start();
  await one.pgbench('-i', '-s', '5', '-q');
}, 120_000);
afterAll(async () => {
  for (const postgres of [one, two]) await postgres?.stop('immediate');
  await rm(root, { recursive: true, force: true });
});

it('a copy into an empty directory follows its source', async () => {
  const t = performance.now();
  const copied = await copyTo(two, await sourceOf(one));
  console.log(copied, performance.now() - t);
  await two.start(one);
  await two.caughtUp(one);
  expect(await two.value('SELECT count(*) FROM pgbench_accounts')).toBe('500000');
}, 120_000);

it('an old primary is rewound', async () => {
  const old = one;
  await one.pgbench('-T', '2', '-c', '4', '-n');
  await two.caughtUp(one);
  // Unchosen from here on.
  await two.query("ALTER SYSTEM SET primary_conninfo = ''");
  await two.query('SELECT pg_reload_conf()');
  await new Promise((r) => setTimeout(r, 500));
  await one.pgbench('-T', '2', '-c', '4', '-n');
  await one.query('CREATE TABLE lost AS SELECT generate_series(1,10000) i');
  await old.stop('immediate');
  await two.promote();
  const forked = await two.forkedAt();
  await two.pgbench('-T', '2', '-c', '4', '-n');
  const t = performance.now();
  const copied = await copyTo(old, await sourceOf(two), {
    suspicion: { hintsUntrusted: false, parted: forked },
  });
  console.log(copied, performance.now() - t);
  await old.start(two);
  await old.caughtUp(two);
  expect(await old.value('SELECT sum(abalance) FROM pgbench_accounts')).toBe(
    await two.value('SELECT sum(abalance) FROM pgbench_accounts'),
  );
}, 120_000);
