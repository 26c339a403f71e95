/**
 * A replica's PostgreSQL on disk: created once, its configuration written anew at each start.
 *
 * `initdb` works in a directory of another name that is renamed when it is complete: a crash half-way leaves nothing that
 * looks like a database. Configuration is entirely Barista's: what a client or a restored snapshot left there is replaced.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import type { PgBinaries } from './binaries.ts';
import { LaunchError } from './launch-error.ts';
import { handOver, launchAs, prepareDirectory } from './launch-user.ts';
import type { LaunchUser } from './launch-user.ts';
import { syncPath } from '../file-system.ts';

const run = promisify(execFile);

/** Seconds on most disks; one that is slower than this is of no use to a database. */
const initdbTimeoutMs = 15 * 60_000;
/** Sockets are told apart by their directories, so the number in their name can be the same everywhere. */
export const socketPort = 5432;
/** The system's limit on a socket's path is 104 bytes on macOS, 108 on Linux. */
const socketPathBytesMax = 100;

/** @throws LaunchError; the signal's reason, when initdb and what it made are gone */
export async function initializeData(
  binaries: PgBinaries,
  user: LaunchUser,
  data: string,
  ended?: AbortSignal,
): Promise<void> {
  const version = await readFile(join(data, 'PG_VERSION'), 'utf8').catch(() => null);
  if (version !== null) {
    if (Number(version.trim()) === binaries.majorVersion) return;
    throw new LaunchError(
      `${data} belongs to PostgreSQL ${version.trim()}, but the programs are PostgreSQL ${binaries.version}. ` +
        'Name matching programs with --pg-bin DIR, or choose another --data-dir.',
    );
  }
  const temporary = `${data}.initializing`;
  await rm(temporary, { recursive: true, force: true });
  await prepareDirectory(user, temporary);
  const locale =
    binaries.majorVersion >= 17
      ? ['--locale=C', '--locale-provider=builtin', '--builtin-locale=C.UTF-8']
      : ['--locale=C'];
  const args = [
    '--pgdata',
    temporary,
    '--username=postgres',
    '--auth=trust',
    '--encoding=UTF8',
    '--data-checksums',
  ];
  const launch = launchAs(user, binaries.initdb, [...args, '--no-instructions', ...locale]);
  ended?.throwIfAborted();
  const initdb = run(launch.command, [...launch.args], {
    ...launch.ids,
    env: { ...process.env, ...binaries.env, LC_ALL: 'C' },
    timeout: initdbTimeoutMs,
  });
  // Not execFile's own: that does not wait until the process is gone.
  const end = (): void => void initdb.child.kill();
  ended?.addEventListener('abort', end);
  try {
    await initdb;
  } catch (cause) {
    if (ended?.aborted === true) await rm(temporary, { recursive: true, force: true });
    ended?.throwIfAborted();
    const said = cause instanceof Error && 'stderr' in cause ? String(cause.stderr).trim() : String(cause);
    const how = initdb.child.killed ? `did not end within ${initdbTimeoutMs / 1000} s` : 'failed';
    throw new LaunchError(`initdb ${how} in ${temporary}: ${said}`, { cause });
  } finally {
    ended?.removeEventListener('abort', end);
  }
  await rename(temporary, data);
  await syncPath(dirname(data));
}

/** A directory of ours alone, whose path is short enough to hold a socket. */
export async function chooseSocketDirectory(user: LaunchUser, wanted: string): Promise<string> {
  const path = (directory: string): string => join(directory, `.s.PGSQL.${socketPort}`);
  if (Buffer.byteLength(path(wanted)) <= socketPathBytesMax) {
    await prepareDirectory(user, wanted);
    await chmod(wanted, 0o700);
    return wanted;
  }
  const hash = createHash('sha256').update(wanted).digest('hex').slice(0, 12);
  let directory = join(tmpdir(), `barista-${hash}`);
  await mkdir(directory, { mode: 0o700 }).catch(() => undefined);
  // Anybody may have made a directory of that name in a shared place: use it only if it is ours and closed to others.
  const found = await lstat(directory);
  const owners = [process.getuid?.() ?? 0, user.kind === 'user' ? user.uid : -1];
  if (!found.isDirectory() || !owners.includes(found.uid) || (found.mode & 0o077) !== 0) {
    directory = await mkdtemp(join(tmpdir(), 'barista-'));
  }
  await handOver(user, directory);
  if (Buffer.byteLength(path(directory)) <= socketPathBytesMax) return directory;
  throw new LaunchError(
    `The path of PostgreSQL's socket is too long: ${path(directory)}. Choose a shorter TMPDIR.`,
  );
}

export interface Configuration {
  readonly socketDir: string;
  readonly connectionsMax: number;
  readonly settings: Readonly<Record<string, string>>;
}

export async function writeConfiguration(
  user: LaunchUser,
  data: string,
  config: Configuration,
): Promise<void> {
  const files = {
    'postgresql.conf': settingsText({ ...baseSettings(config), ...config.settings }),
    'postgresql.auto.conf': '# Not used: postgresql.conf is written at each start.\n',
    // The socket's directory lets in nobody but the operator, and the gateway refuses the user postgres.
    'pg_hba.conf': [
      'local all         postgres trust',
      'local replication postgres trust',
      'local all         all      scram-sha-256',
      '',
    ].join('\n'),
    'pg_ident.conf': '',
  };
  for (const [name, text] of Object.entries(files)) {
    const path = join(data, name);
    await writeFile(`${path}.new`, text, { mode: 0o600 });
    await handOver(user, `${path}.new`);
    await rename(`${path}.new`, path);
  }
  for (const name of ['standby.signal', 'recovery.signal']) await rm(join(data, name), { force: true });
}

function baseSettings(config: Configuration): Record<string, string> {
  return {
    listen_addresses: '',
    unix_socket_directories: config.socketDir,
    unix_socket_permissions: '0700',
    port: String(socketPort),
    max_connections: String(config.connectionsMax),
    superuser_reserved_connections: '8',
    max_prepared_transactions: String(config.connectionsMax),
    password_encryption: 'scram-sha-256',
    shared_buffers: '128MB',
    huge_pages: 'off',
    // The replicated log is made durable before anything is acknowledged; what a crash takes from here is replayed.
    synchronous_commit: 'off',
    fsync: 'on',
    full_page_writes: 'on',
    wal_level: 'replica',
    max_wal_senders: '4',
    // A copy that is being made keeps the WAL that it needs, but must not fill the disk: beyond this it fails and is begun afresh.
    max_slot_wal_keep_size: '8GB',
    max_wal_size: '1GB',
    // One backend that dies must be seen by the replica, for its crash takes back commits of all the others.
    restart_after_crash: 'off',
    autovacuum: 'on',
    // The capture table lives on being emptied often.
    autovacuum_naptime: '5s',
    jit: 'off',
    timezone: 'UTC',
    log_timezone: 'UTC',
    datestyle: 'iso, mdy',
    lc_messages: 'C',
    default_text_search_config: 'pg_catalog.english',
    logging_collector: 'off',
    log_destination: 'stderr',
    // start-failure.ts reads it.
    log_line_prefix: '%m [%p] %e %q%u@%d ',
    log_parameter_max_length: '0',
  };
}

function settingsText(settings: Readonly<Record<string, string>>): string {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'`);
  return `# Written by Barista at each start: changes here are lost.\n${lines.join('\n')}\n`;
}
