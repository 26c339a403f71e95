/**
 * Founding a group, explicitly, on one replica: empty (`barista init`), or on a backup (`barista restore`).
 *
 * Responsible for: the first log of a new cluster, whose only voter is this replica; the other `peers` of its configuration are expected and join when they are started.
 * Invariants: nothing that is there is overwritten; the log is made last, so that whatever a crash leaves is not a group yet; a restored group numbers its ballots and
 * configurations above those that its data knows, for it would take its own entries for superseded otherwise.
 */
import { randomBytes } from 'node:crypto';
import { createDatabase } from '../adapters/postgres/database.ts';
import { readBackup } from '../adapters/postgres/snapshot/backup.ts';
import { clearPartialIncoming, installSnapshot } from '../adapters/postgres/snapshot/directories.ts';
import { SnapshotError } from '../ports/snapshot.ts';
import { memberName } from '../multipaxos/configuration.ts';
import type { Configuration, Member, ReplicaId, Slot } from '../multipaxos/types.ts';
import type { ApplicationPointer } from '../ports/database.ts';
import { LogStoreError } from '../ports/log-store.ts';
import type { ReplicaConfig } from '../replica/config.ts';
import { CliError, exitCodes } from './errors.ts';
import { createLog, openLog } from './log-store.ts';
import { binariesOf, claimDatabase, inspectDatabase, launchServer, placesOf } from './replica-database.ts';

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

/** @throws CliError if there is a log or a database already */
export async function foundReplica(config: ReplicaConfig): Promise<Founded> {
  await refuseIfThere(config);
  const cluster = newCluster();
  const log = await createLog(config, {
    identity: { cluster, member: memberName(config.id, 1) },
    configuration: firstConfiguration(config, 1, 0 as Slot),
    base: 0 as Slot,
  });
  await log.close();
  return { cluster };
}

/** @throws CliError if there is a log or a database already, or the file is no whole backup */
export async function restoreReplica(
  config: ReplicaConfig,
  file: string,
  onProgress: (bytes: number) => void,
): Promise<Restored> {
  await refuseIfThere(config);
  const places = placesOf(config);
  const cluster = newCluster();
  await clearPartialIncoming(places.incoming);
  const { majorVersion } = await binariesOf(config);
  const header = await readBackup({ file, directory: places.incoming, majorVersion, onProgress }).catch(
    (error: unknown) => {
      throw error instanceof SnapshotError
        ? new CliError(`Cannot restore ${file}: ${error.message}`, exitCodes.failed, { cause: error })
        : error;
    },
  );
  await installSnapshot({ incoming: places.incoming, dataDirectory: places.postgres });
  const { at, base } = await closeOldLog(config);
  const before = at.keep.configuration?.version ?? header.configuration?.version ?? 0;
  await claimDatabase(places, cluster);
  const log = await createLog(config, {
    identity: { cluster, member: memberName(config.id, 1) },
    configuration: firstConfiguration(config, before + 1, base),
    base,
  });
  const { round } = at.keep.leadership;
  await log.append([{ kind: 'promise', ballot: { round, replica: memberName(config.id, 1) } }]);
  await log.close();
  return { cluster, pointer: at.pointer, backupOf: header.cluster, takenAt: header.takenAt };
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

async function refuseIfThere(config: ReplicaConfig): Promise<void> {
  const refuse = (what: string): never => {
    throw new CliError(
      `${config.dataDir} has ${what} already: ${config.id} is a replica of some group. To start it, run "barista serve". ` +
        'To found a new group here, move the directory away first; the data in it stays with the old group.',
      exitCodes.refused,
    );
  };
  try {
    await (await openLog(config)).close();
    refuse('a log');
  } catch (error) {
    if (!(error instanceof LogStoreError)) throw error;
    if (error.code !== 'logMissing') refuse(`a log (${error.message})`);
  }
  const { kind } = await inspectDatabase(placesOf(config), null);
  if (kind !== 'missing') refuse('a PostgreSQL');
}

/**
 * Starts PostgreSQL once: that it does is the best proof of a backup, and only it can tell how far its data goes. A leader's has, above its pointer, transactions that
 * were committed out of order: the new log begins above all of them, for what it put into the same slots would be taken for them.
 */
async function closeOldLog(
  config: ReplicaConfig,
): Promise<{ readonly at: ApplicationPointer; readonly base: Slot }> {
  const server = await launchServer(config);
  try {
    const database = createDatabase(server);
    const at = await database.applicationPointer();
    const base = Math.max(at.pointer, ...at.above) as Slot;
    // Parts that still waited for their last are of a log that is no more.
    await database.movePointer(base, { ...at.keep, keepFrom: (base + 1) as Slot });
    await database.flush();
    return { at, base };
  } finally {
    await server.stop();
  }
}
