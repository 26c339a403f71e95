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

/** Null if there is no such process, or only its zombie. */
export async function identify(pid: number): Promise<ProcessIdentity | null> {
  if (process.platform === 'linux') {
    const stat = await readFile(`/proc/${pid}/stat`, 'utf8').catch(() => null);
    if (stat === null) return null;
    // The second field is the program's name in parentheses and may hold anything; the 22nd is the start time.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    const began = fields[19];
    return fields[0] === 'Z' || fields[0] === 'X' || began === undefined ? null : { pid, began };
  }
  const output = await run('ps', ['-o', 'lstart=', '-p', String(pid)]).catch(() => null);
  const began = output?.stdout.trim() ?? '';
  return began === '' ? null : { pid, began };
}

export async function isRunning(identity: ProcessIdentity): Promise<boolean> {
  return (await identify(identity.pid))?.began === identity.began;
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
