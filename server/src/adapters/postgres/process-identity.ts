/**
 * Tells processes apart for good: a pid alone may have been given to another process since.
 *
 * An identity is the pid with the moment at which the process began, as the system tells it.
 */
import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { readdir, readFile, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

export interface ProcessIdentity {
  readonly pid: number;
  readonly began: string;
}

/** Null if there is no such process, or only its zombie. @throws the system's error, as for want of a descriptor: that says nothing of the process */
export async function identify(pid: number): Promise<ProcessIdentity | null> {
  if (process.platform === 'linux') {
    const stat = await statOf(pid);
    if (stat === null) return null;
    // The second field is the program's name in parentheses and may hold anything; the 22nd is the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const began = fields[19];
    return fields[0] === 'Z' || fields[0] === 'X' || began === undefined ? null : { pid, began };
  }
  const output = await run('ps', ['-o', 'lstart=', '-p', String(pid)]).catch((error: { code?: unknown }) => {
    // So it ends if there is no such process.
    if (error.code === 1) return null;
    throw error;
  });
  const began = output?.stdout.trim() ?? '';
  return began === '' ? null : { pid, began };
}

async function statOf(pid: number): Promise<string | null> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await readFile(`/proc/${pid}/stat`, 'utf8');
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException;
      if (code === 'ENOENT' || code === 'ESRCH') return null;
      if (tries >= triesMax) throw error;
      await new Promise((resolve) => setTimeout(resolve, againMs));
    }
  }
}

/** Descriptors that others have taken come back. */
const againMs = 50;
const triesMax = 100;

/** True, too, where nothing can be found out: whoever is told so stops it, or waits. */
export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  const now = await identify(identity.pid).catch(() => identity);
  return now?.began === identity.began;
}

/** Waits until the process is gone. False if it is still there after `timeoutMs`. */
export async function waitUntilGone(identity: ProcessIdentity, timeoutMs: number): Promise<boolean> {
  const deadline = performance.now() + timeoutMs;
  while (await isRunning(identity)) {
    if (performance.now() > deadline) return false;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return true;
}

/** Linux: the processes whose working directory this is, such as every process of a PostgreSQL. Elsewhere none. */
export async function processesIn(directory: string): Promise<ProcessIdentity[]> {
  if (process.platform !== 'linux') return [];
  const found: ProcessIdentity[] = [];
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const cwd = await readlink(join('/proc', name, 'cwd')).catch(() => null);
    if (cwd !== directory) continue;
    const identity = await identify(Number(name));
    if (identity !== null) found.push(identity);
  }
  return found;
}

/** True if a signal has stopped this process: it is there and does nothing. Where the system does not tell, false. Some microseconds. */
export function isStopped(pid: number): boolean {
  if (process.platform !== 'linux') return false;
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    return stat[stat.lastIndexOf(')') + 2] === 'T';
  } catch {
    return false;
  }
}
