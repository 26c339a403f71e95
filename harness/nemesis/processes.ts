/** Processes of the machine: who runs below whom, and signals to them. */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

export function signalAll(pids: readonly number[], signal: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, signal);
    } catch {
      // Gone in between; the replica may have replaced its PostgreSQL meanwhile.
    }
  }
}

export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

export async function childrenOf(parent: number): Promise<readonly number[]> {
  const { stdout } = await run('ps', ['-A', '-o', 'pid=,ppid=']);
  return stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number))
    .flatMap(([pid, ppid]) => (ppid === parent ? [pid!] : []));
}

export async function isStopped(pid: number): Promise<boolean> {
  const { stdout } = await run('ps', ['-o', 'state=', '-p', String(pid)]).catch(() => ({ stdout: '' }));
  return stdout.trim().startsWith('T');
}
