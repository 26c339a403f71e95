/**
 * A modelled PostgreSQL that is a standby: replays what its directory has, then what its feed sends, from one timeline to the next, until it is promoted.
 *
 * Responsible for: what PostgreSQL's startup process and its walreceiver do, as far as it shows: they begin at the start of a segment, replay whole records that are synced, follow a timeline to the one that leaves it, and take the
 * number after the newest history file when promoted.
 */
import type { Timers } from '../../../ports/clock.ts';
import type { Random } from '../../../ports/testing/random.ts';
import { formatLsn, segmentStart, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import type { ModelBuffers } from './model-buffers.ts';
import type { ModelDisk } from './model-disk.ts';
import type { FedStandby, ModelFeed } from './model-feed.ts';
import type { CheckpointFacts } from './model-records.ts';
import { ModelReplay, readAlong, timelineAlong } from './model-replay.ts';
import { type Retention, walFrom } from './model-vacuum.ts';
import type { TimelineStart } from './wal-files.ts';
import { Wire } from './wire.ts';

export interface StandbyOptions {
  readonly disk: ModelDisk;
  readonly buffers: ModelBuffers;
  readonly feed: ModelFeed;
  /** Time of PostgreSQL's processes, and of the replica's. */
  readonly timers: Timers;
  readonly there: Timers;
  readonly random: Random;
  readonly latencyMs: () => number;
  /** How long it takes to replay what one message has brought. */
  readonly workMs: () => number;
  /** How long it takes to write that durably. */
  readonly flushMs: () => number;
  /** Null: all WAL. */
  readonly keeps: Retention | null;
  /** Something that must not be. */
  readonly onTrouble: (what: string) => void;
}

const retryMs = 100;
const backgroundMs = 30;
const localBytes = 64 * 1024;

export class ModelStandby {
  readonly buffers: ModelBuffers;
  private readonly options: StandbyOptions;
  private readonly toFeed: Wire;
  private readonly toDisk: Wire;
  private readonly stopWorking: () => void;
  /** What is heard over an earlier connection counts for nothing. */
  private link: FedStandby | null = null;
  /** Below this its pages make no sense yet. */
  private readonly mustReach: Lsn;
  private target: Timeline;
  private history: readonly TimelineStart[];
  private replay: ModelReplay;
  /** Synced, and not replayed yet. */
  private unreplayed: { readonly at: Lsn; readonly bytes: Buffer }[] = [];
  private synced: Lsn;
  private timeline: Timeline;
  /** Messages that are not synced yet. */
  private writing = 0;
  /** What the directory has is replayed. */
  private isThrough = false;
  private replaying = false;
  /** By `pg_wal_replay_pause`. */
  isPaused = false;
  private promoting: (() => void) | null = null;
  private readonly readyAtMs: number;

  /** @throws Error if the directory's timelines lead elsewhere than what is in it */
  constructor(options: StandbyOptions) {
    const { disk, buffers, timers, there, random, latencyMs, flushMs } = options;
    const { control, wal } = disk;
    if (control === null) throw new Error('there is no control file');
    this.options = options;
    this.buffers = buffers;
    this.toFeed = new Wire(there, latencyMs);
    this.toDisk = new Wire(timers, flushMs);
    this.target = wal.newestTimeline(control.timeline);
    this.history = wal.historyOf(this.target);
    this.timeline = control.redoTimeline;
    this.mustReach = control.mustReach;
    assertLeadsTo(this.history, control.redo.redo, control.redoTimeline);
    // Pages of another timeline than that of this history may be on the disk.
    const last = timelineAlong(this.history, Math.max(0, control.mustReach - 1) as Lsn);
    if (last > control.timeline)
      throw new Error(`timeline ${this.target} does not contain ${formatLsn(control.mustReach)}`);
    this.replay = this.replayFrom(control.redo.redo);
    this.synced = control.redo.redo;
    this.readyAtMs = timers.nowMs() + random.below(40);
    this.stopWorking = timers.every(backgroundMs, () => this.writeSome());
    timers.after(latencyMs(), () => this.replayLocal());
  }

  private replayFrom(start: Lsn): ModelReplay {
    return new ModelReplay(this.buffers, start, (facts) => this.restartPoint(facts));
  }

  get replayed(): Lsn {
    return this.replay.replayed;
  }

  get isReady(): boolean {
    return this.replayed >= this.mustReach && this.options.timers.nowMs() >= this.readyAtMs;
  }

  // ------------------------------------------------------------------------------------------- what is there already

  private replayLocal(): void {
    const { disk, timers, workMs } = this.options;
    const bytes = readAlong(disk.wal, this.history, this.replay.next, localBytes);
    const fault = bytes.length === 0 ? 'end' : this.replay.add(bytes);
    if (fault === null) {
      timers.after(workMs() / 4, () => this.replayLocal());
      return;
    }
    this.isThrough = true;
    this.synced = this.replayed;
    this.beginAgain();
    this.connect();
    this.goOn();
  }

  /** What follows on the last whole record is read again. */
  private beginAgain(): void {
    const { previous, replayed } = this.replay;
    this.replay = this.replayFrom(replayed);
    this.replay.previous = previous;
  }

  // --------------------------------------------------------------------------------------------------- what is sent

  private connect(): void {
    if (this.promoting !== null) return;
    const { disk, timers, latencyMs, feed } = this.options;
    const has = new Set(disk.wal.histories.keys());
    const toStandby = new Wire(timers, latencyMs);
    const link = this.makeLink();
    this.link = link;
    this.toFeed.say(() => feed.connect(link, toStandby, has));
  }

  private makeLink(): FedStandby {
    const ifCurrent = (work: () => void): void => {
      if (this.link === link && this.promoting === null) work();
    };
    const link: FedStandby = {
      refused: () => ifCurrent(() => this.lost()),
      identified: (_newest, histories) => ifCurrent(() => this.identified(histories, link)),
      wal: (at, bytes) => ifCurrent(() => this.take(at, bytes, link)),
      asked: () => ifCurrent(() => this.report()),
      timelineEnded: () => ifCurrent(() => this.again()),
      closed: () => ifCurrent(() => this.lost()),
    };
    return link;
  }

  private identified(histories: ReadonlyMap<Timeline, string>, link: FedStandby): void {
    for (const [timeline, text] of histories) this.options.disk.wal.histories.set(timeline, text);
    const { feed } = this.options;
    const timeline = timelineAlong(this.history, this.replayed);
    const from = segmentStart(this.replayed);
    this.timeline = timeline;
    this.toFeed.say(() => feed.start(link, from, timeline));
    this.report();
  }

  private take(at: Lsn, bytes: Buffer, link: FedStandby): void {
    const { disk, feed } = this.options;
    this.assertSame(at, bytes);
    disk.wal.write(this.timeline, at, bytes);
    this.writing += 1;
    this.toDisk.say(() => {
      this.writing -= 1;
      if (this.promoting !== null) return;
      const end = (at + bytes.length) as Lsn;
      disk.wal.sync(this.timeline, end);
      this.toFeed.say(() => feed.taken(link, bytes.length));
      if (end > this.synced) this.synced = end;
      this.unreplayed.push({ at, bytes });
      this.report();
      this.goOn();
    });
  }

  /** What was replayed cannot be another now. */
  private assertSame(at: Lsn, bytes: Buffer): void {
    const known = Math.min(bytes.length, this.replayed - at);
    if (known <= 0) return;
    const before = readAlong(this.options.disk.wal, this.history, at, known);
    if (before.equals(bytes.subarray(0, before.length))) return;
    this.options.onTrouble(`other WAL than was replayed was sent at ${formatLsn(at)}`);
  }

  private goOn(): void {
    if (this.replaying || !this.isThrough || (this.isPaused && this.promoting === null)) return;
    const message = this.unreplayed.shift();
    if (message === undefined) {
      this.promoting?.();
      return;
    }
    this.replaying = true;
    this.options.timers.after(this.options.workMs(), () => {
      this.replaying = false;
      this.replayMessage(message.at, message.bytes);
      this.goOn();
    });
  }

  resume(): void {
    this.isPaused = false;
    this.goOn();
  }

  private replayMessage(at: Lsn, bytes: Buffer): void {
    const skipped = this.replay.next - at;
    if (skipped >= bytes.length) return;
    const { onTrouble } = this.options;
    if (skipped < 0) {
      onTrouble(`WAL is missing at ${formatLsn(this.replay.next)}`);
      return;
    }
    const fault = this.replay.add(bytes.subarray(skipped));
    if (fault !== null)
      onTrouble(`the WAL that was sent cannot be replayed: ${fault.text} at ${formatLsn(fault.at)}`);
    else if (!this.replay.isAtCut) onTrouble(`WAL was cut within a record at ${formatLsn(this.replay.next)}`);
  }

  private report(): void {
    const { feed } = this.options;
    const { link } = this;
    if (link === null) return;
    const flushed = Math.max(this.synced, this.replayed) as Lsn;
    const report = { written: flushed, flushed, replayed: this.replayed };
    this.toFeed.say(() => feed.report(link, report));
  }

  private lost(): void {
    this.link = null;
    this.options.timers.after(retryMs, () => this.again());
  }

  /** What has come is replayed before more is asked for. */
  private again(): void {
    this.link = null;
    const { timers } = this.options;
    if (this.replaying || this.writing > 0 || this.unreplayed.length > 0)
      timers.after(retryMs / 10, () => this.again());
    else {
      this.followTimeline();
      this.beginAgain();
      this.connect();
    }
  }

  /** The newest timeline that is known, if it leaves the present one at or above what is replayed. */
  private followTimeline(): void {
    const { wal } = this.options.disk;
    const newest = wal.newestTimeline(this.target);
    if (newest === this.target) return;
    const history = wal.historyOf(newest);
    if (
      timelineAlong(history, (this.replayed - 1) as Lsn) !==
      timelineAlong(this.history, (this.replayed - 1) as Lsn)
    ) {
      this.options.onTrouble(
        `timeline ${newest} leaves the history of this standby below ${formatLsn(this.replayed)}`,
      );
      return;
    }
    this.target = newest;
    this.history = history;
  }

  // ------------------------------------------------------------------------------------------------ what is kept

  private writeSome(): void {
    const { disk, random, buffers } = this.options;
    if (!random.chance(0.3) || disk.control === null) return;
    buffers.writeSome(random, this.replayed);
    disk.control = { ...disk.control, timeline: this.timelineReplayed };
  }

  private get timelineReplayed(): Timeline {
    const replayed = timelineAlong(this.history, (this.replayed - 1) as Lsn);
    return Math.max(replayed, this.options.disk.control?.timeline ?? 0) as Timeline;
  }

  private restartPoint(facts: CheckpointFacts): void {
    const { disk, random, buffers, keeps } = this.options;
    if (disk.control === null || !random.chance(0.7)) return;
    const settled = buffers.capture()();
    const redoTimeline = timelineAlong(this.history, facts.redo);
    const { timelineReplayed: timeline } = this;
    disk.checkpointed({ ...disk.control, redo: facts, redoTimeline, timeline, settled });
    if (keeps !== null) disk.wal.removeBelow(walFrom(facts.redo, keeps));
  }

  /** Resolves when all that is here is replayed, and nothing more is taken. */
  async end(): Promise<void> {
    this.leave('the standby takes no more');
    await new Promise<void>((resolve) => {
      this.promoting = resolve;
      this.options.timers.soon(() => this.goOn());
    });
    this.stopWorking();
  }

  /** Where a promotion goes on. `parent`: the timeline that is left; `timeline`: that of the last record. */
  get endOfReplay(): EndOfReplay {
    const { replayed: at, target: parent } = this;
    const timeline = timelineAlong(this.history, (at - 1) as Lsn);
    return { at, previous: this.replay.previous, timeline, parent };
  }

  leave(reason: string): void {
    const { feed } = this.options;
    const { link } = this;
    if (link !== null) this.toFeed.say(() => feed.left(link, reason));
  }
}

export interface EndOfReplay {
  readonly at: Lsn;
  readonly previous: Lsn;
  readonly timeline: Timeline;
  readonly parent: Timeline;
}

function assertLeadsTo(history: readonly TimelineStart[], lsn: Lsn, timeline: Timeline): void {
  if (timelineAlong(history, lsn) === timeline) return;
  throw new Error(
    `timeline ${history.at(-1)!.timeline} does not contain ${formatLsn(lsn)} of timeline ${timeline}`,
  );
}
