/**
 * PostgreSQL as a standby: fed chosen WAL and nothing else, until this replica leads, PostgreSQL ends, or the database is lost.
 *
 * Responsible for: starting it, what it may be sent, saving how far it is, and making a primary of it. Spec: Feed, Replay, FlushStandby, ProposeLeadership and Promote of OrderedApply.tla.
 * Invariants: it is sent WAL of the chosen chain only; it is promoted only when the leadership entry is chosen and everything chosen below the fork is replayed; the directory says that it may be a primary before it
 * can be one.
 */
import type { Ballot } from '../../../multipaxos/types/names.ts';
import type { DirectoryState } from '../../../ports/database-directory.ts';
import type {
  FeedSource,
  PrimaryDatabase,
  StandbyDatabase,
  StandbyHandlers,
  StandbyReport,
} from '../../../ports/database-server.ts';
import { WalMissingError, type ChosenWal } from '../chosen-wal.ts';
import { lastWholeRecord } from '../last-whole-record.ts';
import { formatLsn, type Lsn } from '../../../wal/lsn.ts';
import { timelineFile } from '../../../wal/timeline-file.ts';
import type { LifeContext, Next, StandbyReaders } from './context.ts';
import { FeedTrouble } from './feed-trouble.ts';
import { forLeader, inTime } from './in-time.ts';
import { proposeLeadership } from './leadership.ts';
import { bePrimary } from './primary-phase.ts';
import { answerMsOf, SessionAnswers } from './session-answers.ts';
import { StandbyProgress } from './standby-progress.ts';
import { Standstill, startWatched } from './standstill.ts';

/** PostgreSQL lets nobody in before it has replayed what it had when it was started. One that stands before that cannot read it, and asks for it again and again. */
const unfitMs = 45_000;

/** It reports nothing while it replays what was in its directory already, and that takes as long as any start. */
const firstReportMs = 120_000;

/** A standby that is started, and what is known of it. */
export interface RunningStandby {
  readonly standby: StandbyDatabase;
  readonly progress: StandbyProgress;
  readonly wal: ChosenWal;
  readonly answers: SessionAnswers;
  /** Until it reports something. */
  readonly standstill: Standstill;
  readonly feed: FeedTrouble;
}

/** @throws LaunchError; whatever else goes wrong is what `Next` says */
export async function beStandby(context: LifeContext, state: DirectoryState): Promise<Next> {
  const { options } = context;
  const missing = context.hasNoBetter ? null : await options.directory.missingWal(state.position);
  if (missing !== null) return presumedLost(missing);
  const wal = context.take(state);
  const progress = new StandbyProgress(wal);
  context.standby = progress;
  options.onStep('starting');
  const source: FeedSource = {
    position: () => wal.position,
    read: (from, bytesMax) => readForStandby(context, wal, from, bytesMax),
    history: (timeline) => timelineFile(wal.position, timeline),
  };
  /** The newest that came before it counts as up, which is told first. */
  let early: StandbyReport | null = null;
  let isUp = false;
  const feed = new FeedTrouble(options.timings.patienceMs);
  const handlers: StandbyHandlers = {
    onReport(report) {
      if (report.flushed > progress.flushed) feed.took();
      if (isUp) noteReport(context, progress, report);
      else early = report;
    },
    onStreaming(from, timeline) {
      if (!feed.isInRow) options.logger.info({ from: formatLsn(from), timeline }, 'the standby is fed');
    },
    onStreamEnded(reason) {
      if (feed.left(reason, options.timers.nowMs()))
        options.logger.info({ reason }, 'the standby has left the feed');
    },
  };
  const standby = await startWatched(context, (ended) =>
    options.server.startStandby(source, handlers, ended),
  );
  const { slot, end: position, timeline } = wal.position;
  options.host.event({ name: 'DatabaseUp', role: 'standby', slot, position, timeline });
  isUp = true;
  if (early !== null) noteReport(context, progress, early);
  context.feed = standby;
  const answers = new SessionAnswers(context, standby, answerMsOf(context));
  try {
    const standstill = new Standstill(options);
    return await follow(context, { standby, progress, wal, answers, standstill, feed });
  } catch (error) {
    // It may have become a primary, whose end is told by the end of its leadership.
    if (context.standby === progress) {
      await options.server.stop('immediate');
      const reason = error instanceof Error ? error.message : String(error);
      options.host.event({ name: 'DatabaseDown', reason });
    }
    throw error;
  } finally {
    answers.giveUp();
    options.onReplayPaused(false);
    options.readers.letIn(false);
    context.feed = null;
    context.standby = null;
  }
}

