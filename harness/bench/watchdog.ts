/**
 * Ends another process when this one is killed without a chance to do it.
 *
 * A small shell holds the other end of a pipe. The pipe breaks when this process ends, however it ends. Whoever ends the other process in order says so first.
 */
import { spawn } from 'node:child_process';

const script = 'read -r line || kill -s "$2" "$1"';

/** Returns what to call when that process has ended, or is to live on. */
export function endWithUs(pid: number, signal: 'INT' | 'QUIT'): () => void {
  const dog = spawn('/bin/sh', ['-c', script, 'barista-bench-watchdog', String(pid), signal], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  dog.on('error', () => undefined);
  dog.stdin.on('error', () => undefined);
  dog.unref();
  return () => void dog.stdin.end('done\n');
}
