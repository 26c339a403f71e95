/**
 * One PostgreSQL without Barista: the same programs, settings and machine, in a database that has no capture triggers.
 *
 * Clients come by its Unix socket, which favours it a little over the replicas, which are reached by TCP.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { locateBinaries } from '../../server/src/adapters/postgres/binaries.ts';
import { startPostgres } from '../../server/src/adapters/postgres/postgres-server.ts';
import { psqlSocket } from '../cluster/pg-tools.ts';

export interface PlainPostgres {
  readonly version: string;
  /** Connection string for pgbench. */
  address(synchronousCommit: 'on' | 'off'): string;
  stop(): Promise<void>;
}

const database = 'plain';

export async function startPlainPostgres(): Promise<PlainPostgres> {
  const directory = await mkdtemp(join(tmpdir(), 'barista-bench-plain-'));
  const server = await startPostgres({ directory, binaries: await locateBinaries() });
  const stop = async (): Promise<void> => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
  // The database that startPostgres makes carries the capture triggers; one from template0 does not.
  const made = await psqlSocket(server, `CREATE DATABASE ${database} OWNER barista TEMPLATE template0`);
  if (made.code !== 0) {
    await stop();
    throw new Error(`the plain database could not be made: ${made.stderr}`);
  }
  return {
    version: server.version,
    address: (synchronousCommit) =>
      `host=${server.socketDir} port=${server.port} dbname=${database} options='-c synchronous_commit=${synchronousCommit}'`,
    stop,
  };
}
