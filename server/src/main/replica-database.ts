/**
 * A replica's PostgreSQL as the shell needs it: its directory, its launch, the copies that others may have of it.
 *
 * Responsible for: where things are in the data directory, and which function of the postgres adapter stands behind which word of the keeper.
 *
 *   postgres/                  in use; `cluster` in it names the group whose data it holds
 *   postgres.lost-<time>/      set aside
 *   incoming/                  a copy that is being received; it, too, names the group whose data it holds
 *   incoming.lost-<time>/      a copy of another group's, set aside
 *   postgres.condemned.json    what is in `postgres` must be replaced before anything is started
 *
 * Invariant: a directory without the name of this very cluster is never used, nor put in place: data of another group, such as one that was restored from a backup
 * since, would be taken for the group's own.
 */
import { mkdir, open, readFile, rename, rm, statfs } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { locateBinaries } from '../adapters/postgres/binaries.ts';
import { createDatabase } from '../adapters/postgres/database.ts';
import { sqlStateOf } from '../adapters/postgres/database-error.ts';
import { inspectDataDirectory } from '../adapters/postgres/inspect-data-directory.ts';
import { syncPath } from '../adapters/file-system.ts';
import { isMountPoint } from '../adapters/mount-point.ts';
import { connectPg } from '../adapters/postgres/pg-client.ts';
import {
  startPostgres,
  type PostgresOptions,
  type PostgresServer,
} from '../adapters/postgres/postgres-server.ts';
import { createSessionSql } from '../adapters/postgres/session-sql.ts';
import {
  clearPartialIncoming,
  describeOwner,
  inspectIncoming,
  installSnapshot,
  isSameOwner,
  ownerOfCopy,
  setDatabaseAside,
  type SetAside,
} from '../adapters/postgres/snapshot/directories.ts';
import { receiveSnapshot } from '../adapters/postgres/snapshot/receive-snapshot.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
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

/** Why no copy could ever be put in the place of the database, and what to do; null if one can. */
export async function whyNotReplaceable({ postgres }: Places): Promise<string | null> {
  if (!(await isMountPoint(postgres))) return null;
  return (
    `${postgres} is a mount point: what is in it cannot be set aside, nor a copy of another replica's database be put in its place. ` +
    `Mount the volume at ${dirname(postgres)} or above it instead, with "postgres" as an ordinary directory on it.`
  );
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

export function databaseDirectory(config: ReplicaConfig, cluster: string, logger: Logger): DatabaseDirectory {
  const places = placesOf(config);
  const owner = { group: config.group, cluster };
  const install = async (): Promise<void> => {
    tellSetAside(
      logger,
      await installSnapshot({ incoming: places.incoming, dataDirectory: places.postgres, owner }),
    );
    await claimDatabase(places, cluster);
    await acquit();
  };
  const acquit = async (): Promise<void> => {
    await rm(places.condemned, { force: true });
    await syncPath(config.dataDir);
  };
  /** What was received whole before a crash is put in place: what it replaces may be set aside already. Unless the replica was in another cluster then. */
  const settleIncoming = async (): Promise<void> => {
    if ((await clearPartialIncoming(places.incoming)) !== 'complete') return;
    const of = await ownerOfCopy(places.incoming);
    if (isSameOwner(of, owner)) return install();
    tellSetAside(logger, await setDatabaseAside(places.incoming));
    logger.error(
      `${places.incoming} held ${describeOwner(of)}, left behind by an earlier life of this data directory: it was set aside and is not used`,
    );
  };
  return {
    async inspect() {
      // A log that is elsewhere, such as in ZooKeeper, has made none.
      await mkdir(config.dataDir, { recursive: true });
      // Before anything is started or copied: it would be found out when a recovery is all but done.
      const why = await whyNotReplaceable(places);
      if (why !== null) throw new Error(why);
      await settleIncoming();
      return inspectDatabase(places, cluster);
    },
    async receive({ stream }, onBytes, signal) {
      const { majorVersion } = await binariesOf(config);
      const directory = places.incoming;
      await receiveSnapshot({ stream, directory, majorVersion, owner, onProgress: onBytes, signal });
    },
    async install(old) {
      // A crash before the copy is in its place leaves what is left of the old one to be set aside: the copy is complete.
      if (old === 'removed') await rm(places.postgres, { recursive: true, force: true });
      await install();
    },
    async condemn(loss) {
      await writeDurably(places.condemned, config.dataDir, JSON.stringify(loss));
    },
    async condemned() {
      const replaced = (await inspectIncoming(places.incoming)) === 'complete';
      if (replaced && isSameOwner(await ownerOfCopy(places.incoming), owner)) return null;
      const text = await readFile(places.condemned, 'utf8').catch(() => null);
      return text === null ? null : lossOf(text);
    },
    async freeSpace() {
      const { bavail, bsize } = await statfs(config.dataDir);
      return { bytes: bavail * bsize, path: config.dataDir };
    },
    async setAside() {
      tellSetAside(logger, await setDatabaseAside(places.postgres));
    },
    acquit,
  };
}

/** What was here may be the last that is left of something: nobody should have to search for it, or wonder where it went. */
function tellSetAside(logger: Logger, { setAside, removed }: SetAside): void {
  if (setAside !== null) logger.warn({ path: setAside }, `what was replaced is kept in ${setAside}`);
  for (const path of removed) {
    logger.warn({ path }, `${path}, which was set aside earlier, was removed: the newest two are kept`);
  }
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
  await syncPath(directory);
}

export function binariesOf({ postgres: { pgBin } }: ReplicaConfig): ReturnType<typeof locateBinaries> {
  return locateBinaries(pgBin === undefined ? {} : { pgBin });
}

/** Creates the database if there is none. @throws LaunchError; the signal's reason */
export async function launchServer(
  config: ReplicaConfig,
  watch: Pick<PostgresOptions, 'onStep' | 'signal'> = {},
): Promise<PostgresServer> {
  return startPostgres({
    ...watch,
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
