/**
 * Founding a group, explicitly, on one replica: empty (`barista init`), on a backup (`barista restore`), or on the database that is left of a group all of whose logs are
 * lost (`barista init --keep-database`).
 *
 * Responsible for: the first log of a new cluster, whose only voter is this replica; the other `peers` of its configuration are expected and join when they are started.
 * Invariants: nothing that is there is overwritten; the log is made last, whole or not at all, so that whatever a crash leaves is not a group yet; a restored group numbers its ballots and
 * configurations above those that its data knows, for it would take its own entries for superseded otherwise.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { exists } from '../adapters/file-system.ts';
import { createDatabase } from '../adapters/postgres/database.ts';
import { readBackup } from '../adapters/postgres/snapshot/backup.ts';
import {
  clearPartialIncoming,
  describeOwner,
  inspectIncoming,
  installSnapshot,
  ownerOfCopy,
} from '../adapters/postgres/snapshot/directories.ts';
import { SnapshotError } from '../ports/snapshot.ts';
import { ballotNone } from '../multipaxos/ballot.ts';
import { memberName } from '../multipaxos/configuration.ts';
import type { Configuration, Member, ReplicaId, Slot } from '../multipaxos/types.ts';
import type { ApplicationPointer, Database } from '../ports/database.ts';
import { LogStoreError } from '../ports/log-store.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { CliError, exitCodes } from '../cli/errors.ts';
import { createLog, openLog } from './log-store.ts';
import {
  binariesOf,
  claimDatabase,
  inspectDatabase,
  launchServer,
  placesOf,
  type Places,
  whyNotReplaceable,
} from './replica-database.ts';

export interface Founded {
  /** The name by which this cluster is told from every other. */
  readonly cluster: string;
}

export interface Restored extends Founded {
  /** Everything up to this slot of the old cluster is in it. */
  readonly pointer: Slot;
  /** Of the cluster that the backup was taken from. */
  readonly backupOf: string;
  readonly takenAt: string;
}

export interface Kept {
  /** The cluster whose data it is; empty: it does not say. */
  readonly dataOf: string;
  /** Everything up to this slot is in it. */
  readonly pointer: Slot;
}

/** @throws CliError if there is a log, a database or a copy of one already */
export async function foundReplica(config: ReplicaConfig): Promise<Founded> {
  await refuseIfThere(config);
  await clearPartialIncoming(placesOf(config).incoming);
  const cluster = newCluster();
  const log = await createLog(config, {
    identity: { cluster, member: memberName(config.id, 1) },
    configuration: firstConfiguration(config, 1, 0 as Slot),
    base: 0 as Slot,
    promised: ballotNone,
  });
  await log.close();
  return { cluster };
}

/** @throws CliError if there is a log, a database or a copy of one already, or the file is no whole backup */
export async function restoreReplica(
  config: ReplicaConfig,
  file: string,
  onProgress: (bytes: number) => void,
): Promise<Restored> {
  await refuseIfThere(config);
  const places = placesOf(config);
  const cluster = newCluster();
  const owner = { group: config.group, cluster };
  await clearPartialIncoming(places.incoming);
  const { majorVersion } = await binariesOf(config);
  const header = await readBackup({
    file,
    directory: places.incoming,
    majorVersion,
    owner,
    onProgress,
  }).catch((error: unknown) => {
    throw error instanceof SnapshotError
      ? new CliError(`Cannot restore ${file}: ${error.message}`, exitCodes.failed, { cause: error })
      : error;
  });
  await installSnapshot({ incoming: places.incoming, dataDirectory: places.postgres, owner });
  const pointer = await foundOnDatabase(config, cluster, header.configuration?.version ?? 0);
  return { cluster, pointer, backupOf: header.cluster, takenAt: header.takenAt };
}

/**
 * What a group could be founded on here: nothing is changed.
 * @throws CliError if there is a log, or no database that can be relied on
 */
