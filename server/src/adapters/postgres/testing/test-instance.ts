/** For tests: a replica's PostgreSQL in a directory of its own, whose data is made once in a process and copied. */
import { execFile } from 'node:child_process';
import { rmSync } from 'node:fs';
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { locateBinaries, type PgBinaries } from '../binaries.ts';
import { initializeData, socketPort } from '../data-directory.ts';
import { openInstance, type InstanceOptions, type PostgresInstance } from '../instance/postgres-instance.ts';
import { chooseLaunchUser } from '../launch-user.ts';
import { handOver, prepareDirectory } from '../owners.ts';

export async function testBinaries(): Promise<PgBinaries> {
  const pgBin = process.env['BARISTA_TEST_PG_BIN'];
  return locateBinaries(pgBin === undefined ? {} : { pgBin });
}

let template: Promise<string> | null = null;

async function makeTemplate(): Promise<string> {
  const root = await mkdtemp(join(tmpdir(), 'barista-template-'));
  process.once('exit', () => rmSync(root, { recursive: true, force: true }));
  const user = await chooseLaunchUser();
  await prepareDirectory(user, root);
  const data = join(root, 'data');
  await initializeData(await testBinaries(), user, data);
  return data;
}

/** `directory` holds a new database, as initdb has made it, from now on. */
export async function makeData(directory: string): Promise<void> {
  template ??= makeTemplate();
  const user = await chooseLaunchUser();
  await prepareDirectory(user, directory);
  const data = join(directory, 'data');
  // Node's own takes five times the processor for a thousand files.
  await promisify(execFile)('cp', ['-a', await template, data]);
  await handOver(user, data);
}

export async function openTestInstance(
  directory: string,
  changes: Partial<InstanceOptions> = {},
): Promise<PostgresInstance> {
  const binaries = await testBinaries();
  return openInstance({ directory, binaries, settings: {}, connectionsMax: 30, ...changes });
}

/** A session of the superuser whose commits do not wait for anybody. */
export async function connectAlone({ socketDir }: PostgresInstance, database = 'postgres'): Promise<Client> {
  const client = await connectAs(socketDir, 'postgres', database);
  await client.query('SET synchronous_commit = local');
  return client;
}

/** A client's session, past the gateway. */
export async function connectAs(socketDir: string, user: string, database: string): Promise<Client> {
  const client = new Client({ host: socketDir, port: socketPort, user, database });
  client.on('error', () => undefined);
  await client.connect();
  return client;
}