function noteReport(context: LifeContext, progress: StandbyProgress, report: StandbyReport): void {
  if (!progress.report(report, context.options.timers.nowMs())) return;
  const { flushed, replayed, appliedSlot: applied } = progress;
  const durable = progress.durable.slot;
  // Which slots these are follows from the fold.
  context.foldEvent({ name: 'Replay', flushed, replayed, durable, applied });
  context.options.readers.reached(applied);
  context.signal.stir();
}

/** Where WAL is missing, only a copy helps. */
function readForStandby(
  context: LifeContext,
  wal: ChosenWal,
  from: Lsn,
  bytesMax: number,
): ReturnType<ChosenWal['read']> {
  const pieces = wal.read(from, context.feedLimit(wal), bytesMax);
  if (!(pieces instanceof Promise)) return pieces;
  return pieces.catch((error: unknown) => {
    if (error instanceof WalMissingError) {
      const reason = `the standby asks for WAL that is gone: ${error.message}`;
      context.wishes.loss ??= error.isOfDirectory
        ? { cause: 'databaseLost', reason, isPresumed: true }
        : { cause: 'logPurged', reason };
      context.signal.notify();
    }
    throw error;
  });
}

async function follow(context: LifeContext, running: RunningStandby): Promise<Next> {
  const { wishes, signal, options } = context;
  const { progress, wal, standby, answers } = running;
  const { readers } = options;
  const { askMs, askLeadingMs, saveMs } = options.timings;
  let savedAtMs = options.timers.nowMs();
  let askedAtMs = Number.NEGATIVE_INFINITY;
  let lookedAtMs = options.timers.nowMs();
  let awaitedAtMs: number | null = null;
  let isMoving = true;
  let isUp = false;
  for (;;) {
    const over = context.over();
    if (over !== null) {
      readers.letIn(false);
      await save(context, progress);
      if (over.kind === 'inspect') options.host.stepDown();
      options.onDown(wishes.ended ?? 'PostgreSQL is stopped');
      await options.server.stop('fast');
      options.host.event({ name: 'DatabaseDown', reason: wishes.ended ?? over.kind });
      return over;
    }
    const hangs = progress.hasReported ? null : await running.standstill.look();
    if (hangs !== null) return endHung(context, hangs);
    const heldUp = answers.heldUp();
    if (heldUp !== null) return endHung(context, heldUp);
    const unfit = isUp || context.hasNoBetter ? null : standsUnfit(context, running);
    if (unfit !== null) return endUnfit(context, unfit);
    await puzzle(running, options.timers.nowMs());
    context.advance(progress.appliedSlot);
    readers.reached(progress.appliedSlot);
    if (options.timers.nowMs() - lookedAtMs >= saveMs) {
      lookedAtMs = options.timers.nowMs();
      isMoving = options.server.isMoving();
    }
    // It is waited for: paused replay would never get there.
    const isNeeded = options.host.isAwaited() || wishes.leading !== null;
    if (isMoving && progress.isConsistent) answers.ask(isNeeded && progress.appliedSlot < wal.position.slot);
    const silence = answers.trouble(options.timers.nowMs()) ?? running.feed.trouble(options.timers.nowMs());
    const isWell = isMoving && silence === null;
    if (!isUp && isWell && progress.isConsistent) {
      isUp = true;
      options.onStep(null);
      options.onUp();
    }
    // It could not be promoted: another replica had better lead.
    if (isUp && !isWell) {
      isUp = false;
      const stopped = 'PostgreSQL does not do anything: its main process is stopped';
      options.onDown(isMoving ? silence! : stopped);
    }
    awaitedAtMs = options.host.isAwaited() ? (awaitedAtMs ?? options.timers.nowMs()) : null;
    // What readers hold up is not replayed, and nobody reads at what may become a primary.
    readers.letIn(isUp && awaitedAtMs === null && wishes.leading === null);
    if (!isWell || isStuck(context, running, awaitedAtMs)) options.host.stepDown();
    if (options.timers.nowMs() - savedAtMs >= saveMs) {
      savedAtMs = options.timers.nowMs();
      await save(context, progress);
    }
    if (wishes.leading !== null) {
      const next = await lead(context, running, wishes.leading);
      if (next !== null) return next;
    }
    // What was told while something else was waited for is not told again.
    if (context.over() !== null || progress.appliedSlot > context.pointer) continue;
    const behind = !isUp || progress.appliedSlot < wal.position.slot;
    const againMs = options.host.isAwaited() || isWanted(readers, wal) ? askLeadingMs : askMs;
    // Each slot that is chosen leads here, and PostgreSQL tells most of what it does by itself.
    if (behind && options.timers.nowMs() - askedAtMs >= againMs) {
      askedAtMs = options.timers.nowMs();
      standby.ask();
    }
    const waitMs = behind ? againMs : saveMs;
    await (isUp ? signal.waitPatiently(waitMs) : signal.wait(waitMs));
  }
}

