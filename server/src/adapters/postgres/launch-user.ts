/**
 * PostgreSQL refuses to run as root. A replica that runs as root starts it under another user id.
 *
 * First choice on Linux: a user namespace in which root's files belong to 65534, so that nothing has to be given away.
 * Else an existing `postgres` or `nobody` user, to whom the directory is handed over. Not root: nothing to do.
 */
import { execFile } from 'node:child_process';
import { chown, lstat, mkdir, readdir, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { LaunchError } from './launch-error.ts';

const run = promisify(execFile);

export type LaunchUser =
  | { readonly kind: 'self' }
  | { readonly kind: 'namespace' }
  | { readonly kind: 'user'; readonly name: string; readonly uid: number; readonly gid: number };

const namespaceArguments = ['--user', '--map-user=65534', '--map-group=65534', '--'];

export async function chooseLaunchUser(): Promise<LaunchUser> {
  if (process.getuid?.() !== 0) return { kind: 'self' };
  if (await succeeds('unshare', [...namespaceArguments, 'true'])) return { kind: 'namespace' };
  for (const name of ['postgres', 'nobody']) {
    const ids = await run('id', [name]).catch(() => null);
    const match = ids === null ? null : /^uid=(\d+)(?:\(\S*)? gid=(\d+)/.exec(ids.stdout);
    if (match !== null) return { kind: 'user', name, uid: Number(match[1]), gid: Number(match[2]) };
  }
  throw new LaunchError(
    'PostgreSQL does not run as root, user namespaces are not available, and there is no user "postgres" or "nobody". ' +
      'Start Barista as an ordinary user.',
  );
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** To be passed to spawn. */
  readonly ids: { readonly uid?: number; readonly gid?: number };
}

/** The command line that runs `command` as that user. The process that is started becomes `command` itself: same pid. */
export function launchAs(user: LaunchUser, command: string, args: readonly string[]): Launch {
  if (user.kind === 'self') return { command, args, ids: {} };
  if (user.kind === 'user') return { command, args, ids: { uid: user.uid, gid: user.gid } };
  return { command: 'unshare', args: [...namespaceArguments, command, ...args], ids: {} };
}

/** Makes a directory that this user can write, and every directory above it one that the user can pass through. */
export async function prepareDirectory(user: LaunchUser, directory: string): Promise<void> {
  await mkdir(dirname(directory), { recursive: true });
  await mkdir(directory, { recursive: true, mode: 0o700 });
  if (user.kind !== 'user') return;
  await handOver(user, directory);
  for (let path = dirname(directory); path !== dirname(path); path = dirname(path)) {
    if (((await stat(path)).mode & 0o001) !== 0) continue;
    throw new LaunchError(
      `PostgreSQL has to run as the user ${user.name}, who cannot enter ${path}. ` +
        `Choose another --data-dir, or start Barista as an ordinary user.`,
    );
  }
}

/** Gives a file, or a directory with all that is in it, to this user. */
export async function handOver(user: LaunchUser, path: string): Promise<void> {
  if (user.kind !== 'user') return;
  const found = await lstat(path);
  if (found.isSymbolicLink()) return;
  if (found.uid !== user.uid) await chown(path, user.uid, user.gid);
  if (!found.isDirectory()) return;
  for (const name of await readdir(path)) await handOver(user, join(path, name));
}

function succeeds(command: string, args: readonly string[]): Promise<boolean> {
  return run(command, [...args], { timeout: 5_000 }).then(
    () => true,
    () => false,
  );
}
