/**
 * The files of PostgreSQL's data directory, as a process touches them that is another account than PostgreSQL: a replica that was started as root.
 *
 * What breaks out of PostgreSQL has that account, and can put links in place of files and directories at any moment. So each step of a path below a directory of that account is taken by descriptor, and no link is followed
 * (on Linux /proc/self/fd/N/NAME is what openat does); what is opened is a file, not a pipe or a device; what is made belongs to the account at once. Everything else, and every path of a process that is no root, is left to node:fs.
 *
 * The functions are those of node:fs/promises, with the errors of these. Whatever is done with files in a data directory is done by them: scripts/architecture.test.ts. A link within a data directory is damage: none is made there,
 * for tablespaces are not supported.
 */
import { type BigIntStats, constants, type Dirent, type Stats } from 'node:fs';
import * as fs from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, join, resolve, sep } from 'node:path';
import * as plain from '../file-system.ts';
import { type Account, launchUser } from './launch-user.ts';

const { O_CREAT, O_DIRECTORY, O_EXCL, O_NOFOLLOW, O_NONBLOCK, O_RDONLY, O_RDWR, O_TRUNC, O_WRONLY } =
  constants;

const flagsOf = {
  r: O_RDONLY,
  'r+': O_RDWR,
  w: O_WRONLY | O_CREAT | O_TRUNC,
  wx: O_WRONLY | O_CREAT | O_EXCL,
} as const;

/** Of those that were found. */
const rootsMax = 64;
const roots = new Set<string>();

/** Whose files are not trusted; null: nobody's, for this process has no more rights than PostgreSQL. */
function untrusted(): Account | null {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return null;
  const user = launchUser();
  return user.kind === 'self' ? null : user;
}

/** The topmost directory on the way to `path` that belongs to the account; null: none does. What is above nobody but root can change. */
async function rootOf(account: Account, path: string): Promise<string | null> {
  for (const root of roots)
    if (path.startsWith(`${root}${sep}`) && (await ownerOf(root)) === account.uid) return root;
  let at: string = sep;
  for (const name of path.split(sep).filter((part) => part !== '')) {
    at = join(at, name);
    if (at === path) return null;
    const owner = await ownerOf(at);
    if (owner === null) return null;
    if (owner !== account.uid) continue;
    if (roots.size >= rootsMax) roots.clear();
    roots.add(at);
    return at;
  }
  return null;
}

function ownerOf(path: string): Promise<number | null> {
  return fs.stat(path).then(
    ({ uid }) => uid,
    () => null,
  );
}

