/**
 * The servers that a suite can be run against without having any: one plain PostgreSQL, and a demo of three replicas.
 *
 * Both have the same role: it may log in, owns its database, may create databases and roles, and is no superuser.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { locateBinaries } from '../../server/src/adapters/postgres/binaries.ts';
import { chooseLaunchUser } from '../../server/src/adapters/postgres/launch-user.ts';
import { initializeInstance, startInstance } from '../bench/postgres-instance.ts';
import { querySql } from '../bench/sql.ts';
import { freePorts } from '../../server/src/adapters/testing/ports.ts';
import { startCluster } from '../cluster/local-cluster.ts';
import type { Target } from './outcome.ts';

export interface RunningServer {
  readonly target: Target;
  stop(): Promise<void>;
}

const account = { user: 'barista', password: 'barista', database: 'barista' } as const;

/** What a client sees of a replica's settings, so that nothing else makes a difference. */
const settings = {
  max_connections: '200',
  max_prepared_transactions: '200',
  wal_level: 'replica',
  timezone: 'UTC',
  datestyle: 'iso, mdy',
  lc_messages: 'C',
  jit: 'off',
} as const;

export async function startPlain(): Promise<RunningServer> {
  const root = await mkdtemp(join(tmpdir(), 'barista-suites-plain-'));
  const remove = (): Promise<void> => rm(root, { recursive: true, force: true, maxRetries: 5 });
  try {
    const binaries = await locateBinaries();
    const user = await chooseLaunchUser();
    const directory = join(root, 'data');
    await initializeInstance(binaries, user, directory);
    const port = await freePorts(1);
    const server = await startInstance({ binaries, user, directory, port, settings });
    const stop = async (): Promise<void> => {
      await server.stop();
      await remove();
    };
    try {
      await querySql(
        server.operator('postgres'),
        `CREATE ROLE ${account.user} LOGIN NOSUPERUSER CREATEDB CREATEROLE PASSWORD '${account.password}'`,
        `CREATE DATABASE ${account.database} OWNER ${account.user} TEMPLATE template0`,
      );
    } catch (error) {
      await stop();
      throw error;
    }
    return { target: { host: '127.0.0.1', port, ...account }, stop };
  } catch (error) {
    await remove();
    throw error;
  }
}

/** Clients connect to the leader, or to a replica that passes them on to it. */
export async function startDemo(place: 'leader' | 'follower'): Promise<RunningServer> {
  const cluster = await startCluster({ args: ['--no-dashboard'] });
  try {
    const leader = (await cluster.leader()).pgwire.port;
    const follower = cluster.pgwirePorts.find((port) => port !== leader) ?? leader;
    const port = place === 'leader' ? leader : follower;
    return { target: { host: '127.0.0.1', port, ...account }, stop: () => cluster.stop() };
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}
