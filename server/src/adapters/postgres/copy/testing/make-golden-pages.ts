/** Makes goldens/pages.gz anew: `npx tsx server/src/adapters/postgres/copy/testing/make-golden-pages.ts`. */
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { pageBytes } from '../page.ts';
import { PlainPostgres, testBinaries } from './plain-postgres.ts';

async function main(): Promise<void> {
  const root = await mkdtemp(join(tmpdir(), 'barista-golden-'));
  const postgres = new PlainPostgres(join(root, 'p'), await testBinaries());
  await postgres.create(join(root, 'template'));
  await postgres.start();
  await postgres.query(
    "CREATE TABLE t (id serial PRIMARY KEY, text text); INSERT INTO t (text) SELECT 'row ' || i FROM generate_series(1, 2000) i",
  );
  await postgres.query('CHECKPOINT');
  const pageOf = async (relation: string, block: number): Promise<Buffer> => {
    const path = await postgres.value(`SELECT pg_relation_filepath('${relation}')`);
    return (await readFile(join(postgres.dataDir, path))).subarray(
      block * pageBytes,
      (block + 1) * pageBytes,
    );
  };
  const pages = [await pageOf('t', 2), await pageOf('t_pkey', 1), await pageOf('t_id_seq', 0)];
  await postgres.stop('fast');
  await writeFile(new URL('../goldens/pages.gz', import.meta.url), gzipSync(Buffer.concat(pages)));
  await rm(root, { recursive: true, force: true });
}

void main();
