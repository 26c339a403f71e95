/**
 * Has PostgreSQL replay a restored database's WAL up to a target, and end as an ordinary database on a timeline of its own.
 *
 * Responsible for: PostgreSQL's archive recovery (its settings, its run, its promotion, a clean shutdown), and what it says when the target cannot be reached. Unpacks nothing; whether the archive holds what is needed is
 * restore-backup.ts.
 * Invariant: when it resolves, PostgreSQL has been promoted and shut down, and no process of it is left; after any error none is left either.
 */
import { readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { formatLsn, type Lsn, parseLsn, type Timeline } from '../../../wal/lsn.ts';
import { CopyError } from '../../../ports/copy.ts';
import type { PgBinaries } from '../binaries.ts';
import { readControlSettings } from '../copy/control-file.ts';
import { controlFile } from '../copy/file-class.ts';
import { chooseSocketDirectory, socketPort } from '../data-directory.ts';
import { chooseLaunchUser, handOver, type LaunchUser, prepareDirectory } from '../launch-user.ts';
import { openLogPipe } from '../log-pipe.ts';
import { connectPg } from '../pg-client.ts';
import { type Postmaster, spawnPostmaster, stopProcess } from '../postmaster.ts';
import { identify } from '../process-identity.ts';

/** `end`: everything there is. `time`: all that was committed up to then. `position`: all that lies before it. */
export type RestoreTarget =
  | { readonly kind: 'end' }
  | { readonly kind: 'time'; readonly at: Date }
  | { readonly kind: 'position'; readonly at: Lsn };

export interface RecoveryOptions {
  /** Holds `data`, and becomes the place of the socket and of PostgreSQL's messages. */
  readonly directory: string;
  readonly binaries: PgBinaries;
  /** With the WAL that follows the backup; null: there is none. */
  readonly archive: string | null;
  readonly target: RestoreTarget;
  readonly signal?: AbortSignal;
}

export interface Recovered {
  /** The new one. */
  readonly timeline: Timeline;
  /** Where it begins. */
  readonly end: Lsn;
  /** When the last transaction that is in it was committed; null: nothing was replayed. */
  readonly lastCommit: Date | null;
}

const replayTimeoutMs = 24 * 3_600_000;
const wordsMax = 64 * 1024;

/** @throws CopyError `copyInvalid` if the target cannot be reached, with the reason; Error with PostgreSQL's last words; the signal's reason */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  const { target } = options;
  const outcome = await runRecovery(options);
  if (typeof outcome !== 'string') return outcome;
  // PostgreSQL stops at a position when it sees a record there. None begins there, or later: so all that there is lies before it.
  const atEnd =
    target.kind === 'position' ? await runRecovery({ ...options, target: { kind: 'end' } }) : outcome;
  if (typeof atEnd !== 'string') return atEnd;
  const last = lastCommitIn(atEnd);
  const until =
    last === null
      ? 'nothing was committed in it'
      : `the last transaction in it was committed at ${last.toISOString()}`;
  throw new CopyError('copyInvalid', `${describeTarget(target)} lies beyond the end of the WAL: ${until}`);
}

/** Returns what PostgreSQL said if the WAL ended before the target. */
async function runRecovery(options: RecoveryOptions): Promise<Recovered | string> {
  const { directory, binaries, signal } = options;
  const user = await chooseLaunchUser();
  await prepareDirectory(user, directory);
  const data = join(directory, 'data');
  const socketDir = await chooseSocketDirectory(user, join(directory, 'socket'));
  await writeRecoveryFiles(user, data, socketDir, options);
  let words = '';
  const log = await openLogPipe(join(directory, 'messages'), (chunk) => {
    words = (words + chunk.toString('utf8')).slice(-wordsMax);
  });
  try {
    const postmaster = await spawnPostmaster({ binaries, user, data, settings: {}, log });
    try {
      await untilPromoted(postmaster, socketDir, signal);
      const timeline = await settle(socketDir);
      await stop(postmaster, 'fast');
      log.drain();
      return { timeline, end: await forkOf(data, timeline), lastCommit: lastCommitIn(words) };
    } catch (cause) {
      log.drain();
      signal?.throwIfAborted();
      if (/recovery ended before configured recovery target was reached/.test(words)) return words;
      throw recoveryError(words, options.target, cause);
    } finally {
      await stop(postmaster, 'immediate');
    }
  } finally {
    log.close();
  }
}

async function stop({ pid, exited }: Postmaster, mode: 'fast' | 'immediate'): Promise<void> {
  const identity = await identify(pid);
  if (identity === null) return;
  await stopProcess(identity, mode, 60_000);
  await exited;
}

