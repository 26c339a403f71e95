/**
 * PostgreSQL as a primary: its WAL is proposed, and clients are served once everything that it began with is chosen.
 *
 * Responsible for: the stream of its WAL, the barrier before it serves, noticing that it hangs or makes no barriers, and its end. Spec: Ship, Release, Open, Depose of OrderedApply.tla.
 * Invariants: nobody is served before everything that PostgreSQL had recovered or written is chosen; when leadership ends nobody is served any more before anything else happens, and PostgreSQL is stopped at once.
 */
import type { Ballot } from '../../../multipaxos/types/names.ts';
import type { PrimaryDatabase, WalStream } from '../../../ports/database-server.ts';
import type { ChosenWal } from '../chosen-wal.ts';
import { formatLsn, type Lsn } from '../../../wal/lsn.ts';
import { CommitReader } from '../commit-reader.ts';
import { ShippedCommits } from '../shipped-commits.ts';
import { Shipper } from '../shipper.ts';
import { Barriers } from './barriers.ts';
import type { LifeContext, Next } from './context.ts';
import { forLeader, inTime } from './in-time.ts';
import { endCleanly } from './clean-end.ts';
import { primaryAnswerMs, SessionAnswers } from './session-answers.ts';
import { ownPosition } from './own-position.ts';

export interface RunningPrimary {
  readonly primary: PrimaryDatabase;
  readonly ballot: Ballot;
  readonly wal: ChosenWal;
  /** Where the first range of this leadership begins: the chosen WAL ends there. */
  readonly from: Lsn;
}

/** The directory says `primary` already. */
export async function bePrimary(context: LifeContext, running: RunningPrimary): Promise<Next> {
  const { logger } = context.options;
  const shipper = createShipper(context, running);
  context.shipper = shipper;
  context.primary = running.primary;
  const barriers = new Barriers(context, running.primary, shipper);
  context.barriers = barriers;
  const watch = new PrimaryWatch(context, running.primary, shipper);
  let next: Next;
  try {
    context.options.host.opening(running.ballot);
    const limit = forLeader(context, running.ballot, 'the stream of WAL', context.options.timings.patienceMs);
    await inTime(context, limit, watch.connect());
    context.stages.done('streaming');
    context.options.onUp();
    shipper.chosen(running.wal.position.end);
    void open(context, running, barriers);
    next = await lead(context, running, watch);
  } catch (error) {
    logger.error({ err: error }, 'the primary failed');
    next = await depose(context, running, 'immediate', 'its WAL could not be had');
  } finally {
    watch.close();
    shipper.stop();
    context.shipper = null;
    context.primary = null;
    context.barriers = null;
  }
  return next;
}

function createShipper(context: LifeContext, { ballot, primary, from, wal }: RunningPrimary): Shipper {
  const { host, timers, entryBytesMax, shipQueueBytesMax, onAgreed, logger } = context.options;
  const { timeline } = primary;
  let isUnread = false;
  const commits = host.isTraced ? new CommitReader(from, () => wal.position.nextXid) : null;
  const shipped = new ShippedCommits();
  return new Shipper({
    leadership: ballot,
    timeline,
    from,
    timers,
    entryBytesMax,
    queueBytesMax: shipQueueBytesMax,
    propose: (payload) => (context.leads(ballot) ? host.propose(payload) : { code: 'notLeader' }),
    isWriting: () => host.isWriting(),
    groupIntervalMs: () => host.groupIntervalMs(),
    onShipped: (label, start, chunks) => {
      const end = chunks.reduce((at, chunk) => at + chunk.length, start as number) as Lsn;
      const committed = commits?.take(chunks) ?? [];
      if (commits !== null && commits.fault !== null && !isUnread) {
        isUnread = true;
        logger.warn({ fault: commits.fault }, 'the trace lacks which transactions are shipped from here on');
      }
      shipped.add(end, committed);
      host.event({ name: 'Ship', label, leadership: ballot, timeline, start, end, commits: committed });
    },
    onAgreed,
    onReleased: (start, position) => {
      const { slot } = wal.position;
      context.foldEvent({ name: 'Release', slot, start, position, commits: shipped.takeUpTo(position) });
    },
  });
}

/** Everything that is visible in the new primary must be chosen before anybody sees it. */
async function open(
  context: LifeContext,
  { primary, ballot, wal }: RunningPrimary,
  barriers: Barriers,
): Promise<void> {
  const { host, logger } = context.options;
  const { stages } = context;
  try {
    await barriers.pass();
  } catch (error) {
    // Its end is noticed elsewhere; or the leader hands over because of it.
    logger.warn({ err: error }, 'the barrier of a new primary was not passed');
    return;
  }
  if (!context.leads(ballot) || context.over() !== null) return;
  const { end, slot } = wal.position;
  stages.done('barrier');
  const { timeline } = primary;
  logger.info({ timeline, position: formatLsn(end), ms: stages.all }, 'the primary serves');
  host.event({ name: 'Open', leadership: ballot, slot, position: end });
  host.ready(ballot);
}

