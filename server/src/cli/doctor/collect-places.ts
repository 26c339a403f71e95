/** Looks at directories and disks for the doctor. Never rejects: what cannot be looked at is told as such. */
import { constants } from 'node:fs';
import { access, open, readFile, rm, stat, statfs } from 'node:fs/promises';
import { randomBytes } from 'node:crypto';
import { dirname, join } from 'node:path';
import type { Known, PlaceFacts } from './facts.ts';

/** tmpfs and ramfs, by what the kernel calls them. */
const memoryFileSystems: ReadonlySet<number> = new Set([0x0102_1994, 0x8584_58f6]);

export async function known<T>(work: () => Promise<T>): Promise<Known<T>> {
  try {
    return { ok: true, value: await work() };
  } catch (error) {
    return { ok: false, reason: reasonOf(error) };
  }
}

export function reasonOf(error: unknown): string {
  const text = error instanceof Error ? error.message : String(error);
  return text.split('\n', 1)[0]!.replace(/\.$/, '');
}

const nowhere = {
  exists: false,
  mode: null,
  freeBytes: null,
  totalBytes: null,
  freeFiles: null,
  device: null,
  isInMemory: false,
};

export async function placeFacts(path: string): Promise<PlaceFacts> {
  const found = await stat(path).catch((error: NodeJS.ErrnoException) => error);
  if (found instanceof Error) {
    const isAbsent = found.code === 'ENOENT';
    return { path, ...nowhere, accessProblem: isAbsent ? await whyNotMade(path) : reasonOf(found) };
  }
  if (!found.isDirectory()) return { path, ...nowhere, accessProblem: 'it is no directory' };
  const space = await statfs(path).catch(() => null);
  return {
    path,
    exists: true,
    accessProblem: await whyNoAccess(path),
    mode: found.mode & 0o777,
    freeBytes: space === null ? null : space.bavail * space.bsize,
    totalBytes: space === null ? null : space.blocks * space.bsize,
    freeFiles: space === null || space.files === 0 ? null : space.ffree,
    device: found.dev,
    isInMemory: space !== null && memoryFileSystems.has(space.type),
  };
}

async function whyNoAccess(path: string): Promise<string | null> {
  return access(path, constants.R_OK | constants.W_OK | constants.X_OK).then(
    () => null,
    (error: unknown) => reasonOf(error),
  );
}

/** A replica makes what is not there, if it may. */
async function whyNotMade(path: string): Promise<string | null> {
  const above = dirname(path);
  if (above === path) return 'it is not there';
  const found = await stat(above).catch(() => null);
  if (found === null) return whyNotMade(above);
  const problem = found.isDirectory() ? await whyNoAccess(above) : `${above} is no directory`;
  return problem === null ? null : `it does not exist and cannot be created: ${problem}`;
}

const probes = 20;
const probeBytes = 8192;
/** What takes longer is slow enough to be told. */
const probesMsMax = 3000;
const spareBytes = 16 * 1024 * 1024;

/** Milliseconds that writes of a page took to be durable. @throws Error if that cannot be tried here */
export async function measureSync({ path, exists, accessProblem, freeBytes }: PlaceFacts): Promise<number[]> {
  if (!exists) throw new Error(`${path} is not there`);
  if (accessProblem !== null) throw new Error(accessProblem);
  if (freeBytes !== null && freeBytes < spareBytes) throw new Error('there is no space for it');
  const file = join(path, `doctor-${randomBytes(6).toString('hex')}.tmp`);
  const handle = await open(file, 'wx', 0o600);
  const times: number[] = [];
  try {
    const page = randomBytes(probeBytes);
    const beganMs = performance.now();
    while (times.length < probes && performance.now() - beganMs < probesMsMax) {
      const fromMs = performance.now();
      await handle.write(page, 0, probeBytes, times.length * probeBytes);
      await handle.datasync();
      times.push(performance.now() - fromMs);
    }
  } finally {
    await handle.close();
    await rm(file, { force: true });
  }
  return times;
}

/** Null: that of nobody's, or it cannot be read. */
export async function openFilesMaxOf(pid: number): Promise<number | null> {
  const text = await readFile(`/proc/${pid}/limits`, 'utf8').catch(() => '');
  const found = /^Max open files\s+(\d+)/m.exec(text)?.[1];
  return found === undefined ? null : Number(found);
}
