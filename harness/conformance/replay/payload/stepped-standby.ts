/**
 * A standby that takes what it is fed only when it is told to: its walreceiver keeps what has come until then.
 *
 * Responsible for: asking for the timeline that follows, one after another, for knowing what it was sent, and for reporting no more than came over this connection. What it takes of that, and replays, is the behaviour's to say.
 */
import type { Timers } from '../../../../server/src/ports/clock.ts';
import type { ModelDisk } from '../../../../server/src/payload/wal/testing/model-disk.ts';
import type { FedStandby, ModelFeed } from '../../../../server/src/payload/wal/testing/model-feed.ts';
import { timelineAlong } from '../../../../server/src/payload/wal/testing/model-replay.ts';
import type { TimelineStart } from '../../../../server/src/payload/wal/testing/wal-files.ts';
import { Wire } from '../../../../server/src/payload/wal/testing/wire.ts';
import { segmentStart, type Lsn, type Timeline } from '../../../../server/src/wal/lsn.ts';

/** What a standby has on its disk: where each unit of its WAL is, and of which timeline that is. */
export interface StandbyWal {
  readonly units: readonly { readonly timeline: Timeline; readonly from: Lsn; readonly end: Lsn }[];
  readonly replayed: Lsn;
}

/** More than any behaviour writes; all of it in one segment. */
const imageBytes = 512 * 1024;
const againMs = 5;
const latencyMs = (): number => 0.1;

export class SteppedStandby {
  private readonly feed: ModelFeed;
  private readonly disk: ModelDisk;
  private readonly timers: Timers;
  private readonly look: () => StandbyWal;
  private link: FedStandby | null = null;
  private isOver = false;
  /** Where it goes on when it is fed again. */
  private at: Lsn;
  /** What it was sent, from the beginning of its segment on; what came later stands in the place of what came before. */
  private readonly image = Buffer.alloc(imageBytes);
  private sentTo: Lsn;
  private newest = 0 as Timeline;
  /** Which timelines lead to the one that this connection is of; null: nothing was asked for yet. */
  private along: readonly TimelineStart[] | null = null;

  constructor(parts: {
    readonly feed: ModelFeed;
    readonly disk: ModelDisk;
    readonly timers: Timers;
    readonly at: Lsn;
    readonly look: () => StandbyWal;
  }) {
    this.feed = parts.feed;
    this.disk = parts.disk;
    this.timers = parts.timers;
    this.look = parts.look;
    this.at = parts.at;
    this.sentTo = parts.at;
    this.connect();
  }

  /** How far it was sent WAL of the newest timeline that it was told of; null: it takes none at the moment. */
  get sent(): { readonly to: Lsn; readonly timeline: Timeline } | null {
    return this.link === null ? null : { to: this.sentTo, timeline: this.newest };
  }

  /** What it was sent there. @throws Error if it was not sent all of that */
  received(from: Lsn, to: Lsn): Buffer {
    if (to > this.sentTo) throw new Error('the standby was not sent what it may be sent');
    const start = segmentStart(from);
    return Buffer.from(this.image.subarray(from - start, to - start));
  }

  /**
   * As a walreceiver: it begins each connection with what is replayed, and goes on with what comes over it. What it has of another timeline, or beyond what has come, it does not tell.
   */
  report(): void {
    if (this.link === null) return;
    const { units, replayed } = this.look();
    const came = Math.max(this.at, this.sentTo);
    let flushed = replayed;
    const { along } = this;
    for (const { timeline, from, end } of units) {
      if (along === null || end > came || timelineAlong(along, from) !== timeline) break;
      if (end > flushed) flushed = end;
    }
    this.feed.report(this.link, { written: flushed, flushed, replayed });
  }

  /** Its PostgreSQL is no standby any more. */
  end(): void {
    this.isOver = true;
    if (this.link !== null) this.feed.left(this.link, 'the standby has ended');
    this.link = null;
  }

  private connect(): void {
    const has = new Set(this.disk.wal.histories.keys());
    const mine = (work: () => void): void => {
      if (this.link === link && !this.isOver) work();
    };
    const again = (): void => {
      mine(() => {
        this.link = null;
        this.timers.after(againMs, () => {
          if (!this.isOver) this.connect();
        });
      });
    };
    const link: FedStandby = {
      refused: again,
      identified: (newest, histories) => mine(() => this.identified(newest, histories)),
      wal: (at, bytes) => mine(() => this.take(at, bytes)),
      asked: () => undefined,
      timelineEnded: () =>
        mine(() => {
          this.at = this.sentTo;
          again();
        }),
      closed: again,
    };
    this.link = link;
    this.along = null;
    this.feed.connect(link, new Wire(this.timers, latencyMs), has);
  }

  private identified(newest: Timeline, histories: ReadonlyMap<Timeline, string>): void {
    const { wal } = this.disk;
    for (const [timeline, text] of histories) wal.histories.set(timeline, text);
    this.newest = newest;
    this.sentTo = segmentStart(this.at);
    const timeline = timelineAlong(wal.historyOf(newest), this.at);
    this.along = wal.historyOf(timeline);
    this.feed.start(this.link!, this.sentTo, timeline);
  }

  private take(at: Lsn, bytes: Buffer): void {
    if (at !== this.sentTo)
      throw new Error(`WAL was sent at ${at}, and the last of it ended at ${this.sentTo}`);
    bytes.copy(this.image, at - segmentStart(at));
    this.sentTo = (at + bytes.length) as Lsn;
    this.feed.taken(this.link!, bytes.length);
    this.report();
  }
}
