/**
 * A PostgreSQL that does what it is told, when it is told: the actions of OrderedApply that are PostgreSQL's, over the disk of its model and with WAL of its form.
 *
 * Responsible for: the port DatabaseServer. A start, a promotion, the sending of WAL and the end of a wait come when the behaviour has them; whatever the payload asks for waits until then.
 * Invariant: what the payload asks of it is what the behaviour says, or that is an error.
 */
import type {
  DatabaseServer,
  FeedSource,
  PrimaryDatabase,
  Promotion,
  StandbyDatabase,
  StandbyHandlers,
  TransactionStatus,
  WalStream,
  WalStreamHandlers,
} from '../../../../server/src/ports/database-server.ts';
import type { Timers } from '../../../../server/src/ports/clock.ts';
import { ModelDisk } from '../../../../server/src/payload/wal/testing/model-disk.ts';
import { ModelFeed } from '../../../../server/src/payload/wal/testing/model-feed.ts';
import type { Lsn, Timeline } from '../../../../server/src/wal/lsn.ts';
import { wholeEnd, type WalUnit } from './payload-state.ts';
import { SteppedStandby, type StandbyWal } from './stepped-standby.ts';
import { xidsBefore, type WalBook } from './wal-book.ts';

/** What the payload waits for. */
type Start =
  | {
      readonly kind: 'standby';
      readonly source: FeedSource;
      readonly handlers: StandbyHandlers;
      readonly resolve: (standby: StandbyDatabase) => void;
      readonly reject: (error: Error) => void;
    }
  | {
      readonly kind: 'primary';
      readonly resolve: (primary: PrimaryDatabase) => void;
      readonly reject: (error: Error) => void;
    };

interface AskedPromotion {
  readonly promotion: Promotion;
  readonly resolve: (primary: PrimaryDatabase) => void;
  readonly reject: (error: Error) => void;
}

interface Stream {
  readonly handlers: WalStreamHandlers;
  sentTo: Lsn;
  isOpen: boolean;
}

class LaunchFailure extends Error {
  readonly code = 'launchFailed';
}

export class SteppedPostgres {
  readonly disk = new ModelDisk();
  mode: 'down' | 'standby' | 'primary' = 'down';
  wal: readonly WalUnit[] = [];
  flushed = 0;
  applied = 0;
  standby: SteppedStandby | null = null;
  feed: ModelFeed | null = null;
  /** Everything below is said to be chosen. */
  reportedTo = 0 as Lsn;
  endedWaits = 0;
  /** Of a primary: all that anybody may see ends here. */
  private visible = 0;
  private timeline = 1 as Timeline;
  private asked: Start | null = null;
  private promotion: AskedPromotion | null = null;
  private stream: Stream | null = null;
  private listeners = new Set<(reason: string, damage: string | null) => void>();
  /** How much is left of its WAL when it is stopped. */
  private survives: number | null = null;
  private readonly book: WalBook;

  constructor(book: WalBook) {
    this.book = book;
  }

  /** What the payload asked to have started. */
  get starting(): Start['kind'] | null {
    return this.asked?.kind ?? null;
  }

  get isPromotionAsked(): boolean {
    return this.promotion !== null;
  }

  lsn(count: number): Lsn {
    return this.book.lsn(this.wal, count);
  }

  /** Nothing of another process' is waited for any more. */
  forget(): void {
    this.asked = null;
    this.promotion = null;
    this.stream = null;
    this.listeners = new Set();
    this.standby?.end();
    this.standby = null;
    this.feed = null;
  }

  // ------------------------------------------------------------------------------------------- actions

  startStandby(applied: number, timers: Timers): void {
    const asked = this.asked;
    if (asked?.kind !== 'standby') throw new Error('the payload does not start a standby');
    this.asked = null;
    this.mode = 'standby';
    this.disk.wal.syncAll();
    this.flushed = this.wal.length;
    this.applied = applied;
    const feed = new ModelFeed(asked.source, asked.handlers);
    this.feed = feed;
    const at = this.lsn(wholeEnd(this.wal));
    this.standby = new SteppedStandby({ feed, disk: this.disk, timers, at, look: () => this.standbyWal() });
    asked.resolve({
      more: () => feed.more(),
      ask: () => this.standby?.report(),
      get streaming() {
        return feed.streaming;
      },
      shut: () => feed.shut(),
      open: () => feed.open(),
      answer: () => Promise.resolve({ isPaused: false, resumed: false }),
      look: () =>
        this.whileUp(() => ({ nextXid: this.nextXid(this.applied), replayed: this.lsn(this.applied) })),
      promote: (promotion) =>
        new Promise((resolve, reject) => {
          feed.shut();
          this.promotion = { promotion, resolve, reject };
        }),
    });
  }

  /** With these units at last: half a record at the end of what was there is given up. */
  startPrimary(wal: readonly WalUnit[]): void {
    const asked = this.asked;
    if (asked?.kind !== 'primary') throw new Error('the payload does not start a primary');
    this.asked = null;
    const { timeline } = this.disk.control!;
    this.disk.wal.truncate(timeline, this.lsn(this.wal.length));
    if (wal.length > this.wal.length) this.append(wal);
    this.wal = wal;
    this.disk.wal.syncAll();
    this.bePrimary(timeline, wal.length);
    asked.resolve(this.primary());
  }