async function lead(context: LifeContext, running: RunningPrimary, watch: PrimaryWatch): Promise<Next> {
  const { signal, options, wishes } = context;
  const { ballot, wal } = running;
  let savedAtMs = options.timers.nowMs();
  for (;;) {
    if (wishes.stopping && context.leads(ballot)) return endCleanly(context, running);
    if (wishes.ended !== null) return depose(context, running, 'immediate', wishes.ended);
    const trouble = watch.trouble ?? context.barriers?.trouble ?? null;
    if (trouble !== null) return depose(context, running, 'kill', trouble);
    if (context.over() !== null || !context.leads(ballot))
      return depose(context, running, 'immediate', 'leadership has ended');
    context.advance(wal.position.slot);
    if (options.timers.nowMs() - savedAtMs >= options.timings.saveMs) {
      savedAtMs = options.timers.nowMs();
      await save(context, running);
    }
    await signal.waitPatiently(options.timings.pingMs);
    watch.look();
  }
}

/** What is chosen of its own WAL is in its own directory: PostgreSQL sends nothing that it has not flushed. */
async function save(context: LifeContext, running: RunningPrimary): Promise<void> {
  const position = ownPosition(context, running);
  if (position.slot > context.durablePointer)
    await context.save({ kind: 'primary', leadership: running.ballot }, position);
}

/** Nobody is served from this moment on; what PostgreSQL has beyond the chosen WAL is looked at when it is gone. */
async function depose(
  context: LifeContext,
  running: RunningPrimary,
  mode: 'immediate' | 'kill',
  reason: string,
): Promise<Next> {
  const { host, server, logger, onDown } = context.options;
  const { ballot } = running;
  host.unready(reason);
  logger.info({ reason }, 'the primary is stopped');
  if (context.leads(ballot)) host.stepDown();
  onDown(reason);
  await server.stop(mode);
  host.event({ name: 'Depose', leadership: ballot, reason });
  const state = await context.save({ kind: 'primary', leadership: ballot }, ownPosition(context, running));
  return context.over() ?? { kind: 'written', state };
}

/** The stream of the primary's WAL, whether there is still life in it, and whether new sessions are answered. */
class PrimaryWatch {
  private readonly context: LifeContext;
  private readonly primary: PrimaryDatabase;
  private readonly shipper: Shipper;
  private stream: WalStream | null = null;
  private heardAtMs: number;
  private movedAtMs: number;
  private pingedAtMs = 0;
  private brokenBecause: string | null = null;
  private readonly answers: SessionAnswers;

  constructor(context: LifeContext, primary: PrimaryDatabase, shipper: Shipper) {
    this.context = context;
    this.primary = primary;
    this.shipper = shipper;
    this.answers = new SessionAnswers(context, primary, primaryAnswerMs);
    this.heardAtMs = context.options.timers.nowMs();
    this.movedAtMs = this.heardAtMs;
  }

  /** Why it cannot be relied on any more. */
  get trouble(): string | null {
    const { timers, timings } = this.context.options;
    const { hangMs } = timings;
    const nowMs = timers.nowMs();
    if (this.brokenBecause !== null) return this.brokenBecause;
    if (nowMs - this.movedAtMs > hangMs / 2) return 'PostgreSQL was stopped by a signal';
    if (nowMs - this.heardAtMs > hangMs) return `PostgreSQL has said nothing for ${hangMs} ms`;
    return this.answers.trouble(nowMs);
  }

  async connect(): Promise<void> {
    const stream = await this.primary.openStream(this.shipper.received, {
      onWal: (_start, pieces) => this.shipper.take(pieces),
      onHeard: () => {
        this.heardAtMs = this.context.options.timers.nowMs();
      },
      onEnd: (reason) => {
        this.brokenBecause = `the stream of its WAL has ended: ${reason}`;
        this.context.signal.notify();
      },
    });
    this.stream = stream;
    this.shipper.attach(stream);
  }

  look(): void {
    const { server, timers, timings } = this.context.options;
    const nowMs = timers.nowMs();
    // Whoever is not read from cannot be heard.
    if (this.shipper.isPaused) this.heardAtMs = nowMs;
    // Each slot that is chosen leads here; looking at a process costs calls of the system.
    if (nowMs - this.pingedAtMs < timings.pingMs) return;
    if (server.isMoving()) this.movedAtMs = nowMs;
    // A turn of the event loop that took too long is not PostgreSQL's silence.
    if (nowMs - this.pingedAtMs > 4 * timings.pingMs) {
      this.heardAtMs = nowMs;
      this.answers.forget();
    }
    this.pingedAtMs = nowMs;
    this.stream?.ping();
    this.answers.ask(false);
  }

  close(): void {
    this.answers.giveUp();
    this.stream?.close();
  }
}
