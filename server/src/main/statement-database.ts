/**
 * A replica's PostgreSQL where statements are what travels: made from nothing, the same at every replica, started as an ordinary server, and watched.
 *
 * Responsible for: that two replicas which have executed nothing have the same database, that the copy which is kept takes its place, and what is told of it. Executes no operation.
 * Invariant: the directory holds the data of this very cluster.
 */
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Logger } from 'pino';
import { exists, makeDirectories, writeDurably } from '../adapters/file-system.ts';
import { reserveNote, writeReserved } from '../adapters/reserved-note.ts';
import { readFile } from '../adapters/postgres/account-files.ts';
import { type Claim, readClaim, writeClaim } from '../adapters/postgres/database-claim.ts';
import { claimDatabase, ownerOf, placesOf } from '../adapters/postgres/database-directory.ts';
import { initializeData } from '../adapters/postgres/data-directory.ts';
import { setSequences } from '../adapters/postgres/kept/exact-sequences.ts';
import { type CopyNote, KeptDirectory } from '../adapters/postgres/kept/kept-directory.ts';
import { prepareFounding } from '../adapters/postgres/founding.ts';
import { inspectDataDirectory } from '../adapters/postgres/inspect-data-directory.ts';
import { openInstance, type PostgresInstance } from '../adapters/postgres/instance/postgres-instance.ts';
import { chooseLaunchUser, preparePlace } from '../adapters/postgres/launch-user.ts';
import { setDatabaseAside } from '../adapters/postgres/set-aside.ts';
import type { PgBinaries } from '../adapters/postgres/binaries.ts';
import { primaryDefaults } from '../config/config-schema.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { statementSettings } from '../payload/statements/statement-settings.ts';
import { binariesOf } from './replica-database.ts';

export interface StatementPostgres {
  readonly instance: PostgresInstance;
  readonly binaries: PgBinaries;
  readonly kept: KeptDirectory;
  /** Ready for the executor; made first, if there is none. @throws LaunchError; the signal's reason */
  start(ended: AbortSignal): Promise<StartedPostgres>;
  /** Stops it, and moves what it has out of the way: its files are damaged. */
  setAside(): Promise<void>;
  /** Stops it, and has the copy that is kept take its place. */
  restore(): Promise<void>;
  /** What it has is wrong, and is durably said to be. */
  condemn(reason: string): Promise<void>;
  isCondemned(): Promise<boolean>;
  /** This very database holds it from now on, durably; what takes its place does not. */
  claim(claim: Claim): Promise<void>;
  /** Null: none. */
  claimed(): Promise<Claim | null>;
  /** Stops it, and removes what it has, the copy that is kept, too: the next start makes another. */
  forget(): Promise<void>;
  /** It is stopped with nothing open or under way. However else it ends, the next start takes it for crashed. */
  atRest(): Promise<void>;
}

/** `isAfterCrash`: it was not shut down in order before. `copy`: it is one, of which nothing was gone on from yet; its sequences are set. */
export interface StartedPostgres {
  readonly isAfterCrash: boolean;
  readonly copy: CopyNote | null;
}

