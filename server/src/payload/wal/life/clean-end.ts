/**
 * The end of a primary whose replica stops in order: no session waits for its commit any more, PostgreSQL makes its last checkpoint, all of its WAL is chosen, and its directory is a standby's again.
 *
 * A fast stop ends the waits of commits, and extensions act on them as on any other (hazard 5): where one still waits PostgreSQL is stopped at once, which ends none. Nothing rests on the rest: whatever does not come to pass in
 * time leaves a directory that may hold unchosen WAL, as a crash does.
 */
import type { LifeContext, Next } from './context.ts';
import type { Ballot } from '../../../multipaxos/types/names.ts';
import type { WalPosition } from '../../../wal/position.ts';
import { inTime } from './in-time.ts';
import { ownPosition } from './own-position.ts';
import type { RunningPrimary } from './primary-phase.ts';

const pollMs = 20;

export async function endCleanly(context: LifeContext, running: RunningPrimary): Promise<Next> {
  const { ballot, primary } = running;
  const { host, directory, timers, timings, logger } = context.options;
  host.unready('the replica is stopping');
  if (await isAtRest(context, running)) await stopWhileLeading(context, ballot);
  else await context.options.server.stop('immediate');
  // Of another leadership that has begun meanwhile nothing is in this directory.
  const chosen = (): WalPosition => ownPosition(context, running);
  const ownEnd = await directory.endOfWal(primary.timeline, chosen().end);
  const deadline = timers.nowMs() + timings.patienceMs;
  while (context.leads(ballot) && chosen().end < ownEnd && timers.nowMs() < deadline) {
    await context.signal.wait(pollMs);
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

/** True: no session waits for its commit. False: some still do after a while, PostgreSQL does not say, or the leadership is over. */
async function isAtRest(context: LifeContext, { ballot, primary }: RunningPrimary): Promise<boolean> {
  const { timers, timings, logger } = context.options;
  const limit = {
    what: 'the end of the commits that wait',
    untilMs: timers.nowMs() + timings.patienceMs,
    isOver: () => !context.leads(ballot) || context.wishes.ended !== null,
  };
  const givenUp = new AbortController();
  try {
    while ((await inTime(context, limit, primary.committing(givenUp.signal))) > 0)
      await context.signal.wait(pollMs);
    return true;
  } catch (error) {
    logger.warn({ err: error }, 'commits may still wait: PostgreSQL is stopped at once');
    return false;
  } finally {
    givenUp.abort(new Error('PostgreSQL is stopped'));
  }
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