  failStart(): void {
    const asked = this.asked;
    if (asked === null) throw new Error('the payload does not start anything');
    this.asked = null;
    asked.reject(new LaunchFailure('PostgreSQL did not start'));
  }

  promote(timeline: number, fork: number): void {
    const asked = this.promotion;
    if (asked === null) throw new Error('the payload does not promote its standby');
    this.promotion = null;
    const { promotion } = asked;
    const at = this.lsn(fork);
    if (promotion.timeline !== timeline || promotion.fork !== at)
      throw new Error(
        `it is promoted to timeline ${promotion.timeline} at ${promotion.fork}, not to ${timeline} at ${at}`,
      );
    const { wal, histories } = { wal: this.disk.wal, histories: this.disk.wal.histories };
    for (let number = timeline; number > 1; number--)
      histories.set(number as Timeline, promotion.history(number as Timeline));
    this.wal = this.wal.slice(0, fork);
    wal.branch((this.wal.at(-1)?.timeline ?? 1) as Timeline, timeline as Timeline, at);
    wal.truncate(timeline as Timeline, at);
    this.disk.control = { ...this.disk.control!, timeline: timeline as Timeline };
    this.standby?.end();
    this.standby = null;
    this.feed = null;
    this.bePrimary(timeline as Timeline, fork);
    asked.resolve(this.primary());
  }

  private bePrimary(timeline: Timeline, visible: number): void {
    this.mode = 'primary';
    this.timeline = timeline;
    this.flushed = this.wal.length;
    this.applied = this.wal.length;
    this.visible = visible;
    this.reportedTo = 0 as Lsn;
  }

  /** What a primary writes: one record. */
  append(wal: readonly WalUnit[]): void {
    const from = this.wal.length;
    const bytes = this.book.write(wal, from);
    this.disk.wal.write(this.disk.control!.timeline, this.lsn(from), bytes);
    this.wal = wal;
    this.applied = wal.length;
  }

  flush(count: number): void {
    this.disk.wal.sync(this.timeline, this.lsn(count));
    this.flushed = count;
  }

  /** What is flushed leaves for the payload. */
  send(): void {
    const { stream } = this;
    if (stream === null || !stream.isOpen) throw new Error('nobody listens to the WAL of the primary');
    const to = this.lsn(this.flushed);
    const pieces = [this.disk.wal.read(stream.sentTo, this.timeline, to - stream.sentTo)];
    const start = stream.sentTo;
    stream.sentTo = to;
    stream.handlers.onHeard();
    stream.handlers.onWal(start, pieces);
  }

  /** A commit does not wait any more, though it is not chosen. */
  endWait(): void {
    this.endedWaits += 1;
    this.visible = this.wal.length;
  }

  /** A standby takes what it is sent, so that it has these units, and replays some of them. */
  replay(wal: readonly WalUnit[], applied: number): void {
    const { standby, disk } = this;
    if (standby === null) throw new Error('there is no standby');
    let same = 0;
    while (same < Math.min(wal.length, this.wal.length) && wal[same]!.timeline === this.wal[same]!.timeline)
      same++;
    for (let n = same + 1; n <= wal.length; n++) {
      const timeline = wal[n - 1]!.timeline as Timeline;
      const [from, to] = [this.book.lsn(wal, n - 1), this.book.lsn(wal, n)];
      const bytes = standby.received(from, to);
      if (!bytes.equals(this.book.bytes(wal, n - 1, n)))
        throw new Error(`other bytes were sent at ${from} than were chosen`);
      const before = (wal[n - 2]?.timeline ?? 1) as Timeline;
      if (before !== timeline) disk.wal.branch(before, timeline, from);
      disk.wal.write(timeline, from, bytes);
      disk.wal.truncate(timeline, to);
    }
    this.wal = wal;
    this.flushed = wal.length;
    this.applied = applied;
    const reached = wal[applied - 1]?.timeline ?? 1;
    if (reached > disk.control!.timeline) disk.control = { ...disk.control!, timeline: reached as Timeline };
    standby.report();
  }

  private standbyWal(): StandbyWal {
    const units = this.wal.slice(0, this.flushed).map(({ timeline }, index) => ({
      timeline: timeline as Timeline,
      from: this.lsn(index),
      end: this.lsn(index + 1),
    }));
    return { units, replayed: this.lsn(this.applied) };
  }

  /** It dies. Of its WAL the first `left` units are there afterwards. */
  die(left: number): void {
    this.survives = left;
    this.down('PostgreSQL has died');
    for (const listener of this.listeners) listener('PostgreSQL has died', null);
  }

  /** How much of its WAL is left when it is stopped the next time. */
  willLeave(left: number): void {
    this.survives = left;
  }

