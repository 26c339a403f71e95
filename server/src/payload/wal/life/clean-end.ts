/**
 * The end of a primary whose replica stops in order: PostgreSQL makes its last checkpoint, all of its WAL is chosen, and its directory is a standby's again.
 *
 * Nothing rests on it: whatever does not come to pass in time leaves a directory that may hold unchosen WAL, as a crash does.
 */
import type { LifeContext, Next } from './context.ts';
import type { WalPosition } from '../../../wal/position.ts';
import { ownPosition } from './own-position.ts';
import type { RunningPrimary } from './primary-phase.ts';

export async function endCleanly(context: LifeContext, running: RunningPrimary): Promise<Next> {
  const { ballot, primary } = running;
  const { host, server, directory, timers, timings, logger } = context.options;
  host.unready('the replica is stopping');
  await server.stop('fast');
  // Of another leadership that has begun meanwhile nothing is in this directory.
  const chosen = (): WalPosition => ownPosition(context, running);
  const ownEnd = await directory.endOfWal(primary.timeline, chosen().end);
  const deadline = timers.nowMs() + timings.patienceMs;
  while (context.leads(ballot) && chosen().end < ownEnd && timers.nowMs() < deadline) {
    await context.signal.wait(20);
  }
  host.event({ name: 'Depose', leadership: ballot, reason: 'the replica is stopping' });
  const isClean = chosen().end >= ownEnd;
  logger.info({ isClean }, 'the primary has ended');
  const written = { kind: 'primary', leadership: ballot } as const;
  await context.save(isClean ? { kind: 'standby' } : written, chosen());
  return { kind: 'stopped' };
}
