/**
 * `barista backup list` and `barista backup verify`: the backups in a directory, and whether one of them can be restored.
 *
 * Asks no replica. What a restore test does is adapters/postgres/backup/restore-test.ts; this finds the file and a place for it, and says how it went.
 */
import { randomBytes } from 'node:crypto';
import { readdir, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { locateBinaries } from '../../adapters/postgres/binaries.ts';
import { backupsFor } from '../../adapters/postgres/backup/backup-choice.ts';
import { type BackupEnds, readBackupEnds } from '../../adapters/postgres/backup/backup-file.ts';
import { type RestoreTestReport, testRestore } from '../../adapters/postgres/backup/restore-test.ts';
import { ownerOf, placesOf } from '../../adapters/postgres/database-directory.ts';
import { LaunchError } from '../../adapters/postgres/launch-error.ts';
import { loadReplicaConfig, type ReplicaConfig } from '../../config/replica-config.ts';
import { CliError, exitCodes } from '../../main/errors.ts';
import { CopyError } from '../../ports/copy.ts';
import { formatLsn } from '../../wal/lsn.ts';
import type { VerifyBackupArguments } from '../program-backup.ts';
import { megabytes, type ProgressLine } from './progress-line.ts';

type Say = (line: string) => void;

const complaintsShown = 20;
const testPrefix = 'restore-test-';
/** A replay is given up after a day. */
const forgottenMs = 3 * 24 * 3_600_000;

/** @throws ConfigError, CliError */
export async function runListBackups(
  given: string | null,
  configFile: string | null,
  json: boolean,
  say: Say,
): Promise<void> {
  const config = configFile === null ? null : loadReplicaConfig(configFile);
  const directory = given ?? directoryOf(config, configFile);
  const found: { readonly file: string; readonly ends: BackupEnds | null }[] = [];
  for (const name of (await orFail(() => readdir(directory))).filter((each) => each.endsWith('.barista'))) {
    const file = join(directory, name);
    found.push({ file, ends: await readBackupEnds(file) });
  }
  const whole = found.flatMap(({ file, ends }) => (ends === null ? [] : [{ file, ...ends }]));
  const sorted = whole.toSorted((a, b) => b.header.position.slot - a.header.position.slot);
  if (json) {
    const rows = sorted.map(
      ({ file, bytes, header: { group, cluster, takenAt, position, postgresVersion } }) => ({
        file,
        bytes,
        group,
        cluster,
        takenAt,
        slot: position.slot,
        position: formatLsn(position.end),
        postgresVersion,
      }),
    );
    return say(JSON.stringify(rows, null, 2));
  }
  for (const { file, bytes, header } of sorted)
    say(
      `${header.takenAt}  ${megabytes(bytes).padStart(8)}  ${header.group}, slot ${header.position.slot}  ${file}`,
    );
  for (const { file, ends } of found) if (ends === null) say(`${file} is incomplete and cannot be restored.`);
  if (found.length === 0) say(`There is no backup in ${directory}.`);
}

function directoryOf(config: ReplicaConfig | null, configFile: string | null): string {
  if (config?.backup !== undefined) return config.backup.directory;
  throw new CliError(
    `${configFile ?? 'The configuration'} names no backup.directory: say where the backups are.`,
    exitCodes.usage,
  );
}

export interface VerifyBackupContext {
  readonly say: Say;
  readonly progress: ProgressLine;
  readonly signal: AbortSignal;
}

/** @throws ConfigError, CliError if it cannot be restored, or something is wrong in it */
export async function runVerifyBackup(
  args: VerifyBackupArguments,
  { say, progress, signal }: VerifyBackupContext,
): Promise<void> {
  const config = args.configFile === null ? null : loadReplicaConfig(args.configFile);
  const place = args.file ?? directoryOf(config, args.configFile);
  const [file] = await orFail(async () => backupsFor(place, { kind: 'end' }, await clusterOf(config)));
  if (file === undefined) throw new CliError(`There is no backup in ${place}.`);
  const archive = args.archive ?? (await archiveOf(config));
  const pgBin = args.pgBin ?? config?.postgres.pgBin;
  const binaries = await locateBinaries(pgBin === undefined ? {} : { pgBin }).catch((error: unknown) => {
    throw testError(error, signal);
  });
  const work = args.workDirectory ?? dirname(file);
  await orFail(() => removeForgotten(work));
  const directory = join(work, `${testPrefix}${randomBytes(4).toString('hex')}`);
  say(`${file} is restored in ${directory}${archive === null ? '' : `, with all WAL in ${archive}`} ...`);
  const steps = {
    unpacking: null,
    replaying: 'It is unpacked; PostgreSQL replays the WAL ...',
    pages: 'The WAL is replayed; all pages are read ...',
    relations: 'All pages are read; tables are compared with their indexes ...',
  } as const;
  const report = await testRestore({
    file,
    directory,
    binaries,
    archive,
    signal,
    onProgress: (bytes) => progress.update(bytes, null),
    onStep: (step) => {
      progress.clear();
      const words = steps[step];
      if (words !== null) say(words);
    },
  })
    .catch((error: unknown) => {
      throw testError(error, signal);
    })
    .finally(() => progress.clear());
  tellRestoreTest(file, report, say);
}

/** What tests have left that a power loss ended: each takes as much space as a database. */
async function removeForgotten(work: string): Promise<void> {
  for (const name of await readdir(work)) {
    if (!name.startsWith(testPrefix)) continue;
    const path = join(work, name);
    const found = await stat(path).catch(() => null);
    if (found !== null && Date.now() - found.mtimeMs > forgottenMs)
      await rm(path, { recursive: true, force: true });
  }
}

/** A directory may have backups of the group from which this one was restored, too. Null: it is not known here. */
async function clusterOf(config: ReplicaConfig | null): Promise<string | null> {
  const cluster = config === null ? '' : await ownerOf(placesOf(config.dataDir)).catch(() => '');
  return cluster === '' ? null : cluster;
}

/** One that has not been made yet holds nothing that could be replayed. */
async function archiveOf(config: ReplicaConfig | null): Promise<string | null> {
  const directory = config?.archive?.directory;
  if (directory === undefined) return null;
  return stat(join(directory, 'archive.json')).then(
    () => directory,
    () => null,
  );
}

/** @throws CliError if something is wrong in it */
export function tellRestoreTest(file: string, report: RestoreTestReport, say: Say): void {
  const { takenAt, end, lastCommit, pages, amcheck, complaints, doubts, unchecked } = report;
  if (complaints.length > 0)
    throw new CliError(`${file} can be restored, but is damaged:\n${listOf(complaints)}`);
  const last = lastCommit === null ? '' : `, its last transaction of ${lastCommit}`;
  const where = unchecked.length === 0 ? '' : ' of the other databases';
  const indexes = amcheck
    ? `tables and indexes${where} agree, as far as PostgreSQL can tell`
    : 'tables were not compared with indexes, for this PostgreSQL has no amcheck';
  say(
    `${file}, taken at ${takenAt}, can be restored: replayed to ${end}${last}; ${pages} pages are whole, ${indexes}.`,
  );
  if (unchecked.length > 0)
    say(
      `These databases were not checked, but for their pages. They are invalid, since a DROP DATABASE of them was interrupted: nobody can connect to them, and they can only be dropped.\n${listOf(unchecked)}`,
    );
  if (doubts.length > 0) {
    say(
      `These are shorter than PostgreSQL noted, and no index tells whether rows are missing. As a rule they lack empty pages that PostgreSQL had made ahead; compare the number of rows if in doubt:\n${listOf(doubts)}`,
    );
  }
}

function listOf(lines: readonly string[]): string {
  const more = lines.length - complaintsShown;
  const shown = [...lines.slice(0, complaintsShown), ...(more > 0 ? [`and ${more} more`] : [])];
  return shown.map((line) => `  ${line}`).join('\n');
}

async function orFail<T>(work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof CliError) throw error;
    throw new CliError((error as Error).message, exitCodes.failed, { cause: error });
  }
}

const noRoom = /ENOSPC|EDQUOT|EMFILE|No space left on device|Cannot allocate memory/;

/** What says nothing of the backup ends with another exit code. */
function testError(error: unknown, signal: AbortSignal): CliError {
  const { message } = error as Error;
  const isOfMachine =
    error instanceof LaunchError || (error instanceof CopyError && error.code === 'noSpace');
  if (signal.aborted || isOfMachine || noRoom.test(message))
    return new CliError(`It could not be tested: ${message}`, exitCodes.refused, { cause: error });
  return new CliError(`It cannot be restored: ${message}`, exitCodes.failed, { cause: error });
}
