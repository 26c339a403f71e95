/**
 * Founding a group, explicitly, on one replica: empty (`barista init`), on a backup (`barista restore`), or on the database that is left of a group all of whose logs are
 * lost (`barista init --keep-database`).
 *
 * Responsible for: the first log of a new cluster, whose only voter is this replica; the other `peers` of its configuration are expected and join when they are started.
 * Invariants: nothing that is there is overwritten; the log is made last, whole or not at all, so that whatever a crash leaves is not a group yet; a restored group numbers its ballots and
 * configurations above those that its data knows, for it would take its own entries for superseded otherwise.
 */
import { randomBytes } from 'node:crypto';
import { exists } from '../adapters/file-system.ts';
import { fromNearest } from '../adapters/postgres/backup/backup-choice.ts';
import type { RestoreTarget } from '../adapters/postgres/backup/recovery.ts';
import { restoreBackup, type RestoreStep } from '../adapters/postgres/backup/restore-backup.ts';
import type { DurablePosition } from '../adapters/postgres/copy/chosen.ts';
import {
  claimDatabase,
  inspectDatabase,
  ownerOf,
  placesOf,
  whyNotReplaceable,
} from '../adapters/postgres/database-directory.ts';
import { lockDirectory } from '../adapters/segment-log/directory-lock.ts';
import { openPassage } from '../adapters/postgres/launch-user.ts';
import { writeDirectoryState } from '../adapters/postgres/directory-state.ts';
import { CliError, exitCodes } from './errors.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { ballotNone } from '../multipaxos/ballot.ts';
import { memberName } from '../multipaxos/configuration.ts';
import type { Configuration, Member } from '../multipaxos/types/members.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { positionNone } from '../wal/position.ts';
import type { DirectoryState } from '../ports/database-directory.ts';
import { CopyError } from '../ports/copy.ts';
import { LogStoreError } from '../ports/log-store.ts';
import { createLog, openLog } from './log-store.ts';
import { binariesOf } from './replica-database.ts';

export interface Founded {
  /** The name by which this cluster is told from every other. */
  readonly cluster: string;
}

export interface Restored extends Founded {
  /** Which backup it was. */
  readonly file: string;
  /** Everything up to this slot of the old cluster is in it. */
  readonly pointer: Slot;
  /** Of the cluster that the backup was taken from. */
  readonly backupOf: string;
  readonly takenAt: string;
  /** When the last transaction was committed that WAL from after the backup's beginning has brought; null: none has. */
  readonly lastCommit: Date | null;
  /** Which were enabled, and are not any more: "name in database". */
  readonly subscriptions: readonly string[];
}

/** What a group is restored from, and up to where. */
export interface RestoreFrom {
  /** A backup, or a directory of backups, of which the nearest one is taken. */
  readonly file: string;
  /** Of a replica of the old group; null: the backup alone. */
  readonly archive: string | null;
  readonly target: RestoreTarget;
}

export interface RestoreProgress {
  /** A backup that will be tried. */
  readonly onBackup: (file: string) => void;
  readonly onStep: (step: RestoreStep) => void;
  /** Bytes of the database unpacked so far. */
  readonly onProgress: (bytes: number) => void;
}

export interface Kept {
  /** The cluster whose data it is; empty: it does not say. */
  readonly dataOf: string;
  /** Everything up to this slot is in it. */
  readonly pointer: Slot;
}

/** @throws CliError, refused if the replica has a log or a database already; LogStoreError */
export interface Founding {
  /** `cluster`: of the group, where members are fixed and another one has been founded already; null: it is drawn. */
  readonly found: (config: ReplicaConfig, cluster: string | null) => Promise<Founded>;
  readonly restore: (
    config: ReplicaConfig,
    from: RestoreFrom,
    progress: RestoreProgress,
  ) => Promise<Restored>;
  readonly databaseToKeep: (config: ReplicaConfig) => Promise<Kept>;
  readonly keepDatabase: (config: ReplicaConfig) => Promise<Founded & Kept>;
}

