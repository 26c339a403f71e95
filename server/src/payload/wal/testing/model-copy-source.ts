/**
 * Gives copies of a modelled database, with what the adapter promises (ports/copy.ts). Nothing is compared: all that is there is sent, page by page, while the source goes on.
 *
 * Invariant: WAL that is not chosen does not leave; a copy is complete only when the WAL that its pages need is chosen.
 */
import type { Duplex } from 'node:stream';
import type { Timers } from '../../../ports/clock.ts';
import { CopyError, type CopySource } from '../../../ports/copy.ts';
import type { DirectoryState } from '../../../ports/database-directory.ts';
import type { Random } from '../../../ports/testing/random.ts';
import { segmentBytes, segmentStart, type Lsn } from '../../../wal/lsn.ts';
import { timelineFile } from '../../../wal/timeline-file.ts';
import { timelineAt, type WalPosition } from '../../../wal/position.ts';
import { receive, send, type Message } from './copy-messages.ts';
import type { Control } from './model-disk.ts';
import type { ModelPostgres, ModelRun } from './model-postgres.ts';

type DurablePosition = Pick<DirectoryState, 'position' | 'configuration'>;

const pagesAtOnce = 3;
const walBytesAtOnce = 256 * 1024;
const durableWithinMs = 30_000;

export interface ModelCopySourceOptions {
  readonly postgres: ModelPostgres;
  readonly timers: Timers;
  readonly random: Random;
  /** Of what is durable, all of it chosen. @throws CopyError if there is nothing to copy */
  readonly position: () => DurablePosition;
  readonly awaitChosen: (lsn: Lsn, signal: AbortSignal) => Promise<boolean>;
}

export class ModelCopySource implements CopySource {
  private readonly options: ModelCopySourceOptions;

  constructor(options: ModelCopySourceOptions) {
    this.options = options;
  }

  async serve(channel: Duplex): Promise<void> {
    const gone = new AbortController();
    channel.once('close', () => gone.abort(new Error('the other side has gone')));
    try {
      await this.copy(channel, gone.signal);
      channel.end();
    } catch (cause) {
      const message = cause instanceof Error ? cause.message : String(cause);
      const error = cause instanceof CopyError ? cause : new CopyError('sourceUnavailable', message);
      channel.end({ kind: 'failed', error } satisfies Message);
    }
  }

  private async copy(channel: Duplex, gone: AbortSignal): Promise<void> {
    const { postgres, random, position } = this.options;
    const { position: begun } = position();
    if (begun.timeline === 0) throw new CopyError('sourceUnavailable', 'nobody has led this group yet');
    await send(channel, { kind: 'begin', position: begun });
    await receive(channel, 'go');
    const { run } = postgres;
    if (run === null) throw new CopyError('sourceUnavailable', 'PostgreSQL is away');
    const wasStandby = run.standby !== null;
    await untilGone(run, run.primary?.checkpoint());
    const control = this.controlOf(run, wasStandby);
    // As of the control file: those that come later are in the WAL from there on.
    const outcomes = new Map(postgres.disk.outcomes);
    const keys = random.shuffled([...postgres.disk.pages.keys()]);
    while (keys.length > 0) {
      await this.moment();
      this.controlOf(run, wasStandby);
      const some = keys.splice(0, pagesAtOnce);
      const pages = some.flatMap((key) => {
        const page = postgres.disk.pages.get(key);
        return page === undefined ? [] : [[key, page] as const];
      });
      await send(channel, { kind: 'pages', pages, left: keys.length });
    }
    await send(channel, { kind: 'outcomes', outcomes });
    const { mustReach } = this.controlOf(run, wasStandby);
    const stop = await this.stopAt(run, mustReach);
    const durable = await this.untilChosen(stop, gone);
    this.controlOf(run, wasStandby);
    await this.sendWal(channel, control.redo.redo, durable.position);
    this.controlOf(run, wasStandby);
    const timeline = timelineAt(durable.position, (stop - 1) as Lsn);
    await send(channel, {
      kind: 'complete',
      state: { ...durable, role: { kind: 'standby' } },
      control: { ...control, timeline, mustReach: stop },
      prepared: postgres.disk.prepared,
    });
  }

  /** @throws CopyError if it is not what it was when the copy was begun */
  private controlOf(run: ModelRun, wasStandby: boolean): Control {
    const { run: now, disk } = this.options.postgres;
    if (now !== run || (run.standby !== null) !== wasStandby || disk.control === null)
      throw new CopyError('transferFailed', 'the source is not what it was when the copy was begun');
    return disk.control;
  }

  /** All pages that were sent are of before. */
  private async stopAt(run: ModelRun, mustReach: Lsn): Promise<Lsn> {
    const { primary, standby } = run;
    if (primary !== null) {
      await untilGone(run, primary.writer.sync(primary.writer.end));
      return primary.writer.syncedTo;
    }
    return Math.max(standby?.replayed ?? 0, mustReach) as Lsn;
  }

  private async untilChosen(stop: Lsn, gone: AbortSignal): Promise<DurablePosition> {
    const { awaitChosen, position, timers } = this.options;
    if (!(await awaitChosen(stop, gone)))
      throw new CopyError('transferFailed', 'the source lost its leadership before all was chosen');
    const deadline = timers.nowMs() + durableWithinMs;
    for (let durable = position(); ; durable = position()) {
      if (durable.position.end >= stop) return durable;
      if (timers.nowMs() > deadline || gone.aborted)
        throw new CopyError('sourceUnavailable', 'the source does not make its WAL durable');
      await this.moment(20);
    }
  }

  private async sendWal(channel: Duplex, redo: Lsn, position: WalPosition): Promise<void> {
    const { disk } = this.options.postgres;
    for (let start = segmentStart(redo); start < position.end; start = (start + segmentBytes) as Lsn) {
      const end = Math.min(start + segmentBytes, position.end);
      const timeline = timelineAt(position, (end - 1) as Lsn);
      for (let at = start as number; at < end; ) {
        const bytes = disk.wal.read(at as Lsn, timeline, Math.min(walBytesAtOnce, end - at));
        if (bytes.length === 0) throw new CopyError('sourceUnavailable', 'the WAL of the copy is not there');
        await send(channel, { kind: 'wal', timeline, at: at as Lsn, bytes });
        at += bytes.length;
      }
    }
    for (const { timeline } of position.forks) {
      await send(channel, { kind: 'history', timeline, text: timelineFile(position, timeline) });
    }
  }

  private moment(ms = this.options.random.next() * this.options.postgres.copyMomentMs): Promise<void> {
    return new Promise((resolve) => this.options.timers.after(ms, resolve));
  }
}

/** What was asked of a PostgreSQL that has ended gets no answer: its connections say so. @throws CopyError */
async function untilGone({ onGone }: ModelRun, answer: Promise<void> = Promise.resolve()): Promise<void> {
  let gone = (): void => undefined;
  const ended = new Promise<never>((_, reject) => {
    gone = () => reject(new CopyError('transferFailed', 'PostgreSQL has ended'));
  });
  onGone.add(gone);
  try {
    await Promise.race([answer, ended]);
  } finally {
    onGone.delete(gone);
  }
}