/** Starts nothing. @throws LaunchError */
export async function openStatementPostgres(
  config: ReplicaConfig,
  cluster: string,
  logger: Logger,
): Promise<StatementPostgres> {
  const places = placesOf(config.dataDir);
  const binaries = await binariesOf(config);
  const kept = new KeptDirectory(places.postgres);
  const crashed = join(places.postgres, 'after-crash');
  await kept.open(cluster);
  const instance = await openInstance({
    directory: places.postgres,
    binaries,
    settings: config.postgres.settings,
    // One for each session of the whole group, and the replica's own.
    connectionsMax: config.bounds.clientsMax * config.peers.length + 20,
  });
  return {
    instance,
    binaries,
    kept,
    async start(ended) {
      await makeDirectories(places.dataDir);
      // Nothing is executed before a restart would hear that it went wrong, on a full disk, too.
      await reserveNote(places.condemned, JSON.stringify({ reason: 'it was found to be wrong' }));
      // It was removed, or its place was about to be taken.
      const isGone = (await inspectDataDirectory(places.postgres)) === 'missing';
      if (kept.note !== null && (isGone || (await kept.isHalfStarted())))
        await kept.install(await chooseLaunchUser());
      const isNew = (await inspectDataDirectory(places.postgres)) === 'missing';
      if (isNew) {
        const user = await chooseLaunchUser();
        await preparePlace(user, places.postgres);
        await claimDatabase(places, cluster);
        await initializeData(binaries, user, places.data);
      }
      const isAfterCrash = !isNew && ((await exists(crashed)) || !(await wasShutDown(places.data)));
      const owner = await ownerOf(places);
      if (owner !== cluster)
        throw new Error(
          `${places.postgres} holds the data of another group (${owner === '' ? 'it does not say which' : owner})`,
        );
      // What is open when it ends may have drawn numbers of sequences, which a PostgreSQL that is shut down in order keeps, too.
      await writeDurably(crashed, '');
      await instance.start({ kind: 'alone', fixed: settingsOf(config) }, ended);
      const copy = await kept.installed();
      if (copy !== null) await setSequences(instance.socketDir, copy.sequences);
      // Again where a crash came between.
      await prepare(config, instance, binaries, cluster);
      logger.info({ isNew, isAfterCrash, copyOf: copy?.slot, version: instance.version }, 'PostgreSQL is up');
      return { isAfterCrash: isAfterCrash && copy === null, copy };
    },
    async setAside() {
      await instance.stop('immediate');
      const { setAside: path, removed } = await setDatabaseAside(places.data);
      if (path !== null) logger.warn({ path, removed }, `what was replaced is kept in ${path}`);
    },
    async restore() {
      await instance.stop('immediate');
      await kept.install(await chooseLaunchUser());
      await rm(places.condemned, { force: true });
      await rm(crashed, { force: true });
    },
    async forget() {
      await instance.stop('immediate');
      await kept.discard();
      await kept.removeData();
      await rm(places.condemned, { force: true });
      await rm(crashed, { force: true });
    },
    atRest: () => rm(crashed, { force: true }),
    claim: (claim) => writeClaim(places.data, claim),
    claimed: () => readClaim(places.data),
    condemn: (reason) => writeReserved(places.condemned, JSON.stringify({ reason })),
    isCondemned: () =>
      stat(places.condemned).then(
        () => true,
        () => false,
      ),
  };
}

/** What SHOW says of a session's level where it has asked for none. */
function settingsOf({
  protocol,
  primary = primaryDefaults,
}: ReplicaConfig): Readonly<Record<string, string>> {
  if (protocol !== 'primary') return statementSettings;
  return { ...statementSettings, 'barista.acknowledge': primary.replication };
}

/** Where the state lies in `global/pg_control`: behind the system's identifier and two versions. */
const stateAt = 16;
const shutDown = 1;

async function wasShutDown(data: string): Promise<boolean> {
  const control = await readFile(join(data, 'global', 'pg_control'));
  return control.readInt32LE(stateAt) === shutDown;
}

/** What clients of a new group find: the role and the database of the configuration. */
async function prepare(
  { bootstrap }: ReplicaConfig,
  { socketDir }: PostgresInstance,
  { majorVersion }: PgBinaries,
  cluster: string,
): Promise<void> {
  if (bootstrap === undefined) return;
  const { user: name, password, database } = bootstrap;
  await prepareFounding({
    socketDir,
    majorVersion,
    database,
    role: { name, password: secretFor(cluster, name, password) },
    keeps: true,
  });
}

const iterations = 4096;
const saltBytes = 16;
const keyBytes = 32;

/** What PostgreSQL keeps of the password, with a salt that is the same at every replica of the cluster. */
export function secretFor(cluster: string, role: string, password: string): string {
  const salt = createHmac('sha256', cluster).update(`salt ${role}`).digest().subarray(0, saltBytes);
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, iterations, keyBytes, 'sha256');
  const of = (key: Buffer, text: string): Buffer => createHmac('sha256', key).update(text).digest();
  const clientKey = of(salted, 'Client Key');
  const storedKey = createHash('sha256').update(clientKey).digest();
  const serverKey = of(salted, 'Server Key');
  const base64 = [salt, storedKey, serverKey].map((bytes) => bytes.toString('base64'));
  return `SCRAM-SHA-256$${iterations}:${base64[0]}$${base64[1]}:${base64[2]}`;
}
