/**
 * A replica's PostgreSQL as the shell needs it: its directory, its launch, the copies that others may have of it.
 *
 * Responsible for: where things are in the data directory, and which function of the postgres adapter stands behind which word of the keeper.
 *
 *   postgres/                  in use; `cluster` in it names the group whose data it holds
 *   postgres.lost-<time>/      set aside
 *   incoming/                  a copy that is being received
 *   postgres.condemned.json    what is in `postgres` must be replaced before anything is started
 *
 * Invariant: a directory without the name of this very cluster is never used: data of another group, such as one that was restored from a backup
 * since, would be taken for the group's own.
 */
import { mkdir, open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { locateBinaries } from '../adapters/postgres/binaries.ts';
import { createDatabase } from '../adapters/postgres/database.ts';
import { sqlStateOf } from '../adapters/postgres/database-error.ts';
import { inspectDataDirectory } from '../adapters/postgres/inspect-data-directory.ts';
import { connectPg } from '../adapters/postgres/pg-client.ts';
import { startPostgres, type PostgresServer } from '../adapters/postgres/postgres-server.ts';
import { createSessionSql } from '../adapters/postgres/session-sql.ts';
import {
  clearPartialIncoming,
  inspectIncoming,
  installSnapshot,
  syncDirectory,
} from '../adapters/postgres/snapshot/directories.ts';
import { receiveSnapshot } from '../adapters/postgres/snapshot/receive-snapshot.ts';
import type { ReplicaConfig } from '../replica/config.ts';
import type { DatabaseDirectory, DirectoryState, Loss, RunningDatabase } from '../replica/database-keeper.ts';

export interface Places {
  readonly postgres: string;
  readonly incoming: string;
  readonly cluster: string;
  readonly condemned: string;
}

export function placesOf({ dataDir }: Pick<ReplicaConfig, 'dataDir'>): Places {
  const postgres = join(dataDir, 'postgres');
  return {
    postgres,
    incoming: join(dataDir, 'incoming'),
    cluster: join(postgres, 'cluster'),
    condemned: join(dataDir, 'postgres.condemned.json'),
  };
}

/** `cluster` null: not known yet; whatever is there counts as usable. */
export async function inspectDatabase(places: Places, cluster: string | null): Promise<DirectoryState> {
  const state = await inspectDataDirectory(places.postgres);
  if (state === 'missing') return { kind: 'missing' };
  if (state !== 'usable') return { kind: 'lost', reason: state.lost };
  if (cluster === null) return { kind: 'usable' };
  const owner = await readFile(places.cluster, 'utf8').catch(() => '');
  if (owner.trim() === cluster) return { kind: 'usable' };
  const whose =
    owner === '' ? 'does not say of which group' : `holds the data of another group (${owner.trim()})`;
  return { kind: 'foreign', reason: `${places.postgres} ${whose}` };
}

export function databaseDirectory(config: ReplicaConfig, cluster: string): DatabaseDirectory {
  const places = placesOf(config);
  const install = async (): Promise<void> => {
    await installSnapshot({ incoming: places.incoming, dataDirectory: places.postgres });
    await claimDatabase(places, cluster);
    await rm(places.condemned, { force: true });
  };
  return {
    async inspect() {
      // Received whole before a crash, and what it replaces may be set aside already.
      if ((await clearPartialIncoming(places.incoming)) === 'complete') await install();
      return inspectDatabase(places, cluster);
    },
    async receive({ stream }, onBytes, signal) {
      const { majorVersion } = await binariesOf(config);
      const directory = places.incoming;
      await receiveSnapshot({ stream, directory, majorVersion, onProgress: onBytes, signal });
    },
    install,
    async condemn(loss) {
      await writeDurably(places.condemned, config.dataDir, JSON.stringify(loss));
    },
    async condemned() {
      if ((await inspectIncoming(places.incoming)) === 'complete') return null;
      const text = await readFile(places.condemned, 'utf8').catch(() => null);
      return text === null ? null : lossOf(text);
    },
  };
}

/** Whatever its words are: that the file is there is enough. */
function lossOf(text: string): Loss {
  try {
    return JSON.parse(text) as Loss;
  } catch {
    return { cause: 'databaseLost', reason: 'it was given up before the replica was started' };
  }
}

/** From here on `postgres` holds this group's data. */
export async function claimDatabase(places: Places, cluster: string): Promise<void> {
  await mkdir(places.postgres, { recursive: true, mode: 0o700 });
  await writeDurably(places.cluster, places.postgres, `${cluster}\n`);
}

async function writeDurably(path: string, directory: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, 'w', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  await syncDirectory(directory);
}

export function binariesOf({ postgres: { pgBin } }: ReplicaConfig): ReturnType<typeof locateBinaries> {
  return locateBinaries(pgBin === undefined ? {} : { pgBin });
}

/** Creates the database if there is none. @throws LaunchError */
export async function launchServer(config: ReplicaConfig): Promise<PostgresServer> {
  return startPostgres({
    directory: placesOf(config).postgres,
    binaries: await binariesOf(config),
    settings: config.postgres.settings,
    // Sessions of clients, and the replica's own: applier, flush, supervision.
    connectionsMax: config.bounds.clientsMax + 20,
    ...(config.bootstrap === undefined
      ? {}
      : {
          database: config.bootstrap.database,
          roles: [{ name: config.bootstrap.user, password: config.bootstrap.password }],
        }),
  });
}

export function runningDatabase(server: PostgresServer): RunningDatabase {
  return {
    database: createDatabase(server),
    sessionSql: createSessionSql(server),
    info: () => ({
      pid: server.pid(),
      socketDir: server.socketDir,
      port: server.port,
      version: server.version,
    }),
    onExit: (listener) =>
      void server.onExit(({ code, signal }) => {
        listener(`PostgreSQL ended (${signal === null ? `exit code ${code}` : signal})`);
      }),
    probe: () => probe(server),
    restart: () => server.restart(),
    stop: () => server.stop(),
  };
}

/** A new connection: a main process that hangs lets none in, though older sessions may go on. */
async function probe({ socketDir }: PostgresServer): Promise<void> {
  try {
    const client = await connectPg({ socketDir, database: 'postgres' });
    await client.end();
  } catch (error) {
    // It has an answer, so it lives: too many clients, say, or it is recovering by itself.
    if (sqlStateOf(error) === null) throw error;
  }
}
