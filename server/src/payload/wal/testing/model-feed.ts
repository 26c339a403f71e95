/**
 * The replica's end of the feed of a modelled standby: what the adapter's feed does (adapters/postgres/replication), without its messages.
 *
 * Invariants: what is sent is consecutive and of one timeline up to its end; one standby is fed at a time; what is under way is bounded; reports are of the chain that was sent.
 */
import type { FeedSource, StandbyHandlers, StandbyReport } from '../../../ports/database-server.ts';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import { endOfTimeline } from '../../../wal/position.ts';
import type { Wire } from './wire.ts';

/** What a standby hears. Called in its own time. */
export interface FedStandby {
  readonly refused: () => void;
  /** The newest timeline, and the history files that the standby lacks. */
  readonly identified: (timeline: Timeline, histories: ReadonlyMap<Timeline, string>) => void;
  readonly wal: (at: Lsn, bytes: Buffer) => void;
  readonly asked: () => void;
  readonly timelineEnded: () => void;
  readonly closed: () => void;
}

interface Connection {
  readonly standby: FedStandby;
  readonly toStandby: Wire;
  timeline: Timeline;
  next: Lsn;
  state: 'idle' | 'streaming' | 'closed';
  underWayBytes: number;
}

const readBytesMax = 128 * 1024;
const underWayBytesMax = 1024 * 1024;

export class ModelFeed {
  private readonly source: FeedSource;
  private readonly handlers: StandbyHandlers;
  private connection: Connection | null = null;
  private letsIn = true;
  private pumping = false;

  constructor(source: FeedSource, handlers: StandbyHandlers) {
    this.source = source;
    this.handlers = handlers;
  }

  get streaming(): boolean {
    return this.connection?.state === 'streaming';
  }

  // ------------------------------------------------------------------------------------------ what the standby asks

  /** `has`: the timelines whose history files it has. */
  connect(standby: FedStandby, toStandby: Wire, has: ReadonlySet<Timeline>): void {
    if (!this.letsIn) {
      toStandby.say(standby.refused);
      return;
    }
    this.end('the standby has connected again');
    const [timeline, next] = [0 as Timeline, 0 as Lsn];
    this.connection = { standby, toStandby, timeline, next, state: 'idle', underWayBytes: 0 };
    const newest = this.source.position().timeline;
    const histories = new Map<Timeline, string>();
    for (let number = 2 as Timeline; number <= newest; number = (number + 1) as Timeline) {
      if (!has.has(number)) histories.set(number, this.source.history(number));
    }
    toStandby.say(() => standby.identified(newest, histories));
  }

  start(standby: FedStandby, from: Lsn, timeline: Timeline): void {
    const connection = this.of(standby);
    if (connection === null) return;
    Object.assign(connection, { timeline, next: from, state: 'streaming' });
    try {
      if (!this.endIfOver(connection)) this.handlers.onStreaming(from, timeline);
    } catch (error) {
      this.end(error instanceof Error ? error.message : String(error));
    }
    void this.pump();
  }

  report(standby: FedStandby, { written, flushed, replayed }: StandbyReport): void {
    const connection = this.of(standby);
    if (connection === null) return;
    const end = endOfTimeline(this.source.position(), connection.timeline) ?? connection.next;
    const most = Math.min(connection.next, end);
    const bounded = (lsn: Lsn): Lsn => Math.min(lsn, most) as Lsn;
    this.handlers.onReport({
      written: bounded(written),
      flushed: bounded(flushed),
      replayed: bounded(replayed),
    });
  }

  taken(standby: FedStandby, bytes: number): void {
    const connection = this.of(standby);
    if (connection === null) return;
    connection.underWayBytes -= bytes;
    void this.pump();
  }

  /** The standby has gone. */
  left(standby: FedStandby, reason: string): void {
    if (this.of(standby) !== null) this.end(reason);
  }

  private of(standby: FedStandby): Connection | null {
    return this.connection?.standby === standby ? this.connection : null;
  }

  // -------------------------------------------------------------------------------------------- what the replica asks

  more(): void {
    void this.pump();
  }

  ask(): void {
    const { connection } = this;
    if (connection?.state !== 'streaming') return;
    void this.pump().then(() => {
      if (connection.state === 'streaming') connection.toStandby.say(connection.standby.asked);
    });
  }

  shut(): void {
    this.letsIn = false;
    this.end('the feed is shut');
  }

  open(): void {
    this.letsIn = true;
  }

  private async pump(): Promise<void> {
    if (this.pumping) return;
    this.pumping = true;
    try {
      for (;;) {
        const { connection } = this;
        if (connection?.state !== 'streaming' || connection.underWayBytes >= underWayBytesMax) break;
        if (this.endIfOver(connection)) break;
        const found = this.source.read(connection.next, readBytesMax);
        const pieces = found instanceof Promise ? await found : found;
        if (pieces === null) break;
        if (connection.state === 'streaming') this.send(connection, pieces);
      }
    } catch (error) {
      this.end(error instanceof Error ? error.message : String(error));
    } finally {
      this.pumping = false;
    }
  }

  /** @throws Error if the timeline is not of the history that is known */
  private endIfOver(connection: Connection): boolean {
    const end = endOfTimeline(this.source.position(), connection.timeline);
    if (end === undefined) throw new Error(`timeline ${connection.timeline} is not of this history`);
    if (end === null || connection.next < end) return false;
    connection.state = 'idle';
    connection.toStandby.say(connection.standby.timelineEnded);
    return true;
  }

  /** Small pieces become one message. */
  private send(connection: Connection, pieces: readonly Buffer[]): void {
    const end = endOfTimeline(this.source.position(), connection.timeline) ?? Number.MAX_SAFE_INTEGER;
    const bytes = Buffer.concat(pieces).subarray(0, end - connection.next);
    const at = connection.next;
    connection.next = (at + bytes.length) as Lsn;
    connection.underWayBytes += bytes.length;
    connection.toStandby.say(() => connection.standby.wal(at, bytes));
  }

  private end(reason: string): void {
    const { connection } = this;
    if (connection === null) return;
    this.connection = null;
    connection.state = 'closed';
    connection.toStandby.say(connection.standby.closed);
    this.handlers.onStreamEnded(reason);
  }
}