/** Somebody waits for what could be replayed by now. */
function isWanted({ wanted }: StandbyReaders, { position }: ChosenWal): boolean {
  return wanted !== null && wanted <= position.slot;
}

/** It does nothing, and nothing else helps: it is started again. @throws Error, always */
async function endHung({ options }: LifeContext, reason: string): Promise<never> {
  options.logger.error({ reason }, 'the standby is ended');
  options.host.stepDown();
  await options.server.stop('kill');
  throw new Error(reason);
}

/** Why it will never let anybody in; null: it may yet. */
function standsUnfit({ options }: LifeContext, { progress }: RunningStandby): string | null {
  const { hasReported, isConsistent, replayed } = progress;
  if (!hasReported || isConsistent) return null;
  const patienceMs = Math.max(unfitMs, options.timings.patienceMs);
  // What it is sent meanwhile, and flushes, does not help it.
  if (progress.replayStoodForMs(options.timers.nowMs()) < patienceMs) return null;
  return `PostgreSQL has replayed nothing beyond ${formatLsn(replayed)} for ${patienceMs} ms, which is less than its directory holds`;
}

async function endUnfit({ options }: LifeContext, reason: string): Promise<Next> {
  options.logger.error({ reason }, 'the standby is ended');
  options.onDown(reason);
  await options.server.stop('immediate');
  options.host.event({ name: 'DatabaseDown', reason });
  return presumedLost(reason);
}

function presumedLost(reason: string): Next {
  return { kind: 'lost', loss: { cause: 'databaseLost', reason, isPresumed: true } };
}

/** This replica is to lead as soon as everything is replayed (since `awaitedAtMs`), and nothing more is. A standby that had nothing to replay before stood still, too. */
function isStuck(
  { options: { timers, timings } }: LifeContext,
  { progress, wal }: RunningStandby,
  awaitedAtMs: number | null,
): boolean {
  if (awaitedAtMs === null || progress.appliedSlot >= wal.position.slot) return false;
  const nowMs = timers.nowMs();
  const patienceMs = progress.hasReported ? timings.patienceMs : firstReportMs;
  return Math.min(nowMs - awaitedAtMs, progress.unchangedForMs(nowMs)) > patienceMs;
}

async function save(context: LifeContext, progress: StandbyProgress): Promise<void> {
  const { durable } = progress;
  if (durable.slot > context.durablePointer) await context.save({ kind: 'standby' }, durable);
}

/** The chosen WAL may end within a record, which no standby replays: then it is found out where the last whole one ends. */
async function puzzle({ progress, wal }: RunningStandby, nowMs: number): Promise<void> {
  if (!progress.isPuzzled(nowMs)) return;
  const { position } = wal;
  try {
    progress.wholeRecords(position, await lastWholeRecord(wal, position));
  } catch (error) {
    // A new timeline has left behind what was being read: it is looked at again.
    if (wal.position === position) throw error;
  }
}

