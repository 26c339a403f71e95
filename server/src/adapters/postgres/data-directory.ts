/**
 * A replica's PostgreSQL on disk: creates its data directory, and chooses the directory of its socket.
 *
 * Configuration is instance/settings.ts. Invariant: `initdb` works in a directory of another name that is renamed when it is complete, so that a crash half-way leaves nothing that looks like a database.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { readFile, rename, rm, syncPath } from './account-files.ts';
import type { PgBinaries } from './binaries.ts';
import { LaunchError } from './launch-error.ts';
import { launchAs, type LaunchUser, mayWriteIn, preparePlace } from './launch-user.ts';
import { handOver, prepareDirectory } from './owners.ts';

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
    cwd: temporary,
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

/** Where nobody but root may write to /dev/shm, as in a chroot, PostgreSQL's processes share memory another way: initdb's own choice, which is lost with its configuration. */
export async function sharedMemorySettings(
  user: LaunchUser,
  place = '/dev/shm',
): Promise<Readonly<Record<string, string>>> {
  const isMissing = process.platform === 'linux' && !(await mayWriteIn(user, place));
  return isMissing ? { dynamic_shared_memory_type: 'sysv' } : {};
}

/** A directory of ours alone, whose path is short enough to hold a socket. */
export async function chooseSocketDirectory(user: LaunchUser, wanted: string): Promise<string> {
  const path = (directory: string): string => join(directory, `.s.PGSQL.${socketPort}`);
  if (Buffer.byteLength(path(wanted)) <= socketPathBytesMax) {
    // It may be new: a copy has taken the place of what was set aside.
    await preparePlace(user, dirname(wanted));
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
