/**
 * A replica's PostgreSQL and its directory, put together from the postgres adapter's parts: how it is run, copied from, and replaced by a copy.
 *
 * Responsible for: which function of the adapter stands behind which word of the replica. Decides nothing.
 */
import type { Logger } from 'pino';
import { locateBinaries, type PgBinaries } from '../adapters/postgres/binaries.ts';
import { createBackupSource, type BackupSource } from '../adapters/postgres/backup/base-backup.ts';
import type { Chosen } from '../adapters/postgres/copy/chosen.ts';
import { createCopySource } from '../adapters/postgres/copy/copy-source.ts';
import { describeInstallation, type Installation } from '../adapters/postgres/copy/installation.ts';
import { receiveCopy } from '../adapters/postgres/copy/receive-copy.ts';
import { openDatabaseDirectory, placesOf } from '../adapters/postgres/database-directory.ts';
import { createDatabaseServer, type PostgresDatabaseServer } from '../adapters/postgres/database-server.ts';
import { prepareFounding } from '../adapters/postgres/founding.ts';
import { installRequestsAtFounding } from '../adapters/postgres/requests/install-requests.ts';
import { connectPg } from '../adapters/postgres/pg-client.ts';
import type { SetAside } from '../adapters/postgres/set-aside.ts';
import { systemClock } from '../adapters/system-clock.ts';
import type { ApplyTraceEvent } from '../api/events.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { CopyError, type CopyFetcher, type CopySource } from '../ports/copy.ts';
import type { DatabaseDirectory, Loss } from '../ports/database-directory.ts';
import type { RecoveryTracker } from '../replica/database/recovery-progress.ts';
import { replaceDatabase as replaceLost } from '../replica/database/replace-database.ts';
import type { AssembledReplica } from './assemble-replica.ts';

export interface ReplicaDatabase {
  readonly binaries: PgBinaries;
  readonly installation: Installation;
  readonly server: PostgresDatabaseServer;
  readonly directory: DatabaseDirectory;
}

export function binariesOf({ postgres: { pgBin } }: ReplicaConfig): Promise<PgBinaries> {
  return locateBinaries(pgBin === undefined ? {} : { pgBin });
}

/** Starts nothing. @throws LaunchError */
export async function openReplicaDatabase(
  config: ReplicaConfig,
  cluster: string,
  logger: Logger,
): Promise<ReplicaDatabase> {
  const places = placesOf(config.dataDir);
  const binaries = await binariesOf(config);
  const server = await createDatabaseServer({
    directory: places.postgres,
    binaries,
    settings: config.postgres.settings,
    // Sessions of clients, and the replica's own.
    connectionsMax: config.bounds.clientsMax + 20,
    gatherMs: 50,
    onReaderEnded: (what) =>
      logger.warn(
        what,
        'a client that reads here held so many locks that the standby could not go on: its session was ended',
      ),
  });
  const directory = openDatabaseDirectory({
    places,
    cluster,
    binaries,
    onSetAside: (what) => tellSetAside(logger, what),
  });
  return { binaries, installation: await describeInstallation(binaries), server, directory };
}

/** What was here may be the last that is left of something: nobody should have to search for it, or wonder where it went. */
function tellSetAside(logger: Logger, { setAside, removed }: SetAside): void {
  if (setAside !== null) logger.warn({ path: setAside }, `what was replaced is kept in ${setAside}`);
  for (const path of removed) {
    logger.warn({ path }, `${path}, which was set aside earlier, was removed: the newest two are kept`);
  }
}

/** What clients of a new group find: the role and the database of the configuration, if it has them, and what names of transactions need. */
export async function prepareDatabase(
  { bootstrap }: ReplicaConfig,
  { server, binaries }: ReplicaDatabase,
): Promise<void> {
  const { socketDir } = server.instance;
  if (bootstrap !== undefined) {
    const { user: name, password, database } = bootstrap;
    const { majorVersion } = binaries;
    await prepareFounding({ socketDir, majorVersion, database, role: { name, password } });
  }
  await installRequestsAtFounding({ socketDir }, bootstrap?.database);
}

/** What may be copied from this replica's database, and when it is chosen. */
function chosenOf({ replica, payload }: AssembledReplica): Chosen {
  return {
    position: () => {
      const why = replica.whyNoCopy();
      if (why !== null) throw new CopyError('sourceUnavailable', why);
      const { position, configuration } = payload.durableState();
      return { position, configuration };
    },
    awaitChosen: (lsn, signal) => payload.awaitChosen(lsn, signal),
  };
}

/** For backups. */
export function offeredBackups(
  config: ReplicaConfig,
  { server: { instance } }: ReplicaDatabase,
  assembled: AssembledReplica,
): BackupSource {
  const { bytesPerSecondMax = null } = config.snapshot;
  return createBackupSource({
    ...chosenOf(assembled),
    socketPath: instance.socketPath,
    version: instance.version,
    dataDir: instance.dataDir,
    bytesPerSecondMax: () => bytesPerSecondMax,
  });
}

/** Copies for other replicas. */
export function offeredCopies(
  config: ReplicaConfig,
  cluster: string,
  { server, installation }: ReplicaDatabase,
  assembled: AssembledReplica,
): CopySource {
  const { bytesPerSecondMax = null } = config.snapshot;
  return createCopySource({
    dataDir: server.instance.dataDir,
    // A copy begins with a checkpoint, and a peer that waits for it in vain goes away.
    connect: () =>
      connectPg({ socketDir: server.instance.socketDir, database: 'postgres', silentMsMax: null }),
    owner: { group: config.group, cluster },
    installation,
    ...chosenOf(assembled),
    bytesPerSecondMax: () => bytesPerSecondMax,
  });
}

export interface Replacing {
  readonly config: ReplicaConfig;
  readonly cluster: string;
  readonly fetcher: CopyFetcher;
  readonly tracker: RecoveryTracker;
  readonly logger: Logger;
  readonly onEvent: (event: ApplyTraceEvent) => void;
}

/** Has a copy of another replica's take the place of what is lost. */
export function replaceDatabase(
  { installation, directory }: ReplicaDatabase,
  { config, cluster, fetcher, tracker, logger, onEvent }: Replacing,
  loss: Loss,
  sources: () => readonly ReplicaId[],
  logReaches: (slot: Slot) => boolean,
  ended: AbortSignal,
): Promise<boolean> {
  return replaceLost(
    {
      fetcher,
      sources,
      tracker,
      logger,
      timers: systemClock,
      directory,
      onEvent,
      receive: (channel, from, onProgress, signal, clear) =>
        receiveCopy({
          channel,
          from,
          directory: placesOf(config.dataDir).postgres,
          owner: { group: config.group, cluster },
          installation,
          isOfUse: ({ slot }) => logReaches(slot),
          onProgress,
          signal,
          clear,
        }),
    },
    loss,
    ended,
  );
}
