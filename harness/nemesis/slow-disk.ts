/**
 * A disk of one replica on which flushes take longer, by a library that is loaded into its processes (slow-disk-shim.c). Linux, with a C compiler.
 *
 * Responsible for: building the library, switching it on and off. Invariant: a cluster that was started without it cannot be slowed.
 */
import { execFile } from 'node:child_process';
import { rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { claimTarget, Skipped, untilTrue, type Begun, type Scene } from './scene.ts';
import type { PlannedFault } from './schedule.ts';

const run = promisify(execFile);
/** Where the account that PostgreSQL runs as can read it. */
const library = join(tmpdir(), `barista-slow-disk-${process.getuid?.() ?? 0}.so`);
const seenMsMax = 3000;
const delayMsMin = 100;
const delayMsMax = 2000;

/** What of a replica is slow: a part of the paths of its files. */
export type SlowFiles = '/' | '/log/' | '/postgres/';
const parts: readonly SlowFiles[] = ['/', '/log/', '/postgres/'];
const names: Readonly<Record<SlowFiles, string>> = {
  '/': 'all files',
  '/log/': 'the log',
  '/postgres/': 'the PostgreSQL',
};

/** What a cluster in this directory must be started with for these faults; nothing where there is no compiler. */
export async function slowDiskEnvironment(dataDir: string): Promise<Readonly<Record<string, string>>> {
  if (process.platform !== 'linux') return {};
  const source = fileURLToPath(new URL('slow-disk-shim.c', import.meta.url));
  try {
    const made = `${library}.${process.pid}`;
    await run('cc', ['-shared', '-fPIC', '-O2', '-o', made, source, '-ldl']);
    // Replicas of another run may have it open.
    await rename(made, library);
  } catch {
    return {};
  }
  return { LD_PRELOAD: library, BARISTA_SLOW_DISKS: dataDir };
}

/** Of each flush of these files; 0: as fast as the disk. */
export async function setSlowDisk(
  dataDir: string,
  id: string,
  delayMs: number,
  files: SlowFiles,
): Promise<void> {
  const base = join(dataDir, id);
  await rm(`${base}.slowed`, { force: true });
  if (delayMs === 0) await rm(`${base}.slow`, { force: true });
  else await writeFile(`${base}.slow`, `${delayMs} ${files}\n`);
}

/** @throws Skipped */
export async function slowDisk(scene: Scene, planned: PlannedFault): Promise<Begun> {
  const { dataDir } = scene.cluster;
  if (!(await isThere(library))) throw new Skipped('a slow disk takes Linux and a C compiler (cc)');
  const { id } = await claimTarget(scene, planned);
  const { delayMs, files } = drawnSlowness(planned.choice);
  await setSlowDisk(dataDir, id, delayMs, files);
  return {
    what: `each flush of ${names[files]} of ${id} takes ${delayMs} ms longer`,
    tookEffect: await untilTrue(seenMsMax, () => isThere(join(dataDir, `${id}.slowed`))),
    end: () => setSlowDisk(dataDir, id, 0, files),
  };
}

/** `choice`: from 0 to 1. */
export function drawnSlowness(choice: number): { readonly delayMs: number; readonly files: SlowFiles } {
  const files = parts[Math.floor(((choice * 64) % 1) * parts.length)]!;
  return { delayMs: Math.round(delayMsMin + choice * (delayMsMax - delayMsMin)), files };
}

async function isThere(path: string): Promise<boolean> {
  return stat(path).then(
    () => true,
    () => false,
  );
}
