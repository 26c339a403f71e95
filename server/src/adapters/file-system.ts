/** What is asked of the file system in many places, and Node.js has no call for. */
import { closeSync, constants, fstatSync, openSync, readSync, type Stats } from 'node:fs';
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

/** A pipe or a device in the place of a file would be waited for without end. */
export function notRegular(path: string, isDirectory = false): Error {
  if (isDirectory)
    return Object.assign(new Error(`EISDIR: illegal operation on a directory, open '${path}'`), {
      code: 'EISDIR',
      path,
    });
  return Object.assign(new Error(`ENOTDIR: not a file, open '${path}'`), { code: 'ENOTDIR', path });
}

/** Opens a file, and nothing else. @throws the errors of node:fs; ENOTDIR: it is no file */
export async function openFile(path: string, flags: number, mode = 0o600): Promise<FileHandle> {
  const handle = await open(path, flags | constants.O_NONBLOCK, mode);
  try {
    const found = await handle.stat();
    if (!found.isFile()) throw notRegular(path, found.isDirectory());
    return handle;
  } catch (error) {
    await handle.close();
    throw error;
  }
}

/** The whole of a file. @throws as `openFile` */
export async function readFile(path: string): Promise<Buffer>;
export async function readFile(path: string, encoding: 'utf8'): Promise<string>;
export async function readFile(path: string, encoding?: 'utf8'): Promise<Buffer | string> {
  const handle = await openFile(path, constants.O_RDONLY);
  try {
    return encoding === undefined ? await handle.readFile() : await handle.readFile(encoding);
  } finally {
    await handle.close();
  }
}

/** Of a configuration, a secret or a token. */
const smallBytesMax = 1024 * 1024;

/** The text of a small file. @throws the errors of node:fs; ENOTDIR: it is no file; EFBIG: it is longer than 1 MiB */
export function readSmallFile(path: string): string {
  const file = openSync(path, constants.O_RDONLY | constants.O_NONBLOCK);
  try {
    const found = fstatSync(file);
    if (!found.isFile()) throw notRegular(path, found.isDirectory());
    if (found.size > smallBytesMax)
      throw Object.assign(new Error(`EFBIG: longer than ${smallBytesMax} bytes, read '${path}'`), {
        code: 'EFBIG',
      });
    const bytes = Buffer.alloc(found.size);
    let at = 0;
    for (let read = -1; read !== 0 && at < bytes.length; at += read)
      read = readSync(file, bytes, at, bytes.length - at, at);
    return bytes.toString('utf8', 0, at);
  } finally {
    closeSync(file);
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

/** Space, or a quota, is used up. */
export function isNoSpace(error: unknown): boolean {
  const code = error instanceof Error && 'code' in error ? error.code : null;
  return code === 'ENOSPC' || code === 'EDQUOT';
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
