/**
 * Has PostgreSQL replay a restored database's WAL up to a target, and end as an ordinary database on a timeline of its own.
 *
 * Responsible for: PostgreSQL's archive recovery (its settings, its run, its promotion, a clean shutdown), and what it says when the target cannot be reached. Unpacks nothing; whether the archive holds what is needed is
 * restore-backup.ts.
 * Invariant: when it resolves, PostgreSQL has been promoted and shut down, and no process of it is left; after any error none is left either.
 */
import { join } from 'node:path';
import { formatLsn, type Lsn, parseLsn, type Timeline } from '../../../wal/lsn.ts';
import { CopyError } from '../../../ports/copy.ts';
import type { PgBinaries } from '../binaries.ts';
import { readControlSettings } from '../copy/control-file.ts';
import { controlFile } from '../copy/file-class.ts';
import { chooseSocketDirectory, sharedMemorySettings, socketPort } from '../data-directory.ts';
import { readFile, rename, writeFile } from '../account-files.ts';
import { chooseLaunchUser, type LaunchUser, preparePlace } from '../launch-user.ts';
import { handOver } from '../owners.ts';
import { openLogPipe } from '../log-pipe.ts';
import { connectPg } from '../pg-client.ts';
import { spawnPostmaster } from '../postmaster.ts';
import { readableArchive } from './readable-archive.ts';
import { exactName } from '../exact-name.ts';
import { stopPostgres, untilLetIn } from './restored-server.ts';

/** `end`: everything there is. `time`: all that was committed up to then; `microseconds`: of its last millisecond. `position`: all that lies before it. `label`: all up to where pg_create_restore_point was called with that name. */
export type RestoreTarget =
  | { readonly kind: 'end' }
  | { readonly kind: 'time'; readonly at: Date; readonly microseconds?: number }
  | { readonly kind: 'position'; readonly at: Lsn }
  | { readonly kind: 'label'; readonly name: string };

/** The WAL that there is does not hold the target: it lies before the end of the backup, or is not found behind it. */
export class TargetError extends CopyError {
  readonly side: 'before' | 'beyond';
  constructor(side: 'before' | 'beyond', message: string, options?: { readonly cause?: unknown }) {
    super('copyInvalid', message, options);
    this.side = side;
  }
}

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
  /** Subscriptions that were enabled, and are not any more: "name in database". */
  readonly subscriptions: readonly string[];
}

const wordsMax = 64 * 1024;

/** @throws CopyError `copyInvalid` if the target cannot be reached, with the reason, or PostgreSQL's last words; the signal's reason */
export async function recover(options: RecoveryOptions): Promise<Recovered> {
  const user = await chooseLaunchUser();
  await preparePlace(user, options.directory);
  const archive = await readableArchive(user, options.archive, options.directory);
  try {
    return await recoverFrom({ ...options, archive: archive.directory });
  } finally {
    await archive.remove();
  }
}

async function recoverFrom(options: RecoveryOptions): Promise<Recovered> {
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
  const found =
    target.kind === 'label' ? 'is not in the WAL behind the backup' : 'lies beyond the end of the WAL';
  throw new TargetError('beyond', `${describeTarget(target)} ${found}: ${until}`);
}

/** Returns what PostgreSQL said if the WAL ended before the target. */
async function runRecovery(options: RecoveryOptions): Promise<Recovered | string> {
  const { directory, binaries, signal } = options;
  const user = await chooseLaunchUser();
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
      await untilLetIn(postmaster, socketDir, signal);
      const { timeline, subscriptions } = await settle(socketDir);
      await stopPostgres(postmaster, 'fast');
      log.drain();
      return {
        timeline,
        end: await forkOf(data, timeline),
        lastCommit: lastCommitIn(words),
        subscriptions,
      };
    } catch (cause) {
      log.drain();
      signal?.throwIfAborted();
      if (/recovery ended before configured recovery target was reached/.test(words)) return words;
      throw recoveryError(words, options.target, cause);
    } finally {
      await stopPostgres(postmaster, 'immediate');
    }
  } finally {
    log.close();
  }
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
    // A subscription takes changes out of the slot that the group of the backup reads from, which would never get them.
    max_logical_replication_workers: '0',
    archive_mode: 'off',
    recovery_target_timeline: 'latest',
    recovery_target_action: 'promote',
    recovery_target_inclusive: target.kind === 'time' ? 'on' : 'off',
    restore_command: archive === null ? 'false' : restoreCommand(archive),
    ...(await sharedMemorySettings(user)),
    ...targetSetting(target),
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