/** @throws CliError if there is a log, a database or a copy of one already */
export async function foundReplica(config: ReplicaConfig, of: string | null = null): Promise<Founded> {
  if (of !== null && config.protocol === 'multi-paxos')
    refuse(
      '--cluster is for groups whose members are fixed, such as those of protocol: paxos. Here the others join by themselves.',
    );
  await refuseIfThere(config);
  const cluster = of ?? newCluster();
  const log = await createLog(config, {
    identity: { cluster, member: memberName(config.id, 1) },
    configuration: firstConfiguration(config, 1, 0 as Slot),
    base: 0 as Slot,
    promised: ballotNone,
  });
  await log.close();
  return { cluster };
}

/**
 * What a group could be founded on here: nothing is changed.
 * @throws CliError if there is a log, or no database that can be relied on
 */
export async function databaseToKeep(config: ReplicaConfig): Promise<Kept> {
  const { dataOf, state } = await findDatabaseToKeep(config);
  return { dataOf, pointer: state.position.slot };
}

async function findDatabaseToKeep(config: ReplicaConfig): Promise<{ dataOf: string; state: DirectoryState }> {
  await refuseUnlessFree(config);
  const places = placesOf(config.dataDir);
  const found = await inspectDatabase(places, null);
  if (found.kind === 'missing') refuse(`There is no database in ${places.postgres} to keep.`);
  if (await exists(places.condemned)) {
    refuse(
      `The database in ${places.postgres} was given up before: ${places.condemned} says why. Found the group on another replica's. Only if there is ` +
        'none, and you accept what is wrong with this one, move that file away and run this again.',
    );
  }
  if (found.kind !== 'usable') refuse(`The database cannot be kept: ${found.reason}`);
  if (found.state.role.kind === 'copying') {
    refuse(
      `The database in ${places.postgres} is half of one: it was being copied from ${found.state.role.from}. Found the group on another replica's.`,
    );
  }
  return { dataOf: await ownerOf(places), state: found.state };
}

/**
 * A new group on the database that is here. What was acknowledged and is not in it is lost, so a person decides it; what it has beyond what was chosen is kept, too.
 * @throws CliError if there is a log, or no database that can be relied on
 */
export async function keepDatabase(config: ReplicaConfig): Promise<Founded & Kept> {
  const { dataOf, state } = await findDatabaseToKeep(config);
  const cluster = newCluster();
  return { dataOf, cluster, pointer: await foundOnDatabase(config, cluster, state) };
}

/** @throws CliError if there is a log or a database already, the file is no whole backup, or the target cannot be reached */
export async function restoreReplica(
  config: ReplicaConfig,
  from: RestoreFrom,
  progress: RestoreProgress,
): Promise<Restored> {
  await refuseIfThere(config);
  await openPassage(config.dataDir);
  const unlock = await lockDirectory(config.dataDir).catch((error: unknown) => {
    if (!(error instanceof LogStoreError) || error.code !== 'logLocked') throw error;
    return refuse(`${error.message}, which restores a backup there as it seems. Wait until it has ended.`);
  });
  try {
    return await restoreLocked(config, from, progress);
  } finally {
    await unlock();
  }
}

async function restoreLocked(
  config: ReplicaConfig,
  from: RestoreFrom,
  progress: RestoreProgress,
): Promise<Restored> {
  await refuseIfThere(config);
  const { postgres: directory } = placesOf(config.dataDir);
  const binaries = await binariesOf(config);
  const restored = await fromNearest(from.file, from.target, (file) => {
    progress.onBackup(file);
    return restoreBackup({ ...from, file, ...progress, directory, binaries });
  }).catch((error: unknown) => {
    if (!(error instanceof CopyError)) throw error;
    throw new CliError(`Cannot restore ${from.file}: ${error.message}`, exitCodes.failed, { cause: error });
  });
  const { file, header, backup, lastCommit, subscriptions } = restored;
  const cluster = newCluster();
  const pointer = await foundOnDatabase(config, cluster, backup);
  return {
    file,
    cluster,
    pointer,
    backupOf: header.cluster,
    takenAt: header.takenAt,
    lastCommit,
    subscriptions,
  };
}

