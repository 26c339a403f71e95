/** What PostgreSQL does to its pages without a record, and the judge of pages must know. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { differences } from './compare-databases.ts';
import { copyTo, sourceOf } from './copying.ts';
import { PlainPostgres, testBinaries } from './plain-postgres.ts';

let root: string;
let primary: PlainPostgres;
let standby: PlainPostgres;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-judged-'));
  const binaries = await testBinaries();
  [primary, standby] = ['a', 'b'].map((name) => new PlainPostgres(join(root, name), binaries)) as [
    PlainPostgres,
    PlainPostgres,
  ];
  await primary.create(join(root, 'template'));
  // Nobody but the test changes pages, or has them written.
  const settings = { autovacuum: 'off', bgwriter_lru_maxpages: '0', shared_buffers: '64MB' };
  await primary.start(null, { ...settings, checkpoint_timeout: '1h' });
  await copyTo(standby, await sourceOf(primary));
  await standby.start(primary);
  await primary.query('CREATE EXTENSION pageinspect');
});
afterAll(async () => {
  for (const postgres of [primary, standby]) await postgres.stop('immediate');
  await rm(root, { recursive: true, force: true });
});

/** Each of them takes several inner pages of the index, whose numbers must fit. */
const insertLong = (seed: string): Promise<unknown> =>
  primary.query(`INSERT INTO t SELECT string_agg(md5('${seed}' || i), '') FROM generate_series(1, 400) i`);

it('a free page of an SP-GiST index that the primary made anew has no position there, and is no difference', async () => {
  await primary.query('CREATE TABLE t (text text)');
  await insertLong('a');
  await insertLong('a');
  // One page that did not fit is left free, and is logged as the index is built.
  await primary.query('CREATE INDEX i ON t USING spgist (text)');
  await primary.query('VACUUM t');
  // It is taken up again, does not fit again, and was to be written still.
  await insertLong('b');
  await standby.caughtUp(primary);
  const positions = `SELECT array_agg((page_header(get_raw_page('i', block::int))).lsn::text ORDER BY block) AS list
    FROM generate_series(3, pg_relation_size('i') / 8192 - 1) block`;
  const [there, here] = [
    (await primary.query<{ list: string[] }>(positions))[0]!.list,
    (await standby.query<{ list: string[] }>(positions))[0]!.list,
  ];
  const without = there.filter((position, i) => position === '0/0' && here[i] !== '0/0');
  expect(without).not.toEqual([]);
  expect(await differences(primary, standby)).toEqual([]);
});
