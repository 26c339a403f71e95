/**
 * A directory that may hold WAL which was never chosen: PostgreSQL does not run on it until it is known what may become of it.
 *
 * Responsible for: finding that out, again whenever the log says more, and for leading again with it (Resume). Spec: CheckPrefix, Resume of OrderedApply.tla.
 * Invariants: it becomes a standby only if all of its WAL is chosen; it becomes a primary again only for the replica that led last, and whose WAL goes on where the chosen WAL ends.
 */
import { replicaOf } from '../../../multipaxos/configuration.ts';
import type { Ballot } from '../../../multipaxos/types/names.ts';
import type { DirectoryState } from '../../../ports/database-directory.ts';
import type { PrimaryDatabase } from '../../../ports/database-server.ts';
import type { ChosenWal } from '../chosen-wal.ts';
import { judgeDirectory, type Judgement, mayResume } from '../judge-directory.ts';
import { formatLsn, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import type { LifeContext, Next } from './context.ts';
import { forLeader, inTime } from './in-time.ts';
import { proposeLeadership } from './leadership.ts';
import { bePrimary } from './primary-phase.ts';
import { startWatched } from './standstill.ts';

export async function settleWritten(context: LifeContext, state: DirectoryState): Promise<Next> {
  const { role } = state;
  if (role.kind === 'founder') return settleFounder(context, state, role.isNew);
  if (role.kind !== 'primary' && role.kind !== 'promoting') return { kind: 'inspect' };
  const { directory, logger, host } = context.options;
  const { timeline, end } = state.position;
  const wal = context.take(state);
  if (role.kind === 'promoting') {
    const promotion = await directory.settlePromotion((timeline - 1) as Timeline, timeline);
    // It was told to become a primary, and did not get there.
    if (promotion === 'none')
      return standbyAgain(context, wal, { timeline: (timeline - 1) as Timeline, ownEnd: end });
    const reason = `PostgreSQL was promoted, and not to timeline ${timeline}`;
    if (promotion === 'other') return { kind: 'lost', loss: { cause: 'parted', reason } };
  }
  context.options.onStep('judging');
  const ownEnd = await directory.endOfWal(timeline, end);
  const written = { leadership: role.leadership, timeline, ownEnd };
  for (let told = ''; ; ) {
    const over = context.over();
    if (over !== null) return over;
    const judgement = judgeDirectory(written, wal.position);
    if (judgement.kind !== told) {
      told = judgement.kind;
      logger.info(
        { ...explain(judgement, ownEnd, wal), leadership: role.leadership },
        'the directory of a primary',
      );
      const { slot } = wal.position;
      const outcome = outcomes[judgement.kind];
      if (outcome !== null)
        context.tellPrefix({ name: 'CheckPrefix', outcome, slot, timeline, position: ownEnd });
    }
    if (judgement.kind === 'prefix') return standbyAgain(context, wal, { timeline, ownEnd });
    if (judgement.kind === 'parted') {
      const reason = `others went another way at ${formatLsn(judgement.at)}, and it goes on to ${formatLsn(ownEnd)}`;
      return { kind: 'lost', loss: { cause: 'parted', reason } };
    }
    // Everything that is chosen is in it: its replica may lead, and must if nobody else has a database.
    context.advance(wal.position.slot);
    context.options.onMayLead();
    const { leading } = context.wishes;
    if (
      leading !== null &&
      mayResume({ member: host.member, commitPoint: host.commitPoint() }, wal.position)
    ) {
      // A promotion that was interrupted is settled: what is started now is a primary.
      await context.save({ kind: 'primary', leadership: role.leadership }, wal.position);
      return resume(context, wal, { ballot: leading, ownEnd });
    }
    await context.signal.wait();
  }
}

/** Null: it is told when the directory says so. */
const outcomes = { prefix: null, own: 'undecided', parted: 'parted' } as const;

function explain(judgement: Judgement, ownEnd: Lsn, wal: ChosenWal) {
  const { timeline, end } = wal.position;
  return { judgement: judgement.kind, ownEnd: formatLsn(ownEnd), chosen: formatLsn(end), timeline };
}

/** `timeline`: of the directory, whose WAL ends at `ownEnd`. */
async function standbyAgain(
  context: LifeContext,
  wal: ChosenWal,
  { timeline, ownEnd }: { readonly timeline: Timeline; readonly ownEnd: Lsn },
): Promise<Next> {
  // Folding begins anew from what the directory says, and not before.
  wal.stop();
  const position = wal.positionAt(ownEnd);
  const { slot } = position;
  const state = await context.save({ kind: 'standby' }, position, {
    name: 'CheckPrefix',
    outcome: 'standby',
    slot,
    timeline,
    position: ownEnd,
  });
  return { kind: 'standby', state };
}

/** A start gives up by itself long before. */
const startMsMax = 600_000;

/** A primary; null: the leadership ended before it let anybody in, as it does when PostgreSQL hangs, and it is stopped. @throws LaunchError */
async function startToLead(context: LifeContext, ballot: Ballot): Promise<PrimaryDatabase | null> {
  const { options } = context;
  const over = new AbortController();
  const start = startWatched(context, (ended) =>
    options.server.startPrimary(AbortSignal.any([ended, over.signal])),
  );
  const limit = forLeader(context, ballot, 'a start', startMsMax);
  try {
    return await inTime(context, limit, start);
  } catch (error) {
    if (!limit.isOver()) throw error;
    over.abort(new Error('the leadership ended'));
    await start.catch(() => undefined);
    await options.server.stop('immediate');
    return null;
  }
}

/** A leadership ends with the life of its primary, even before it has begun: what was proposed under its name is of that life. Spec: NodeAfterDatabaseDown. */
async function endUnbegun(context: LifeContext, ballot: Ballot): Promise<Next> {
  const { host, server } = context.options;
  if (context.leads(ballot)) host.stepDown();
  await server.stop('immediate');
  host.event({ name: 'Depose', leadership: ballot, reason: 'it had not begun' });
  return context.over() ?? { kind: 'inspect' };
}

/** `ownEnd`: where the last whole record of the directory ends. */
async function resume(
  context: LifeContext,
  wal: ChosenWal,
  { ballot, ownEnd }: { readonly ballot: Ballot; readonly ownEnd: Lsn },
): Promise<Next> {
  const { options } = context;
  const { timeline, system, end: from } = wal.position;
  options.onStep('starting');
  const primary = await startToLead(context, ballot);
  options.onStep(null);
  if (primary === null) return context.over() ?? { kind: 'inspect' };
  if (primary.timeline !== timeline || primary.system !== system) {
    await options.server.stop('immediate');
    const reason = `PostgreSQL came up on timeline ${primary.timeline}, and the log says ${timeline}`;
    return { kind: 'lost', loss: { cause: 'databaseLost', reason } };
  }
  const limit = forLeader(context, ballot, 'what a primary begins with', options.timings.patienceMs);
  const nextXid = await inTime(context, limit, primary.nextXid());
  options.host.event({ name: 'Resume', leadership: ballot, timeline, position: ownEnd });
  const entry = { leadership: ballot, timeline, fork: from, nextXid, resumes: true, system };
  if (!(await proposeLeadership(context, wal, entry))) return endUnbegun(context, ballot);
  await context.save({ kind: 'primary', leadership: ballot }, wal.position);
  return bePrimary(context, { primary, ballot, wal, from });
}

/** A new database: the first leadership of the group begins with it, and what is in it before is nowhere else. */
async function settleFounder(context: LifeContext, state: DirectoryState, isNew: boolean): Promise<Next> {
  const wal = context.take(state);
  for (;;) {
    const over = context.over();
    if (over !== null) return over;
    context.advance(wal.position.slot);
    context.options.onMayLead();
    if (wal.position.leadership.replica === context.options.host.member) {
      // It was chosen in the very moment of a crash.
      const { position } = wal;
      const role = { kind: 'primary', leadership: position.leadership } as const;
      return { kind: 'written', state: await context.save(role, position) };
    }
    if (wal.position.timeline !== 0) {
      const reason = `the group was begun by ${replicaOf(wal.position.leadership.replica)}, with another database`;
      return { kind: 'lost', loss: { cause: 'databaseLost', reason } };
    }
    const { leading } = context.wishes;
    if (leading !== null && wal.position.slot >= context.options.host.commitPoint())
      return found(context, wal, leading, isNew);
    await context.signal.wait();
  }
}

async function found(context: LifeContext, wal: ChosenWal, ballot: Ballot, isNew: boolean): Promise<Next> {
  const { options } = context;
  options.onStep('starting');
  const primary = await startToLead(context, ballot);
  if (primary === null) {
    options.onStep(null);
    return context.over() ?? { kind: 'inspect' };
  }
  options.host.event({
    name: 'DatabaseUp',
    role: 'founder',
    slot: wal.position.slot,
    position: wal.position.end,
    timeline: wal.position.timeline,
  });
  options.onStep('preparing');
  if (isNew) await options.prepare();
  options.onStep(null);
  const limit = forLeader(context, ballot, 'what a primary begins with', options.timings.patienceMs);
  const from = await inTime(context, limit, primary.flushed());
  const timeline: Timeline = primary.timeline;
  const entry = {
    leadership: ballot,
    timeline,
    fork: from,
    nextXid: await inTime(context, limit, primary.nextXid()),
    resumes: false,
    system: primary.system,
  };
  if (!(await proposeLeadership(context, wal, entry))) return endUnbegun(context, ballot);
  await context.save({ kind: 'primary', leadership: ballot }, wal.position);
  return bePrimary(context, { primary, ballot, wal, from });
}
