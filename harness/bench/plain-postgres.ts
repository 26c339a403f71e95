/**
 * One PostgreSQL without Barista: the same programs and machine, in a directory of its own that goes with it.
 *
 * Clients come by its Unix socket, which favours it a little over the replicas, which are reached by TCP.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { locateBinaries } from '../../server/src/adapters/postgres/binaries.ts';
import { chooseLaunchUser } from '../../server/src/adapters/postgres/launch-user.ts';
import { freePorts } from '../../server/src/adapters/testing/ports.ts';
import { initializeInstance, startInstance } from './postgres-instance.ts';
import { querySql } from './sql.ts';

export interface PlainPostgres {
  readonly version: string;
  /** Connection string for pgbench. */
  address(synchronousCommit: 'on' | 'off'): string;
  stop(): Promise<void>;
}

const database = 'plain';

export async function startPlainPostgres(): Promise<PlainPostgres> {
  const root = await mkdtemp(join(tmpdir(), 'barista-bench-plain-'));
  const remove = (): Promise<void> => rm(root, { recursive: true, force: true });
  try {
    const binaries = await locateBinaries();
    const user = await chooseLaunchUser();
    const directory = join(root, 'data');
    await initializeInstance(binaries, user, directory);
    const settings = { max_connections: '200', max_wal_size: '1GB', timezone: 'UTC' };
    const port = await freePorts(1);
    const server = await startInstance({ binaries, user, directory, port, settings });
    const stop = async (): Promise<void> => {
      await server.stop();
      await remove();
    };
    try {
      const statements = [
        "CREATE ROLE barista LOGIN PASSWORD 'barista'",
        `CREATE DATABASE ${database} OWNER barista`,
      ];
      await querySql(server.operator('postgres'), ...statements);
    } catch (error) {
      await stop();
      throw error;
    }
    return {
      version: binaries.version,
      address: (synchronousCommit) =>
        `host=${directory} port=${port} dbname=${database} options='-c synchronous_commit=${synchronousCommit}'`,
      stop,
    };
  } catch (error) {
    await remove();
    throw error;
  }
}