async function writeRecoveryFiles(
  user: LaunchUser,
  data: string,
  socketDir: string,
  { archive, target }: RecoveryOptions,
): Promise<void> {
  const control = readControlSettings(await readFile(join(data, controlFile)));
  const settings: Record<string, string> = {
    listen_addresses: '',
    unix_socket_directories: socketDir,
    unix_socket_permissions: '0700',
    port: String(socketPort),
    // Prepared transactions and their locks must find room.
    ...Object.fromEntries(Object.entries(control).map(([name, value]) => [name, String(value)])),
    wal_level: 'replica',
    // Nobody may look before the target is reached.
    hot_standby: 'off',
    autovacuum: 'off',
    archive_mode: 'off',
    recovery_target_timeline: 'latest',
    recovery_target_action: 'promote',
    recovery_target_inclusive: target.kind === 'time' ? 'on' : 'off',
    restore_command: archive === null ? 'false' : restoreCommand(archive),
    ...(target.kind === 'time' ? { recovery_target_time: target.at.toISOString().replace('Z', '+00') } : {}),
    ...(target.kind === 'position' ? { recovery_target_lsn: formatLsn(target.at) } : {}),
    timezone: 'UTC',
    log_timezone: 'UTC',
    lc_messages: 'C',
    log_destination: 'stderr',
    logging_collector: 'off',
    log_min_messages: 'warning',
    log_line_prefix: '%m [%p] %e ',
  };
  // A backslash is no ordinary sign in this file.
  const quoted = (value: string): string => `'${value.replaceAll('\\', '\\\\').replaceAll("'", "''")}'`;
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${quoted(value)}\n`);
  const files = {
    'postgresql.conf': lines.join(''),
    'postgresql.auto.conf': '',
    'pg_hba.conf': 'local all postgres trust\n',
    'pg_ident.conf': '',
    'recovery.signal': '',
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(data, name);
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await rename(`${path}.new`, path);
  }
  await handOver(user, data);
}

/**
 * A whole segment, or else the beginning of one. Status 255 tells PostgreSQL that something is wrong, where 1 means that there is no such file, and the WAL has come to its end. For a shell, in a setting in which a percent
 * sign means something.
 */
export function restoreCommand(archive: string): string {
  const file = `'${archive.replaceAll("'", "'\\''").replaceAll('%', '%%')}'/%f`;
  return (
    `if test -f ${file}; then cp ${file} "%p" || exit 255; ` +
    `elif test -f ${file}.partial; then cp ${file}.partial "%p" || exit 255; else exit 1; fi`
  );
}

/** Until it lets sessions in. @throws Error if PostgreSQL ends before */
async function untilPromoted(postmaster: Postmaster, socketDir: string, signal?: AbortSignal): Promise<void> {
  let hasEnded = false;
  void postmaster.exited.then(() => {
    hasEnded = true;
  });
  const deadline = performance.now() + replayTimeoutMs;
  for (;;) {
    signal?.throwIfAborted();
    if (hasEnded) throw new Error('PostgreSQL ended before it had replayed the WAL');
    if (performance.now() > deadline) throw new Error('the WAL could not be replayed within a day');
    const client = await connectPg({ socketDir, database: 'postgres' }).catch(() => null);
    if (client !== null) return client.end();
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

/** Everything is on the disk, and the new timeline is PostgreSQL's own. */
async function settle(socketDir: string): Promise<Timeline> {
  const client = await connectPg({ socketDir, database: 'postgres' });
  try {
    await client.query('CHECKPOINT');
    const result = await client.query<{ timeline: number }>(
      'SELECT timeline_id AS timeline FROM pg_control_checkpoint()',
    );
    return result.rows[0]!.timeline as Timeline;
  } finally {
    await client.end();
  }
}

async function forkOf(data: string, timeline: Timeline): Promise<Lsn> {
  const name = `${timeline.toString(16).toUpperCase().padStart(8, '0')}.history`;
  const lines = (await readFile(join(data, 'pg_wal', name), 'utf8'))
    .split('\n')
    .filter((line) => /^\d/.test(line));
  return parseLsn(lines.at(-1)?.split('\t')[1] ?? '');
}

function lastCommitIn(words: string): Date | null {
  const time = /last completed transaction was at log time (\S+ \S+)/.exec(words)?.[1];
  return time === undefined ? null : new Date(`${time.replace(' ', 'T').replace('+00', '')}Z`);
}

/** PostgreSQL's reasons, as a person can use them. */
function recoveryError(words: string, target: RestoreTarget, cause: unknown): Error {
  if (/requested recovery stop point is before consistent recovery point/.test(words)) {
    const what = describeTarget(target);
    return new CopyError('copyInvalid', `${what} lies before the end of the backup: take an older backup`, {
      cause,
    });
  }
  const said = words.trim().split('\n').slice(-12).join('\n');
  return new Error(`${(cause as Error).message}. Its last words:\n${said}`, { cause });
}

export function describeTarget(target: RestoreTarget): string {
  switch (target.kind) {
    case 'end':
      return 'the end';
    case 'time':
      return target.at.toISOString();
    case 'position':
      return `position ${formatLsn(target.at)}`;
    default:
      return target satisfies never;
  }
}