/** Null: this replica does not lead any more, and the standby has become nothing else. */
async function lead(context: LifeContext, running: RunningStandby, ballot: Ballot): Promise<Next | null> {
  const { options, wishes, stages } = context;
  const { host, logger, readers } = options;
  stages.done('noticed');
  // It may have come to lead while something else was waited for.
  readers.letIn(false);
  const fork = await replayedFork(context, running, ballot);
  if (fork === null) return null;
  stages.done('replayed');
  const { position } = running.wal;
  const timeline = (position.timeline + 1) as typeof position.timeline;
  const entry = { leadership: ballot, timeline, ...fork, resumes: false, system: position.system };
  if (!(await proposeLeadership(context, running.wal, entry))) {
    // Even if it has begun in the last moment: then this replica follows it like any other, and leads no more before anybody hears that it began. Spec: BeginLeadership, whose leader would be promoting.
    if (context.leads(ballot)) host.stepDown();
    running.standby.open();
    return null;
  }
  stages.done('chosen');
  const begun = running.wal.position;
  const state = await context.save({ kind: 'promoting', leadership: ballot }, begun);
  const written: Next = { kind: 'written', state };
  let primary: PrimaryDatabase;
  try {
    const history = (number: typeof timeline): string => timelineFile(begun, number);
    const limit = forLeader(context, ballot, 'a promotion', options.timings.promotionMs);
    stages.done('marked');
    const onStage = (stage: string): void => stages.done(stage);
    const onLeft = (processes: readonly number[]): void =>
      logger.warn(
        { processes },
        'sessions of readers do not end though they were told to; they can write nothing',
      );
    const promotion = running.standby.promote({ timeline, fork: fork.fork, history, onStage, onLeft });
    primary = await inTime(context, limit, promotion);
    host.event({ name: 'Promote', leadership: ballot, timeline, fork: fork.fork });
  } catch (error) {
    logger.error({ err: error }, 'PostgreSQL could not be promoted');
    // Where the leadership ended before, nothing may be wrong with this database.
    if (context.leads(ballot)) host.stepDown();
    const reason = 'PostgreSQL was being promoted, and is stopped';
    options.onDown(reason);
    await options.server.stop('kill');
    host.event({ name: 'DatabaseDown', reason });
    return wishes.stopping ? { kind: 'stopped' } : written;
  }
  // It is no standby from here on, whoever asks.
  context.feed = null;
  context.standby = null;
  stages.done('asked');
  await context.save({ kind: 'primary', leadership: ballot }, begun);
  stages.done('saved');
  return bePrimary(context, { primary, ballot, wal: running.wal, from: fork.fork });
}

/**
 * Where this replica's timeline may leave the one before: everything that is chosen is replayed, and what is left over is no whole record. Null if leadership ended before. A standby that does not get there in time makes this
 * replica give up.
 */
async function replayedFork(
  context: LifeContext,
  { standby, progress, wal, answers, standstill }: RunningStandby,
  ballot: Ballot,
): Promise<{ readonly fork: Lsn; readonly nextXid: bigint } | null> {
  const { timers, timings, host, logger } = context.options;
  const begun = forLeader(context, ballot, 'a look at the standby', timings.patienceMs);
  const begunAtMs = timers.nowMs();
  let { untilMs } = begun;
  const expected = await lastWholeRecord(wal, wal.position);
  while (!begun.isOver()) {
    const nowMs = timers.nowMs();
    // It is ended where it is followed, which goes on when this returns.
    if (!progress.hasReported && (await standstill.look()) !== null) return null;
    if (answers.heldUp() !== null) return null;
    if (!progress.hasReported && nowMs - begunAtMs < firstReportMs) untilMs = nowMs + timings.patienceMs;
    const given = new AbortController();
    const look = inTime(context, { ...begun, untilMs }, standby.look(given.signal));
    const seen = await look.catch(() => null);
    given.abort();
    if (progress.hasAll && seen !== null && seen.replayed === expected) {
      // It was asked directly, and what it told by itself may be of a moment before.
      const { flushed } = progress;
      noteReport(context, progress, { written: flushed, flushed, replayed: seen.replayed });
      return { fork: expected, nextXid: seen.nextXid };
    }
    if (timers.nowMs() >= untilMs && (progress.hasReported || timers.nowMs() - begunAtMs >= firstReportMs)) {
      const replayed = seen === null ? null : formatLsn(seen.replayed);
      logger.error({ expected: formatLsn(expected), replayed }, 'the standby does not replay what is chosen');
      host.stepDown();
      return null;
    }
    answers.ask(true);
    standby.ask();
    await context.signal.wait(timings.askLeadingMs);
  }
  return null;
}