export async function databaseToKeep(config: ReplicaConfig): Promise<Kept> {
  await refuseUnlessFree(config);
  const places = placesOf(config);
  const state = await inspectDatabase(places, null);
  if (state.kind === 'missing') refuse(`There is no database in ${places.postgres} to keep.`);
  if (await exists(places.condemned)) {
    refuse(
      `The database in ${places.postgres} was given up before: ${places.condemned} says why. Found the group on another replica's. Only if there is ` +
        'none, and you accept what is wrong with this one, move that file away and run this again.',
    );
  }
  if (state.kind !== 'usable') refuse(`The database cannot be kept: ${state.reason}`);
  const { pointer } = await withDatabase(config, (database) => database.applicationPointer());
  return { dataOf: await ownerOf(places), pointer };
}

/**
 * A new group on the database that is here. What was acknowledged and is not in it is lost, so a person decides it.
 * @throws CliError if there is a log, or no database that can be relied on
 */
export async function keepDatabase(config: ReplicaConfig): Promise<Founded & Kept> {
  const kept = await databaseToKeep(config);
  const cluster = newCluster();
  await foundOnDatabase(config, cluster, 0);
  return { ...kept, cluster };
}

/** `versionBefore`: of the configuration, if the database does not know. Returns how far the data goes. */
async function foundOnDatabase(config: ReplicaConfig, cluster: string, versionBefore: number): Promise<Slot> {
  const { at, base } = await withDatabase(config, closeOldLog);
  const before = at.keep.configuration?.version ?? versionBefore;
  await claimDatabase(placesOf(config), cluster);
  const { round } = at.keep.leadership;
  const log = await createLog(config, {
    identity: { cluster, member: memberName(config.id, 1) },
    configuration: firstConfiguration(config, before + 1, base),
    base,
    promised: { round, replica: memberName(config.id, 1) },
  });
  await log.close();
  return at.pointer;
}

function newCluster(): string {
  return randomBytes(12).toString('hex');
}

/** This replica is the only voter; the others are expected. */
function firstConfiguration(config: ReplicaConfig, version: number, slot: Slot): Configuration {
  const members = config.peers.map(({ id, host, port, pgwire }): Member => {
    const founder = id === config.id;
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
  const why = await whyNotReplaceable(placesOf(config));
  if (why !== null) refuse(why);
  await refuseLog(config);
  await refuseIncoming(config);
}

async function refuseIfThere(config: ReplicaConfig): Promise<void> {
  await refuseUnlessFree(config);
  const places = placesOf(config);
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

async function refuseIncoming(config: ReplicaConfig): Promise<void> {
  const { incoming } = placesOf(config);
  if ((await inspectIncoming(incoming)) !== 'complete') return;
  const what = describeOwner(await ownerOfCopy(incoming));
  refuse(
    `${incoming} holds ${what}, which was never put in place: "barista restore", or the copying of another replica's database, was ` +
      'interrupted there. Move it away, and run this again.',
  );
}

async function ownerOf({ cluster }: Places): Promise<string> {
  return (await readFile(cluster, 'utf8').catch(() => '')).trim();
}

/** What to call it; null if there is none. */
async function logThere(config: ReplicaConfig): Promise<string | null> {
  try {
    await (await openLog(config)).close();
    return 'a log';
  } catch (error) {
    if (!(error instanceof LogStoreError)) throw error;
    return error.code === 'logMissing' ? null : `a log (${error.message})`;
  }
}

/**
 * A leader's database has, above its pointer, transactions that were committed out of order: the new log begins above all of them, for what it put into the same slots
 * would be taken for them.
 */
async function closeOldLog(
  database: Database,
): Promise<{ readonly at: ApplicationPointer; readonly base: Slot }> {
  const at = await database.applicationPointer();
  const base = Math.max(at.pointer, ...at.above) as Slot;
  // Parts that still waited for their last are of a log that is no more.
  await database.movePointer(base, { ...at.keep, keepFrom: (base + 1) as Slot });
  await database.flush();
  return { at, base };
}

/** Starts PostgreSQL once: that it does is the best proof of a backup, and only it can tell how far its data goes. */
async function withDatabase<T>(config: ReplicaConfig, work: (database: Database) => Promise<T>): Promise<T> {
  const server = await launchServer(config);
  try {
    return await work(createDatabase(server));
  } finally {
    await server.stop();
  }
}
