/**
 * The end of a primary whose replica stops in order: PostgreSQL makes its last checkpoint, all of its WAL is chosen, and its directory is a standby's again.
 *
 * Nothing rests on it: whatever does not come to pass in time leaves a directory that may hold unchosen WAL, as a crash does.
 */
import type { LifeContext, Next } from './context.ts';
import type { Ballot } from '../../../multipaxos/types/names.ts';
import type { WalPosition } from '../../../wal/position.ts';
import { ownPosition } from './own-position.ts';
import type { RunningPrimary } from './primary-phase.ts';

export async function endCleanly(context: LifeContext, running: RunningPrimary): Promise<Next> {
  const { ballot, primary } = running;
  const { host, directory, timers, timings, logger } = context.options;
  host.unready('the replica is stopping');
  await stopWhileLeading(context, ballot);
  // Of another leadership that has begun meanwhile nothing is in this directory.
  const chosen = (): WalPosition => ownPosition(context, running);
  const ownEnd = await directory.endOfWal(primary.timeline, chosen().end);
  const deadline = timers.nowMs() + timings.patienceMs;
  while (context.leads(ballot) && chosen().end < ownEnd && timers.nowMs() < deadline) {
    await context.signal.wait(20);
  }
  host.event({ name: 'Depose', leadership: ballot, reason: 'the replica is stopping' });
  const position = chosen();
  const { end, slot } = position;
  const isClean = end >= ownEnd;
  logger.info({ isClean }, 'the primary has ended');
  const { timeline } = primary;
  if (isClean)
    await context.save({ kind: 'standby' }, position, {
      name: 'CheckPrefix',
      outcome: 'standby',
      slot,
      timeline,
      position: end,
    });
  else await context.save({ kind: 'primary', leadership: ballot }, position);
  return { kind: 'stopped' };
}

/** PostgreSQL ends in order when its standby has all of its WAL. Once leadership is lost, as where the others have stopped first, nobody will say so any more. */
async function stopWhileLeading(context: LifeContext, ballot: Ballot): Promise<void> {
  const { server, timings } = context.options;
  const gone = server.stop('fast').then(() => true);
  const later = (): Promise<boolean> => context.signal.wait(timings.pingMs).then(() => false);
  while (!(await Promise.race([gone, later()]))) {
    if (context.leads(ballot)) continue;
    await server.stop('immediate');
    await gone;
    return;
  }
}
