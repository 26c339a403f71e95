/**
 * The account that PostgreSQL runs as. PostgreSQL refuses to run as root; a replica that runs as root starts it as an unprivileged account.
 *
 * Responsible for: which account that is, and that it may enter the directories above what it owns. Who owns what PostgreSQL writes to is owners.ts.
 * Invariant: no directory is opened that is neither Barista's own nor a temporary one.
 */
import { spawnSync } from 'node:child_process';
import { constants } from 'node:fs';
import { access, chmod, lchown, lstat, realpath, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, resolve, sep } from 'node:path';
import { makeDirectories } from '../file-system.ts';
import { LaunchError } from './launch-error.ts';

export interface Account {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
}

/** `self`: the account of this process, which is not root. */
export type LaunchUser = { readonly kind: 'self' } | ({ readonly kind: 'user' } & Account);

/** Holds the name that `--user` gives; processes that this one starts inherit it. */
export const accountVariable = 'BARISTA_USER';

const usualNames = ['postgres', 'barista', 'nobody'];

/** What the system says of accounts; handed in by tests. */
export interface Accounts {
  /** Of this process; undefined where the system has none. */
  readonly ownUid: number | undefined;
  find(name: string): Account | null;
}

const systemAccounts: Accounts = {
  ownUid: process.getuid?.(),
  find(name) {
    const [uid, gid] = ['-u', '-g'].map((option) => {
      const { status, stdout } = spawnSync('id', [option, '--', name], { encoding: 'utf8' });
      return status === 0 ? Number(stdout.trim()) : Number.NaN;
    });
    return Number.isInteger(uid) && Number.isInteger(gid) ? { name, uid: uid!, gid: gid! } : null;
  },
};

let chosen: { readonly wanted: string | undefined; readonly user: LaunchUser } | null = null;

/** Asks the system once in a process. @throws LaunchError with what to do */
export function launchUser(): LaunchUser {
  const wanted = process.env[accountVariable];
  if (chosen?.wanted !== wanted) chosen = null;
  chosen ??= { wanted, user: chooseAccount(wanted, systemAccounts) };
  return chosen.user;
}

export async function chooseLaunchUser(): Promise<LaunchUser> {
  return launchUser();
}

/** `wanted` undefined: none was named. @throws LaunchError */
export function chooseAccount(wanted: string | undefined, accounts: Accounts): LaunchUser {
  const { ownUid } = accounts;
  if (wanted === undefined || wanted === '') {
    if (ownUid !== 0) return { kind: 'self' };
    for (const name of usualNames) {
      const account = accounts.find(name);
      if (account !== null && account.uid !== 0) return { kind: 'user', ...account };
    }
    throw new LaunchError(
      'PostgreSQL does not run as root, and there is no account "postgres", "barista" or "nobody". ' +
        'Make one (useradd --system postgres), name another one with --user, or start Barista as an ordinary user.',
    );
  }
  const account = accounts.find(wanted);
  if (account === null) throw new LaunchError(`There is no account "${wanted}" (--user).`);
  if (account.uid === 0)
    throw new LaunchError(`PostgreSQL does not run as root: name another account than "${wanted}" (--user).`);
  if (account.uid === ownUid) return { kind: 'self' };
  if (ownUid !== 0)
    throw new LaunchError(
      `Only root can run PostgreSQL as another account: start Barista as "${wanted}", or leave --user out.`,
    );
  return { kind: 'user', ...account };
}

export interface Launch {
  readonly command: string;
  readonly args: readonly string[];
  /** To be passed to spawn. */
  readonly ids: { readonly uid?: number; readonly gid?: number };
}

/** The command line that runs `command` as that user. */
export function launchAs(user: LaunchUser, command: string, args: readonly string[]): Launch {
  return { command, args, ids: user.kind === 'self' ? {} : { uid: user.uid, gid: user.gid } };
}

/**
 * Makes a directory of the replica's, closed to others, in which PostgreSQL has directories of its own: it passes through, and can neither list nor change it.
 * @throws LaunchError
 */
export async function preparePlace(user: LaunchUser, directory: string): Promise<void> {
  await makeDirectories(directory, 0o700);
  if (user.kind === 'self') return;
  // An earlier version gave it to PostgreSQL.
  if ((await lstat(directory)).uid === user.uid) await give(directory, { uid: 0, gid: 0 });
  await letPass(user, directory);
  await requireWay(user, dirname(directory));
}

/** Lets PostgreSQL pass through a directory that is Barista's own. */
async function letPass(user: LaunchUser, directory: string): Promise<void> {
  if (user.kind === 'self') return;
  const found = await stat(directory);
  if (!mayEnter(user, found)) await chmod(directory, (found.mode & 0o7777) | 0o001);
}

async function give(path: string, { uid, gid }: Pick<Account, 'uid' | 'gid'>): Promise<void> {
  await lchown(path, uid, gid).catch((cause: unknown) => {
    throw new LaunchError(
      `The owner of ${path} cannot be changed: ${(cause as Error).message}. Start Barista as an ordinary user.`,
      { cause },
    );
  });
}

interface Modes {
  readonly uid: number;
  readonly gid: number;
  readonly mode: number;
}

export function mayEnter({ uid, gid }: Pick<Account, 'uid' | 'gid'>, found: Modes): boolean {
  const bit = found.uid === uid ? 0o100 : found.gid === gid ? 0o010 : 0o001;
  return (found.mode & bit) !== 0;
}

/** Whether PostgreSQL may make files there; false, too, if it is not there. */
export async function mayWriteIn(user: LaunchUser, directory: string): Promise<boolean> {
  if (user.kind === 'self')
    return access(directory, constants.W_OK | constants.X_OK).then(
      () => true,
      () => false,
    );
  const found = await stat(directory).catch(() => null);
  if (found === null) return false;
  const { uid, gid, mode } = found;
  return mayEnter(user, found) && mayEnter(user, { uid, gid, mode: mode >> 1 });
}

/** The first directory from `directory` upwards that PostgreSQL cannot pass through; null: none. */
export async function closedDirectory(user: LaunchUser, directory: string): Promise<string | null> {
  if (user.kind === 'self') return null;
  for (let path = resolve(directory); ; path = dirname(path)) {
    if (!mayEnter(user, await stat(path))) return path;
    if (path === dirname(path)) return null;
  }
}

/**
 * Makes a directory of Barista's own through which PostgreSQL reaches what it owns; to be called before anything else is made in it.
 * @throws LaunchError if there is no account, or it cannot come there
 */
export async function openPassage(directory: string): Promise<void> {
  const user = launchUser();
  await makeDirectories(directory);
  await letPass(user, directory);
  await requireWay(user, directory);
}

/** @throws LaunchError if PostgreSQL cannot come there */
export async function requireWay(user: LaunchUser, directory: string): Promise<void> {
  if (user.kind === 'self') return;
  const temporary = (await realpath(tmpdir()).catch(() => tmpdir())) + sep;
  for (;;) {
    const closed = await closedDirectory(user, await realpath(directory));
    if (closed === null) return;
    // Temporary directories are made closed to all others.
    if (closed.startsWith(temporary) && (await stat(closed)).uid === 0) await letPass(user, closed);
    else throw new LaunchError(closedText(user, closed));
  }
}

export function closedText({ name }: Account, closed: string): string {
  return (
    `PostgreSQL runs as the account "${name}", which cannot enter ${closed}. ` +
    'Use a directory that every account may enter, such as one in /var/lib (move what is there already), or start Barista as an ordinary user.'
  );
}
