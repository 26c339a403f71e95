/**
 * Backups on a schedule, put together: the schedule, the directory that it keeps them in, and restore tests in a process of their own.
 *
 * Decides nothing.
 */
import { spawn } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { dirname, join } from 'node:path';
import type { Logger } from 'pino';
import { exists } from '../adapters/file-system.ts';
import { createBackupDirectory } from '../adapters/postgres/backup/backup-directory.ts';
import type { BackupHeader } from '../adapters/postgres/backup/backup-file.ts';
import type { BackupSource } from '../adapters/postgres/backup/base-backup.ts';
import { openPassage } from '../adapters/postgres/launch-user.ts';
import { systemClock } from '../adapters/system-clock.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import type { KeptBackup, RestoreTestResult } from '../ports/backup-store.ts';
import { BackupSchedule } from '../replica/backup/backup-schedule.ts';
import type { AssembledReplica } from './assemble-replica.ts';
import { exitCodes } from './errors.ts';

const minuteMs = 60_000;
const saidBytesMax = 64 * 1024;
/** Of a complaint, in the status. */
const messageMax = 4000;

export interface ScheduledBackupsOptions {
  readonly config: ReplicaConfig;
  readonly cluster: string;
  readonly assembled: AssembledReplica;
  readonly source: BackupSource;
  readonly header: () => Pick<BackupHeader, 'group' | 'cluster' | 'postgresVersion'>;
  readonly logger: Logger;
}

/** Null: the configuration asks for none. */
export function scheduleBackups(options: ScheduledBackupsOptions): BackupSchedule | null {
  const { config, cluster, assembled, source, header, logger } = options;
  const { backup } = config;
  if (backup === undefined) return null;
  const { replica, archiving } = assembled;
  const wallMs = (): number => Date.now();
  return new BackupSchedule({
    store: createBackupDirectory({
      directory: backup.directory,
      group: config.group,
      replica: config.id,
      cluster,
      source,
      header,
      wallMs,
    }),
    directory: backup.directory,
    everyMs: backup.everyMinutes * minuteMs,
    keep: backup.keep,
    testEveryMs: backup.testEveryMinutes * minuteMs,
    whyNot: () => replica.whyNoCopy(),
    leavesItToOthers: () => replica.leadsOthers(),
    test: (kept, signal) => testRestore(config, kept, signal),
    forgetWalBelow: (lsn) => archiving?.forgetBelow(lsn),
    timers: systemClock,
    wallMs,
    logger,
  });
}

/** `barista backup verify` beside this process, which has other things to do: it reads each page of the database. @throws Error if it could not be tried; the signal's reason */
async function testRestore(
  { archive, postgres }: ReplicaConfig,
  { name, path }: KeptBackup,
  signal: AbortSignal,
): Promise<RestoreTestResult> {
  // One that was never written to holds nothing that could be replayed.
  const hasWal = archive !== undefined && (await exists(join(archive.directory, 'archive.json')));
  await openPassage(dirname(path));
  const options = [
    ...(hasWal ? ['--archive', archive.directory] : []),
    ...(postgres.pgBin === undefined ? [] : ['--pg-bin', postgres.pgBin]),
  ];
  const args = [...process.execArgv, process.argv[1] ?? '', 'backup', 'verify', path, ...options];
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
    killSignal: 'SIGTERM',
  });
  const said = { progress: '', complaint: '' };
  const hear = (what: keyof typeof said) => (chunk: Buffer) => {
    said[what] = (said[what] + chunk.toString('utf8')).slice(-saidBytesMax);
  };
  child.stdout.on('data', hear('progress'));
  child.stderr.on('data', hear('complaint'));
  const code = await new Promise<number | null>((resolve) => {
    child.once('error', (error) => {
      said.complaint += error.message;
      resolve(null);
    });
    child.once('spawn', () => beNice(child.pid));
    child.once('close', resolve);
  });
  signal.throwIfAborted();
  // The last line of what it did is the result.
  const message =
    code === exitCodes.ok
      ? said.progress.trim().split('\n').at(-1)!
      : said.complaint.trim().slice(0, messageMax);
  if (code !== exitCodes.ok && code !== exitCodes.failed)
    throw new Error(`the restore test of ${name} could not be made: ${message}`);
  return { ok: code === exitCodes.ok, at: new Date().toISOString(), message };
}

function beNice(pid: number | undefined): void {
  try {
    if (pid !== undefined) setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // It is gone already, or may not be.
  }
}
