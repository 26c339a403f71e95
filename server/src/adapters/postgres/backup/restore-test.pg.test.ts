/** A restore test of databases that cannot be entered as they are. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { DurablePosition } from '../copy/chosen.ts';
import { PlainPostgres, testBinaries } from '../copy/testing/plain-postgres.ts';
import { writeBackup } from './backup-file.ts';
import { createBackupSource } from './base-backup.ts';
import { testRestore } from './restore-test.ts';

let root: string;
let primary: PlainPostgres;
let backups = 0;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-locked-'));
  primary = new PlainPostgres(join(root, 'primary'), await testBinaries());
  await primary.create(join(root, 'template'));
  await primary.start();
});
afterAll(async () => {
  await primary?.stop('immediate');
  await rm(root, { recursive: true, force: true });
});

async function backup(): Promise<string> {
  const file = join(root, `backup-${++backups}`);
  let durable: DurablePosition = { position: await primary.position(), configuration: null };
  const { version } = await testBinaries();
  const source = createBackupSource({
    socketPath: join(primary.socketDir, '.s.PGSQL.5432'),
    version,
    dataDir: primary.dataDir,
    position: () => durable,
    async awaitChosen(lsn) {
      while (durable.position.end < lsn)
        durable = { position: await primary.position(), configuration: null };
      return true;
    },
    bytesPerSecondMax: () => null,
  });
  await writeBackup({
    source,
    out: file,
    header: { group: 'main', cluster: 'c1', postgresVersion: version },
  });
  return file;
}

it('prepared transactions that lock other databases keep no backup from being checked', async () => {
  // The oldest is connected to first.
  for (const name of ['locked', 'closed', 'holder']) await primary.query(`CREATE DATABASE ${name}`);
  await primary.query(
    'CREATE TABLE t (n int PRIMARY KEY); INSERT INTO t SELECT generate_series(1, 9)',
    'holder',
  );
  await primary.query('ALTER DATABASE closed ALLOW_CONNECTIONS false');
  const holder = await primary.client('holder');
  await holder.query('BEGIN; INSERT INTO t VALUES (10); DELETE FROM t WHERE n < 3');
  await holder.query('ALTER DATABASE locked RENAME TO x; ALTER DATABASE closed RENAME TO y');
  await holder.query("PREPARE TRANSACTION 'held'");
  await holder.end();
  const report = await testRestore({
    file: await backup(),
    directory: join(root, 'tested'),
    binaries: await testBinaries(),
    archive: null,
  });
  expect(report).toMatchObject({ amcheck: true, complaints: [], unchecked: [] });
});

it('a database whose removal was interrupted is named as not checked', async () => {
  await primary.query('CREATE DATABASE half_gone');
  await primary.query("UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'half_gone'");
  const report = await testRestore({
    file: await backup(),
    directory: join(root, 'tested-too'),
    binaries: await testBinaries(),
    archive: null,
  });
  expect(report).toMatchObject({ complaints: [], unchecked: ['half_gone'] });
});
