/**
 * Ends processes that nobody owns any more: replicas of a supervisor that was killed, the PostgreSQL of a replica that was killed.
 *
 * Invariant: a process is only signalled if it is the very run that was recorded; a reused pid is left alone.
 */
import { isRunning, type ProcessIdentity, waitUntilGone } from '../adapters/postgres/process-identity.ts';

/** Sends `signals` one after the other until the process is gone, waiting `eachMs` after each. True if it is gone. */
export async function endProcess(
  identity: ProcessIdentity,
  signals: readonly NodeJS.Signals[],
  eachMs: number,
): Promise<boolean> {
  for (const signal of signals) {
    if (!(await isRunning(identity))) return true;
    try {
      process.kill(identity.pid, signal);
    } catch {
      // Gone in between, or not ours to signal: the next look tells.
    }
    // To go on is all that SIGCONT does.
    if (signal !== 'SIGCONT' && (await waitUntilGone(identity, eachMs))) return true;
  }
  return !(await isRunning(identity));
}

/** PostgreSQL: fast shutdown, then immediate shutdown, then the end. */
export const postgresSignals: readonly NodeJS.Signals[] = ['SIGINT', 'SIGQUIT', 'SIGKILL'];
/** A replica may be frozen, and then heeds nothing but SIGKILL until it is thawed. */
export const replicaSignals: readonly NodeJS.Signals[] = ['SIGCONT', 'SIGTERM', 'SIGKILL'];