  private down(reason: string): void {
    const left = this.survives ?? this.flushed;
    this.survives = null;
    if (left < this.wal.length) this.disk.wal.lose(this.lsn(left));
    this.wal = this.wal.slice(0, left);
    this.applied = Math.min(this.applied, left);
    this.mode = 'down';
    this.standby?.end();
    this.standby = null;
    this.feed = null;
    this.promotion?.reject(new Error(reason));
    this.promotion = null;
    if (this.stream?.isOpen === true) this.stream.isOpen = false;
    this.stream = null;
  }

  /** The machine fails while it does not run: what was never made durable may go. */
  lose(left: number): void {
    this.survives = left;
    this.down('the machine failed');
  }

  /** Another's takes its place. */
  replaceBy(other: SteppedPostgres, count: number): void {
    other.disk.copyTo(this.disk);
    this.wal = other.wal.slice(0, count);
    this.disk.wal.syncAll();
    this.disk.wal.truncate((this.wal.at(-1)?.timeline ?? 1) as Timeline, this.lsn(count));
    const reached = Math.max(1, ...this.wal.map(({ timeline }) => timeline)) as Timeline;
    this.disk.control = { ...this.disk.control!, timeline: reached };
    this.flushed = count;
    this.applied = wholeEnd(this.wal);
  }

  /** After a judgement that all of it is chosen: what is no whole record is left to be overwritten. */
  keepWhole(wal: readonly WalUnit[], flushed: number): void {
    this.wal = wal;
    this.flushed = flushed;
    this.applied = wal.length;
  }

  empty(): void {
    this.disk.removeData();
    this.wal = [];
    this.flushed = 0;
    this.applied = 0;
  }

  // ------------------------------------------------------------------------------------------- what it is asked

  private nextXid(count: number): bigint {
    return BigInt(xidsBefore + 1 + Math.max(0, ...this.wal.slice(0, count).map(({ xid }) => xid)));
  }

  statusOf(xid: bigint): TransactionStatus {
    if (this.mode === 'down') throw new Error('PostgreSQL is down');
    const done = this.wal
      .slice(0, this.applied)
      .some((unit) => unit.whole && unit.xid + xidsBefore === Number(xid));
    if (done) return 'committed';
    return xid < this.nextXid(this.applied) ? 'aborted' : 'unknown';
  }

  private whileUp<T>(work: () => T): Promise<T> {
    return this.mode === 'down' ? Promise.reject(new Error('PostgreSQL is down')) : Promise.resolve(work());
  }

  private primary(): PrimaryDatabase {
    return {
      timeline: this.timeline,
      system: this.disk.control!.system,
      nextXid: () => this.whileUp(() => this.nextXid(this.applied)),
      flushed: () => this.whileUp(() => this.lsn(this.flushed)),
      openStream: (from, handlers) => this.whileUp(() => this.open(from, handlers)),
      barrier: () => this.whileUp(() => this.lsn(this.visible)),
      openTransactions: () => Promise.resolve(new Map()),
      cancel: () => Promise.resolve('done'),
      answer: () => Promise.resolve({ isPaused: false, resumed: false }),
      committing: () => Promise.resolve(0),
    };
  }

  private open(from: Lsn, handlers: WalStreamHandlers): WalStream {
    const stream: Stream = { handlers, sentTo: from, isOpen: true };
    this.stream = stream;
    return {
      report: (position) => {
        if (stream.isOpen) this.reportedTo = position;
      },
      ping: () => handlers.onHeard(),
      pause: () => undefined,
      resume: () => undefined,
      close: () => {
        stream.isOpen = false;
      },
    };
  }

  server(): DatabaseServer {
    const asks = (start: Start, ended: AbortSignal): void => {
      if (this.mode !== 'down') throw new Error('PostgreSQL runs already');
      this.asked = start;
      ended.addEventListener('abort', () => {
        if (this.asked === start) this.asked = null;
        start.reject(ended.reason instanceof Error ? ended.reason : new Error('a start was given up'));
      });
    };
    return {
      startStandby: (source, handlers, ended) =>
        new Promise((resolve, reject) => asks({ kind: 'standby', source, handlers, resolve, reject }, ended)),
      startPrimary: (ended) =>
        new Promise((resolve, reject) => asks({ kind: 'primary', resolve, reject }, ended)),
      stop: async () => {
        if (this.mode !== 'down' || this.survives !== null) this.down('PostgreSQL is stopped');
      },
      onExit: (listener) => {
        this.listeners.add(listener);
        return () => void this.listeners.delete(listener);
      },
      isAlive: () => this.mode !== 'down',
      endedWaits: () => this.endedWaits,
      isMoving: () => true,
      readerComes: () => undefined,
      workMark: () => Promise.resolve(null),
      statusOf: (xid) => this.whileUp(() => this.statusOf(xid)),
      snapshot: () => Promise.reject(new Error('not asked here')),
      shownAmong: () => Promise.reject(new Error('not asked here')),
      committedRequest: () => Promise.resolve(null),
      lookAtFiles: () => Promise.resolve({ code: 'unknown' }),
      mayActElsewhere: () => Promise.resolve(false),
      lookAtFunctions: () => Promise.reject(new Error('not asked here')),
      checkup: () => Promise.reject(new Error('not asked here')),
      info: () => ({ pid: 1, socketDir: '', port: 0, version: null }),
    };
  }
}
