/**
 * A model of one replica's PostgreSQL: the processes on one machine and the disk under them, with all that they do that the replica relies on or has to fear, in simulated time.
 *
 * Responsible for: starting, promoting, stopping and dying; the replica's side of it is model-server.ts, the disk's model-directory.ts. The contract of the ports (ports/testing) holds it against PostgreSQL itself.
 * Invariants: at most one run at a time; a process that has died does nothing any more.
 */
import type { Timers } from '../../../ports/clock.ts';
import type { FeedSource, StandbyHandlers, StopMode } from '../../../ports/database-server.ts';
import type { Random } from '../../../ports/testing/random.ts';
import { ProcessTime, type SimulatedTime } from '../../../ports/testing/simulated-time.ts';
import { formatLsn, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import { ModelBuffers } from './model-buffers.ts';
import { ModelDisk } from './model-disk.ts';
import { ModelFeed } from './model-feed.ts';
import { ModelPrimary } from './model-primary.ts';
import { ModelReplay, replayFiles, timelineAlong } from './model-replay.ts';
import { ModelStandby } from './model-standby.ts';
import type { Retention } from './model-vacuum.ts';
import { ModelWriter } from './model-writer.ts';

export interface ModelPostgresOptions {
  readonly time: SimulatedTime;
  readonly random: Random;
  /** Something that PostgreSQL would take for corruption, or that the replica must never do. */
  readonly onTrouble?: (what: string) => void;
  /** A position was reported to a primary: everything below ought to be chosen. */
  readonly onReported?: (position: Lsn, timeline: Timeline) => void;
  /** What nobody sees any more is taken away: rows that were dropped, outcomes of old transactions, WAL of before the last checkpoint. Null: nothing ever is, for judges who look into all that was. Default: null. */
  readonly keeps?: Retention | null;
  /** It is started, or has been told to become a primary: from here on a crash leaves a directory of that sort. */
  readonly onBecomes?: (what: Became) => void;
}

export type Became = 'standby' | 'primary' | 'promoted';

/** One run of the main process and its children. */
export interface ModelRun {
  readonly process: ProcessTime;
  readonly pid: number;
  readonly buffers: ModelBuffers;
  /** Connections that end with it. */
  readonly onGone: Set<() => void>;
  standby: ModelStandby | null;
  primary: ModelPrimary | null;
  feed: ModelFeed | null;
  /** False: the main process is dead, and its children are about to notice. */
  mainAlive: boolean;
  /** `stopped`: by a signal, which can be seen. `hanging`: it waits for a disk, say. */
  stillness: 'moving' | 'stopped' | 'hanging';
  letsIn: boolean;
  /** False: new sessions of the replica's own get no answer. */
  answers: boolean;
}

export class LaunchFailure extends Error {
  readonly code: 'launchFailed' | 'databaseLost';
  constructor(code: 'launchFailed' | 'databaseLost', message: string) {
    super(message);
    this.code = code;
  }
}

/** PostgreSQL gives up a stop in this mode after so long, and what is left is killed. */
const graceMs = { fast: 10_000, immediate: 1_000, kill: 0 } as const;

export class ModelPostgres {
  readonly disk = new ModelDisk();
  readonly random: Random;
  readonly time: SimulatedTime;
  run: ModelRun | null = null;
  endedWaits = 0;
  /** How much longer a standby takes for everything. */
  slowness = 1;
  /** So much longer a flush of WAL takes, of a standby too. */
  flushDelayMs = 0;
  /** Of WAL, since it was made. */
  readonly flushes = { count: 0, ms: 0 };
  /** The most that it takes to read some pages for whoever copies them. */
  copyMomentMs = 4;
  /** The most that some sessions take from the end of their wait until others see what they have committed. */
  showMomentMs = 0;
  /** Starts and barriers that fail, and promotions that never come to an end. */
  failingStarts = 0;
  failingBarriers = 0;
  promotionHangs = false;
  readonly trouble: (what: string) => void;
  private readonly options: ModelPostgresOptions;
  private readonly keeps: Retention | null;
  private exitListeners: ((reason: string, damage: string | null) => void)[] = [];
  private pids = 100;

  constructor(options: ModelPostgresOptions) {
    this.options = options;
    this.keeps = options.keeps ?? null;
    this.time = options.time;
    this.random = options.random;
    this.trouble =
      options.onTrouble ??
      ((what) => {
        throw new Error(what);
      });
  }

  /** Mostly a moment, now and then more. */
  readonly latencyMs = (): number => {
    return this.random.chance(0.02) ? this.random.next() * 20 : 0.05 + this.random.next() * 0.5;
  };

  private flushMs(ms: number): number {
    const tookMs = ms + this.flushDelayMs;
    this.flushes.count += 1;
    this.flushes.ms += tookMs;
    return tookMs;
  }

  onExit(listener: (reason: string, damage: string | null) => void): () => void {
    this.exitListeners.push(listener);
    return () => {
      this.exitListeners = this.exitListeners.filter((other) => other !== listener);
    };
  }

  // ------------------------------------------------------------------------------------------------------- starting

  private launch(as: 'standby' | 'primary'): ModelRun {
    if (this.run !== null) throw new Error('PostgreSQL runs already');
    if (this.failingStarts > 0) {
      this.failingStarts -= 1;
      throw new LaunchFailure('launchFailed', 'PostgreSQL did not start');
    }
    const { disk } = this;
    if (disk.isUnfit) throw new LaunchFailure('launchFailed', 'PostgreSQL ended while it was starting');
    if (disk.control === null) throw new LaunchFailure('databaseLost', 'pg_control is missing');
    this.options.onBecomes?.(as);
    disk.wal.syncAll();
    this.run = {
      process: new ProcessTime(this.time),
      pid: this.nextPid(),
      buffers: new ModelBuffers(disk),
      onGone: new Set(),
      standby: null,
      primary: null,
      feed: null,
      mainAlive: true,
      stillness: 'moving',
      letsIn: false,
      answers: true,
    };
    return this.run;
  }

  private nextPid(): number {
    this.pids += 1;
    return this.pids;
  }

  /** @throws LaunchFailure */
  startStandby(source: FeedSource, handlers: StandbyHandlers, there: Timers): ModelRun {
    const run = this.launch('standby');
    const { disk, random, latencyMs } = this;
    run.feed = new ModelFeed(source, handlers);
    const workMs = (): number => this.slowness * (random.chance(0.02) ? random.next() * 30 : random.next());
    try {
      const parts = { disk, buffers: run.buffers, feed: run.feed, timers: run.process };
      const { trouble: onTrouble, keeps } = this;
      const flushMs = (): number => this.flushMs(workMs());
      run.standby = new ModelStandby({
        ...parts,
        there,
        random,
        latencyMs,
        workMs,
        flushMs,
        keeps,
        onTrouble,
      });
    } catch (error) {
      this.die(null);
      throw new LaunchFailure('launchFailed', error instanceof Error ? error.message : String(error));
    }
    run.letsIn = true;
    return run;
  }

  /** Recovers all that its directory has. Lets sessions in when it resolves. @throws LaunchFailure */
  async startPrimary(): Promise<ModelRun> {
    const run = this.launch('primary');
    const { disk } = this;
    const { redo, redoTimeline, timeline, system } = disk.control!;
    const history = disk.wal.historyOf(timeline);
    if (timelineAlong(history, redo.redo) !== redoTimeline) {
      this.die(null);
      throw new LaunchFailure(
        'launchFailed',
        `timeline ${timeline} does not lead from ${formatLsn(redo.redo)}`,
      );
    }
    const replay = new ModelReplay(run.buffers, redo.redo, () => undefined);
    const unfinished = replayFiles(replay, disk.wal, history);
    run.buffers.forgetRunning();
    const at = unfinished?.goesOnAt ?? replay.replayed;
    disk.wal.truncate(timeline, at);
    const writer = this.writerOf(run, { at, previous: replay.previous, timeline, system });
    if (unfinished !== null) writer.insert({ kind: 'givenUp' });
    await moment(run.process, this.random.next() * 30);
    run.primary = this.primaryOf(run, writer);
    await run.primary.checkpoint();
    run.letsIn = true;
    return run;
  }

  private writerOf(run: ModelRun, place: ConstructorParameters<typeof ModelWriter>[0]['place']): ModelWriter {
    const syncMs = (): number =>
      this.flushMs(this.random.chance(0.02) ? this.random.next() * 30 : 0.1 + this.random.next());
    return new ModelWriter(
      { wal: this.disk.wal, buffers: run.buffers, place },
      { timers: run.process, syncMs },
    );
  }

  private primaryOf(run: ModelRun, writer: ModelWriter): ModelPrimary {
    return new ModelPrimary({
      disk: this.disk,
      buffers: run.buffers,
      writer,
      timers: run.process,
      random: this.random,
      nextPid: () => this.nextPid(),
      keeps: this.keeps,
      onEndedWait: () => {
        this.endedWaits += 1;
      },
      onReported: (position) => this.options.onReported?.(position, writer.timeline),
      showMs: () =>
        this.showMomentMs > 0 && this.random.chance(0.1) ? this.random.next() * this.showMomentMs : 0,
      failsBarrier: () => {
        const fails = this.failingBarriers > 0;
        if (fails) this.failingBarriers -= 1;
        return fails;
      },
    });
  }

  // ------------------------------------------------------------------------------------------------------ promotion

  /** As PostgreSQL does it by itself, step by step; it can die between any two. Resolves when it lets writers in. */
  async promote(run: ModelRun): Promise<void> {
    const { standby } = run;
    if (standby === null) throw new Error('it is no standby');
    this.options.onBecomes?.('promoted');
    await standby.end();
    const { disk, random } = this;
    const { at, previous, timeline: last, parent } = standby.endOfReplay;
    const timeline = (disk.wal.newestTimeline(parent) + 1) as Timeline;
    await moment(run.process, random.next() * 10);
    const before = disk.wal.histories.get(parent) ?? '';
    disk.wal.histories.set(timeline, `${before}${parent}\t${formatLsn(at)}\tno recovery target specified\n`);
    await moment(run.process, random.next() * 10);
    disk.wal.branch(last, timeline, at);
    const { control } = disk;
    if (control === null || this.promotionHangs) return never();
    const writer = this.writerOf(run, { at, previous, timeline, system: control.system });
    run.buffers.forgetRunning();
    await writer.sync(writer.insert({ kind: 'endOfRecovery' }));
    disk.control = { ...disk.control!, timeline };
    await moment(run.process, random.next() * 5);
    run.primary = this.primaryOf(run, writer);
    run.standby = null;
    void run.primary.checkpoint();
  }

  // ---------------------------------------------------------------------------------------------- stopping and dying

  /** Resolves when nothing of it is left. */
  async stop(mode: StopMode): Promise<void> {
    const { run } = this;
    if (run === null) return;
    run.letsIn = false;
    const wait = new ProcessTime(this.time);
    if (mode === 'fast' && run.stillness === 'moving' && run.mainAlive) {
      const orderly = run.primary?.shutDown() ?? Promise.resolve();
      // Another stop may be less patient.
      const gone = new Promise<void>((resolve) => run.onGone.add(resolve));
      await Promise.race([orderly, gone, moment(wait, graceMs.fast)]);
    } else if (run.stillness !== 'moving') await moment(wait, graceMs[mode] + (mode === 'fast' ? 3_000 : 0));
    await moment(wait, this.latencyMs());
    if (this.run === run) this.die(null);
  }

  /** Everything of it is gone. `reason` null: that was asked for. `damage`: what a standby met that ended it. */
  die(reason: string | null, damage: string | null = null): void {
    const { run } = this;
    if (run === null) return;
    this.run = null;
    run.process.die();
    run.standby?.leave('PostgreSQL has ended');
    run.primary?.endStreams('PostgreSQL has ended');
    run.feed?.shut();
    for (const gone of run.onGone) gone();
    this.disk.crash(this.random);
    if (reason !== null) for (const listener of this.exitListeners) listener(reason, damage);
  }

  /** kill -9 of the main process: the others go on until they notice it. */
  killMain(): void {
    const { run } = this;
    if (run === null || !run.mainAlive) return;
    run.mainAlive = false;
    run.letsIn = false;
    run.primary?.orphan();
    this.time.after(6 + this.random.next() * 10, () => {
      if (this.run === run) this.die('PostgreSQL ended (SIGKILL)');
    });
  }

  /** kill -9 of a backend: the main process ends all others, and itself. */
  crashBackend(): void {
    const { run } = this;
    if (run === null || !run.mainAlive) return;
    this.endedWaits += 1;
    run.letsIn = false;
    run.primary?.orphan();
    this.time.after(6 + this.random.next() * 5, () => {
      if (this.run === run) this.die('PostgreSQL ended (exit code 1)');
    });
  }

  /** All its processes stand still: they were stopped by a signal, or hang. */
  stand(how: 'stopped' | 'hanging'): void {
    if (this.run === null) return;
    this.run.stillness = how;
    this.run.process.stop();
  }

  goOn(): void {
    if (this.run === null) return;
    this.run.stillness = 'moving';
    this.run.process.goOn();
  }

  /** The process that started it has died without a word: what watches over both stops PostgreSQL, a little later. */
  orphaned(): void {
    const { run } = this;
    if (run === null) return;
    run.feed?.shut();
    run.primary?.clientsGone();
    const delayMs = run.stillness === 'moving' ? 1 + this.random.next() * 30 : 5_000;
    this.time.after(delayMs, () => {
      if (this.run === run) this.die(null);
    });
  }
}

function moment(timers: Timers, ms: number): Promise<void> {
  return new Promise((resolve) => timers.after(ms, resolve));
}

function never(): Promise<never> {
  return new Promise(() => undefined);
}
