/** Whether there is space for a copy, and what the want of it looks like. */
import { join } from 'node:path';
import { spaceOf } from '../../free-space.ts';
import { lstat, makeDirectories, readEntries } from '../account-files.ts';
import { CopyError } from '../../../ports/copy.ts';

/** Better than to find out at the end, again and again. What is in `directory` already gives way to what comes. @throws CopyError `noSpace` */
export async function assertSpace(directory: string, bytes: number): Promise<void> {
  await makeDirectories(directory, 0o700);
  const { freeBytes: free } = await spaceOf(directory);
  if (free >= bytes || free + (await bytesBelow(directory)) >= bytes) return;
  const needed = `about ${Math.ceil(bytes / 1e6)} MB are needed in ${directory}`;
  throw new CopyError('noSpace', `there is no space for the copy: ${needed}`);
}

/** What the files in a directory take of the disk. */
async function bytesBelow(directory: string): Promise<number> {
  let bytes = 0;
  for (const entry of await readEntries(directory)) {
    const path = join(directory, entry.name);
    const own = entry.isDirectory() ? null : await lstat(path).catch(() => null);
    bytes += own === null ? 0 : own.blocks * 512;
    if (entry.isDirectory()) bytes += await bytesBelow(path);
  }
  return bytes;
}

const noSpace = new Set(['ENOSPC', 'EDQUOT', 'EFBIG']);

/** An error of the system is the receiver's: its disk, or its files. Anything else is a broken invariant, and stays what it is. */
export function toReceiveError(error: unknown): Error {
  if (error instanceof CopyError) return error;
  if (!(error instanceof Error)) return new CopyError('transferFailed', String(error));
  const system = 'code' in error ? String(error.code) : '';
  if (noSpace.has(system)) {
    return new CopyError('noSpace', `there is no space for the copy: ${error.message}`, { cause: error });
  }
  return system === '' ? error : new CopyError('transferFailed', error.message, { cause: error });
}
