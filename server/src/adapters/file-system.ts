/** What is asked of the file system in many places, and Node.js has no call for. */
import { constants, type Stats } from 'node:fs';
import { access, type FileHandle, mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';

/** Makes durable what a file holds, or the names in a directory. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** How files are touched: as node:fs does, or as account-files.ts does where links are not to be followed. */
export interface FileCalls {
  mkdir(path: string, mode: number): Promise<unknown>;
  open(path: string, flags: 'wx', mode: number): Promise<FileHandle>;
  rename(from: string, to: string): Promise<void>;
  rm(path: string, options: { readonly force: true }): Promise<void>;
  stat(path: string): Promise<Stats>;
  syncPath(path: string): Promise<void>;
}

const plain: FileCalls = { mkdir, open, rename, rm, stat, syncPath };

/** Replaces a file in one step: after a crash it holds the old text or the new one, whole. Only the owner may read it. Writes through no link that somebody has put beside it. */
export async function writeDurably(path: string, text: string, files = plain): Promise<void> {
  await files.rm(`${path}.new`, { force: true });
  const file = await files.open(`${path}.new`, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await files.rename(`${path}.new`, path);
  await files.syncPath(dirname(path));
}

export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/**
 * Makes a directory with those above it that are missing, one level at a time. The `recursive` of Node.js never ends where a file system denies a directory that its parent could hold
 * with ENOENT, as /proc does. Returns the first that was made; undefined: all were there.
 * @throws the error of the level that cannot be made
 */
export async function makeDirectories(
  path: string,
  mode = 0o777,
  files = plain,
): Promise<string | undefined> {
  const made = await makeOne(path, mode, files);
  if (made !== 'noParent') return made ? path : undefined;
  const first = await makeDirectories(dirname(path), mode, files);
  if ((await makeOne(path, mode, files)) === 'noParent')
    throw new Error(`${dirname(path)} was removed while ${path} was made`);
  return first ?? path;
}

async function makeOne(path: string, mode: number, files: FileCalls): Promise<boolean | 'noParent'> {
  try {
    await files.mkdir(path, mode);
    return true;
  } catch (error) {
    const isThere = await files.stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    );
    if (isThere) return false;
    const isRoot = dirname(path) === path;
    if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || isRoot || (await exists(dirname(path))))
      throw error;
    return 'noParent';
  }
}
