/**
 * Tells whether a directory is where a file system is mounted: one that is cannot be renamed, nor can another take its place.
 *
 * On Linux the kernel's table of mounts says so, which knows a directory that is bound there from the same disk, too. Elsewhere a directory on another
 * device than its parent counts as one.
 */
import { lstat, readFile, realpath } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

/** False if there is nothing; a symbolic link can be renamed, wherever it leads. */
export async function isMountPoint(path: string): Promise<boolean> {
  const own = await lstat(path).catch(() => null);
  if (own === null || !own.isDirectory()) return false;
  const parent = await realpath(dirname(path));
  const table = await readFile('/proc/self/mountinfo', 'utf8').catch(() => null);
  if (table !== null) return mountPointsOf(table).includes(join(parent, basename(path)));
  return own.dev !== (await lstat(parent)).dev;
}

/** The fifth field of each line; blanks and the like in it are written as three octal digits. */
export function mountPointsOf(table: string): string[] {
  const points = table.split('\n').map((line) => line.split(' ')[4] ?? '');
  return points.map((point) =>
    point.replaceAll(/\\([0-7]{3})/g, (_escape, digits: string) => String.fromCodePoint(parseInt(digits, 8))),
  );
}