function targetSetting(target: RestoreTarget): Record<string, string> {
  switch (target.kind) {
    case 'end':
      return {};
    case 'time':
      return { recovery_target_time: timeText(target).replace('Z', '+00') };
    case 'position':
      return { recovery_target_lsn: formatLsn(target.at) };
    case 'label':
      return { recovery_target_name: target.name };
    default:
      return target satisfies never;
  }
}

/**
 * A whole segment, or else the beginning of one. Status 255 tells PostgreSQL that something is wrong, where 1 means that there is no such file, and the WAL has come to its end. For a shell, in a setting in which a percent
 * sign means something.
 */
export function restoreCommand(archive: string): string {
  const file = `'${archive.replaceAll("'", "'\\''").replaceAll('%', '%%')}'/%f`;
  return (
    `if test -f ${file}; then cp ${file} "%p" || exit 255; ` +
    // A replica that archives may give it its final name meanwhile.
    `elif test -f ${file}.partial; then cp ${file}.partial "%p" || cp ${file} "%p" || exit 255; ` +
    `elif test -f ${file}; then cp ${file} "%p" || exit 255; else exit 1; fi`
  );
}

/** Everything is on the disk, the new timeline is PostgreSQL's own, and nothing subscribes by itself: the group of the backup may still read from the same slots. */
async function settle(
  socketDir: string,
): Promise<{ readonly timeline: Timeline; readonly subscriptions: readonly string[] }> {
  // A checkpoint takes as long as the disk does.
  const client = await connectPg({ socketDir, database: 'postgres', silentMsMax: null });
  try {
    const { rows: were } = await client.query<Subscription>(subscriptionNames);
    await client.query(disableSubscriptions);
    const { rows: are } = await client.query<Subscription>(subscriptionNames);
    const left = new Set(are.map(nameOf));
    await client.query('CHECKPOINT');
    const result = await client.query<{ timeline: number }>(
      'SELECT timeline_id AS timeline FROM pg_catalog.pg_control_checkpoint()',
    );
    return {
      timeline: result.rows[0]!.timeline as Timeline,
      subscriptions: were
        .map(nameOf)
        .map((name) => (left.has(name) ? `${name} (still enabled: a prepared transaction holds it)` : name)),
    };
  } finally {
    await client.end();
  }
}

interface Subscription {
  readonly name: Buffer;
  readonly database: Buffer;
}

const nameOf = ({ name, database }: Subscription): string => `${exactName(name)} in ${exactName(database)}`;

/** The catalog is one for all databases; ALTER SUBSCRIPTION would have to be said in each of them. What a prepared transaction has altered is passed over, and named: nobody could wait for its end. */
const disableSubscriptions = `
  UPDATE pg_catalog.pg_subscription SET subenabled = false
  WHERE oid OPERATOR(pg_catalog.=) ANY (ARRAY(
    SELECT oid FROM pg_catalog.pg_subscription WHERE subenabled FOR UPDATE SKIP LOCKED))`;

const subscriptionNames = `
  SELECT pg_catalog.namesend(s.subname) AS name, pg_catalog.namesend(d.datname) AS database
  FROM pg_catalog.pg_subscription s
  JOIN pg_catalog.pg_database d ON d.oid OPERATOR(pg_catalog.=) s.subdbid
  WHERE s.subenabled`;

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
    return new TargetError('before', `${what} lies before the end of the backup: take an older backup`, {
      cause,
    });
  }
  const said = words.trim().split('\n').slice(-12).join('\n');
  const what = `PostgreSQL could not replay the WAL: ${(cause as Error).message}`;
  return new CopyError('copyInvalid', `${what}. Its last words:\n${said}`, { cause });
}

export function describeTarget(target: RestoreTarget): string {
  switch (target.kind) {
    case 'end':
      return 'the end';
    case 'time':
      return timeText(target);
    case 'label':
      return `the restore point ${JSON.stringify(target.name)}`;
    case 'position':
      return `position ${formatLsn(target.at)}`;
    default:
      return target satisfies never;
  }
}

/** With all that PostgreSQL can tell apart. */
function timeText({ at, microseconds = 0 }: Extract<RestoreTarget, { kind: 'time' }>): string {
  const text = at.toISOString();
  return microseconds === 0 ? text : text.replace('Z', `${String(microseconds).padStart(3, '0')}Z`);
}