/** What is in the directory becomes the beginning of a new group: its first leadership takes whatever PostgreSQL has. */
async function foundOnDatabase(
  config: ReplicaConfig,
  cluster: string,
  found: DurablePosition,
): Promise<Slot> {
  const places = placesOf(config.dataDir);
  const { slot, newestStart } = found.position;
  const configuration = firstConfiguration(config, (found.configuration?.version ?? 0) + 1, slot);
  await claimDatabase(places, cluster);
  // The numbers of slots and ballots go on, so that nobody takes anything of the old group for something of the new one.
  const position = { ...positionNone, slot };
  await writeDirectoryState(places.postgres, {
    role: { kind: 'founder', isNew: false },
    position,
    configuration,
  });
  const log = await createLog(config, {
    identity: { cluster, member: memberName(config.id, 1) },
    configuration,
    base: slot,
    promised: { round: newestStart.round, replica: memberName(config.id, 1) },
  });
  await log.close();
  return slot;
}

function newCluster(): string {
  return randomBytes(12).toString('hex');
}

/** This replica is the only voter, and the others are expected; where members are fixed all are voters from the beginning. */
function firstConfiguration(config: ReplicaConfig, version: number, slot: Slot): Configuration {
  const members = config.peers.map(({ id, host, port, pgwire }): Member => {
    const founder = id === config.id || config.protocol !== 'multi-paxos';
    return {
      replica: id,
      incarnation: founder ? 1 : 0,
      role: founder ? 'voter' : 'learner',
      nonce: founder ? randomBytes(12).toString('hex') : '',
      address: { host, port, pgwire },
    };
  });
  return { version, slot, members: members.toSorted((a, b) => compareNames(a.replica, b.replica)) };
}

function compareNames(a: ReplicaId, b: ReplicaId): number {
  return a < b ? -1 : 1;
}

function refuse(why: string): never {
  throw new CliError(why, exitCodes.refused);
}

/** Whatever a group is founded on. */
async function refuseUnlessFree(config: ReplicaConfig): Promise<void> {
  const why = await whyNotReplaceable(placesOf(config.dataDir));
  if (why !== null) refuse(why);
  await refuseLog(config);
}

async function refuseIfThere(config: ReplicaConfig): Promise<void> {
  await refuseUnlessFree(config);
  const places = placesOf(config.dataDir);
  const { postgres } = places;
  if ((await inspectDatabase(places, null)).kind === 'missing') return;
  const owner = await ownerOf(places);
  if (owner === '') {
    refuse(
      `${postgres} holds a database without the name of a group, and there is no log: "barista restore" was interrupted there. ` +
        'Move it away, and run this again; "barista serve" would wait for ever to be let in somewhere.',
    );
  }
  refuse(
    `${postgres} holds a database of cluster ${owner}, and there is no log. If ${config.id} has lost its log, run "barista serve": the others of ` +
      'its group let it in again. If they have all lost theirs, "barista init --keep-database" founds a new group on it. If "barista restore" was ' +
      'interrupted here, there are no others, and it would wait for ever: move the database away, and run this again.',
  );
}

async function refuseLog(config: ReplicaConfig): Promise<void> {
  const log = await logThere(config);
  if (log === null) return;
  refuse(
    `${config.dataDir} has ${log} already: ${config.id} is a replica of some group. To start it, run "barista serve". ` +
      'To found a new group here, move the directory away first; the data in it stays with the old group.',
  );
}

/** What to call it; null if there is none. */
async function logThere(config: ReplicaConfig): Promise<string | null> {
  try {
    await (await openLog(config)).close();
    return 'a log';
  } catch (error) {
    if (!(error instanceof LogStoreError)) throw error;
    if (error.code === 'logMissing') return null;
    // Anything else says that nobody can look.
    if (error.code === 'logLocked' || error.code === 'logCorrupt') return `a log (${error.message})`;
    throw error;
  }
}