/** Calls `use` with a name of the file that no link is in but perhaps the file itself, which `use` must not follow. `account` null: nothing is to be feared there. */
async function at<T>(path: string, use: (name: string, account: Account | null) => Promise<T>): Promise<T> {
  const account = untrusted();
  const full = resolve(path);
  const root = account === null ? null : await rootOf(account, full);
  if (root === null) return use(path, null);
  const steps = full.slice(root.length + 1).split(sep);
  const last = steps.pop()!;
  let directory = await fs.open(root, O_RDONLY | O_DIRECTORY);
  try {
    for (const step of steps) {
      const next = await fs.open(below(directory, step), O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
      await directory.close();
      directory = next;
    }
    return await use(below(directory, last), account);
  } catch (error) {
    throw renamed(error, full);
  } finally {
    await directory.close();
  }
}

function below({ fd }: FileHandle, name: string): string {
  return `/proc/self/fd/${fd}/${name}`;
}

/** For people, who know nothing of descriptors. */
function renamed(error: unknown, path: string): unknown {
  if (!(error instanceof Error)) return error;
  error.message = error.message.replace(/\/proc\/self\/fd\/\d+(?:\/[^'"/]*)?/, path);
  if ('path' in error) error.path = path;
  return error;
}

export async function open(
  path: string,
  flags: keyof typeof flagsOf | number,
  mode = 0o600,
): Promise<FileHandle> {
  return at(path, async (name, account) => {
    const wanted = typeof flags === 'number' ? flags : flagsOf[flags];
    if (account === null) return plain.openFile(name, wanted, mode);
    const handle = await fs.open(name, wanted | O_NOFOLLOW | O_NONBLOCK, mode);
    try {
      const found = await handle.stat();
      if (!found.isFile()) throw plain.notRegular(path);
      if ((wanted & O_CREAT) !== 0 && found.uid !== account.uid && found.nlink === 1)
        await handle.chown(account.uid, account.gid);
    } catch (error) {
      await handle.close();
      throw error;
    }
    return handle;
  });
}

export async function readFile(path: string): Promise<Buffer>;
export async function readFile(path: string, encoding: 'utf8'): Promise<string>;
export async function readFile(path: string, encoding?: 'utf8'): Promise<Buffer | string> {
  const handle = await open(path, 'r');
  try {
    return encoding === undefined ? await handle.readFile() : await handle.readFile(encoding);
  } finally {
    await handle.close();
  }
}

export async function writeFile(
  path: string,
  content: string | Uint8Array,
  { mode = 0o600, flag = 'w' }: { readonly mode?: number; readonly flag?: 'w' | 'wx' } = {},
): Promise<void> {
  const handle = await open(path, flag, mode);
  try {
    await handle.writeFile(content);
  } finally {
    await handle.close();
  }
}

/** As that of file-system.ts. */
export function writeDurably(path: string, text: string): Promise<void> {
  return plain.writeDurably(path, text, files);
}

/** Makes durable what a file holds, or the names in a directory. */
export async function syncPath(path: string): Promise<void> {
  await at(path, async (name, account) => {
    const handle = await fs.open(name, O_RDONLY | (account === null ? 0 : O_NOFOLLOW | O_NONBLOCK));
    try {
      await handle.sync();
    } finally {
      await handle.close();
    }
  });
}

/** Of the directory, which is held open while `use` runs; not of what a link leads to. */
async function within<T>(path: string, use: (directory: string) => Promise<T>): Promise<T> {
  return at(path, async (name, account) => {
    if (account === null) return use(name);
    const handle = await fs.open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      return await use(`/proc/self/fd/${handle.fd}`);
    } finally {
      await handle.close();
    }
  });
}

export function readdir(path: string): Promise<string[]> {
  return within(path, (name) => fs.readdir(name));
}

export function readEntries(path: string): Promise<Dirent[]> {
  return within(path, (name) => fs.readdir(name, { withFileTypes: true }));
}

/** Of a link: its own. */
export function lstat(path: string): Promise<Stats> {
  return at(path, (name) => fs.lstat(name));
}

/** Of what a link leads to, where this process follows links. */
export function stat(path: string): Promise<Stats> {
  return at(path, (name, account) => (account === null ? fs.stat(name) : fs.lstat(name)));
}

export function exactStat(path: string): Promise<BigIntStats> {
  return at(path, (name, account) => (account === null ? fs.stat : fs.lstat)(name, { bigint: true }));
}

export function exists(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}

export function rename(from: string, to: string): Promise<void> {
  return at(from, (one) => at(to, (other) => fs.rename(one, other)));
}

export async function mkdir(path: string, mode = 0o700): Promise<void> {
  await at(path, async (name, account) => {
    await fs.mkdir(name, { mode });
    if (account === null) return;
    const handle = await fs.open(name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
    try {
      await handle.chown(account.uid, account.gid);
    } finally {
      await handle.close();
    }
  });
}

/** As that of file-system.ts. */
export function makeDirectories(path: string, mode = 0o700): Promise<string | undefined> {
  return plain.makeDirectories(path, mode, files);
}

interface RemoveOptions {
  readonly force?: boolean;
  readonly recursive?: boolean;
}

export async function rm(path: string, options: RemoveOptions = {}): Promise<void> {
  await at(path, async (name, account) => {
    if (account === null) return fs.rm(name, options);
    try {
      const found = await fs.lstat(name);
      if (found.isDirectory() && options.recursive === true) await removeDirectory(path, name);
      else await fs.unlink(name);
    } catch (error) {
      if (options.force !== true || (error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  });
}

async function removeDirectory(path: string, name: string): Promise<void> {
  for (const one of await readdir(path)) await rm(join(path, one), { recursive: true, force: true });
  await fs.rmdir(name);
}

/** As copyFile of node:fs, with its `mode`; what is made belongs to this process. */
export async function copyFile(from: string, to: string, mode: number): Promise<void> {
  await at(from, async (name, account) => {
    if (account === null) return fs.copyFile(name, to, mode);
    const handle = await fs.open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK);
    try {
      if (!(await handle.stat()).isFile()) throw plain.notRegular(from);
      await fs.copyFile(`/proc/self/fd/${handle.fd}`, to, mode);
    } finally {
      await handle.close();
    }
  });
}

const files: plain.FileCalls = { mkdir, open, rename, rm, stat, syncPath };

/** Gives a file, or a directory with all that is in it, to the account. A file that has other names, and is not the account's already, may be somebody else's. @throws Error */
export async function giveTree({ uid, gid }: Pick<Account, 'uid' | 'gid'>, path: string): Promise<void> {
  const found = await fs.lstat(path);
  const isOwn = found.uid === uid && found.gid === gid;
  if (!found.isDirectory()) {
    if (!isOwn) await giveFile({ uid, gid }, path);
    return;
  }
  const handle = await fs.open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW);
  try {
    if (!isOwn) await handle.chown(uid, gid);
    const directory = `/proc/self/fd/${handle.fd}`;
    for (const name of await fs.readdir(directory)) await giveTree({ uid, gid }, join(directory, name));
  } catch (error) {
    throw renamed(error, path);
  } finally {
    await handle.close();
  }
}

async function giveFile({ uid, gid }: Pick<Account, 'uid' | 'gid'>, path: string): Promise<void> {
  const { nlink } = await fs.lstat(path);
  if (nlink > 1) throw new Error(`${basename(path)} has more than one name`);
  await fs.lchown(path, uid, gid);
}
