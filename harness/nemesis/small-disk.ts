/**
 * A disk of its own for one directory, small enough to be filled: a tmpfs, mounted over it.
 *
 * Linux, as root. Invariant: `moveBack` and `unmountAll` leave the directory's content where it was, and no mount behind.
 */
import { execFile } from 'node:child_process';
import {
  cp,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rename,
  rm,
  rmdir,
  stat,
  unlink,
} from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const FILLER = 'filler.tmp';
/** Room that is there before it is filled: for the replica to start in, with the segment that it makes ahead, and for as much again when room is made. */
const spareBytes = 64 * 1024 * 1024;

let known: Promise<string | null> | null = null;

/** Why there cannot be one on this machine, or null. Tried once. */
export function smallDiskProblem(): Promise<string | null> {
  known ??= tryToMount();
  return known;
}

async function tryToMount(): Promise<string | null> {
  if (process.platform !== 'linux') return 'a small disk takes a tmpfs, so Linux';
  const directory = await mkdtemp(join(tmpdir(), 'barista-mount-'));
  try {
    await run('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'barista-nemesis', directory]);
    await run('umount', [directory]);
    return null;
  } catch {
    return 'a small disk takes the right to mount a tmpfs (root)';
  } finally {
    await rmdir(directory).catch(() => {});
  }
}

export interface SmallDisk {
  /** Takes all the room that is left. */
  fill(): Promise<void>;
  makeRoom(): Promise<void>;
  /** While nobody uses it. */
  moveBack(): Promise<void>;
}

/** Puts a directory that nobody uses on a disk that has little more room than it needs. */
export async function moveToSmallDisk(directory: string): Promise<SmallDisk> {
  const kept = `${directory}.kept`;
  let bytes = spareBytes;
  for (const name of await readdir(directory)) bytes += (await stat(join(directory, name))).size;
  await rename(directory, kept);
  await mkdir(directory, { mode: 0o700 });
  await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'barista-nemesis', directory]);
  await cp(kept, directory, { recursive: true, preserveTimestamps: true });
  await rm(kept, { recursive: true });
  return {
    fill: () => fillUp(join(directory, FILLER)),
    makeRoom: () => unlink(join(directory, FILLER)),
    async moveBack() {
      await rm(join(directory, FILLER), { force: true });
      await cp(directory, kept, { recursive: true, preserveTimestamps: true });
      await run('umount', ['-l', directory]);
      await rmdir(directory);
      await rename(kept, directory);
    },
  };
}

/** Mounts an empty one over a directory that is empty. It goes with `unmountAll`. */
export async function emptySmallDisk(
  directory: string,
  bytes: number,
): Promise<Pick<SmallDisk, 'fill' | 'makeRoom'>> {
  await run('mount', ['-t', 'tmpfs', '-o', `size=${bytes},mode=0700`, 'barista-nemesis', directory]);
  return {
    fill: () => fillUp(join(directory, FILLER)),
    makeRoom: () => rm(join(directory, FILLER), { force: true }),
  };
}

async function fillUp(path: string): Promise<void> {
  const file = await open(path, 'w');
  try {
    const block = Buffer.alloc(256 * 1024);
    for (;;) await file.write(block);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
  } finally {
    await file.close();
  }
}

/** For a run that was cut short. */
export async function unmountAll(under: string): Promise<void> {
  if (process.platform !== 'linux') return;
  const mounts = await readFile('/proc/self/mounts', 'utf8').catch(() => '');
  for (const line of mounts.split('\n')) {
    const path = line.split(' ')[1];
    if (line.startsWith('barista-nemesis ') && path?.startsWith(under)) await run('umount', ['-l', path]);
  }
}
