/**
 * The directory pg_wal of the model of PostgreSQL: segments of timelines, their history files, and how much of it a crash cannot take.
 *
 * Invariants: what was synced is never lost; a crash leaves what was written up to some byte, and nothing behind it.
 */
import {
  parseLsn,
  segmentBytes,
  segmentName,
  segmentStart,
  type Lsn,
  type Timeline,
} from '../../../wal/lsn.ts';

/** A file from its beginning to the last byte that was written. */
interface Segment {
  bytes: Buffer;
  length: number;
}

/** Where a timeline begins, in the history that leads to it. */
export interface TimelineStart {
  readonly timeline: Timeline;
  readonly at: Lsn;
}

export class WalFiles {
  private readonly segments = new Map<string, Segment>();
  /** Contents of the history files. */
  readonly histories = new Map<Timeline, string>();
  /** Everything of other timelines is synced. */
  private writing = { timeline: 0 as Timeline, syncedTo: 0 as Lsn, writtenTo: 0 as Lsn };

  /** Of all files. */
  get bytes(): number {
    return [...this.segments.values()].reduce((sum, { length }) => sum + length, 0);
  }

  /** Bytes of a timeline, from `at` on. What was there is overwritten, what is behind it stays. */
  write(timeline: Timeline, at: Lsn, bytes: Uint8Array): void {
    if (timeline !== this.writing.timeline) {
      // What is written once more was synced before another timeline was written.
      const syncedTo = Math.max(at, this.endOf(timeline)) as Lsn;
      this.writing = { timeline, syncedTo, writtenTo: syncedTo };
    }
    for (let done = 0; done < bytes.length; ) {
      const position = (at + done) as Lsn;
      const offset = position % segmentBytes;
      const part = bytes.subarray(done, done + segmentBytes - offset);
      put(this.segment(timeline, position), offset, part);
      done += part.length;
    }
    this.writing.writtenTo = Math.max(this.writing.writtenTo, at + bytes.length) as Lsn;
  }

  /** Of its last segment. 0: there is none. */
  private endOf(timeline: Timeline): number {
    const prefix = segmentName(timeline, 0 as Lsn).slice(0, 8);
    const ends = [...this.segments]
      .filter(([name]) => name.startsWith(prefix))
      .map(([name, { length }]) => {
        const [id, number] = [name.slice(8, 16), name.slice(16)].map((part) => Number.parseInt(part, 16));
        return id! * 2 ** 32 + number! * segmentBytes + length;
      });
    return Math.max(0, ...ends);
  }

  private segment(timeline: Timeline, position: Lsn): Segment {
    const name = segmentName(timeline, position);
    const found = this.segments.get(name);
    if (found !== undefined) return found;
    const made = { bytes: Buffer.alloc(64 * 1024), length: 0 };
    this.segments.set(name, made);
    return made;
  }

  /** Everything below is durable. */
  sync(timeline: Timeline, to: Lsn): void {
    if (timeline === this.writing.timeline && to > this.writing.syncedTo) this.writing.syncedTo = to;
  }

  syncAll(): void {
    this.writing.syncedTo = this.writing.writtenTo;
  }

  /** How much a crash may take away. */
  get unsynced(): { readonly timeline: Timeline; readonly from: Lsn; readonly to: Lsn } {
    const { timeline, syncedTo, writtenTo } = this.writing;
    return { timeline, from: syncedTo, to: writtenTo };
  }

  /** What lies behind `at`, and was not synced, is lost. */
  lose(at: Lsn): void {
    const { timeline, syncedTo, writtenTo } = this.writing;
    if (at < syncedTo || at > writtenTo) throw new Error('a crash cannot take that');
    this.cut(timeline, at);
    this.writing = { timeline, syncedTo, writtenTo: at };
  }

  /** What is found behind `at` is no WAL: it ends there. */
  truncate(timeline: Timeline, at: Lsn): void {
    this.cut(timeline, at);
    this.writing = { timeline, syncedTo: at, writtenTo: at };
  }

  private cut(timeline: Timeline, at: Lsn): void {
    const last = segmentName(timeline, at);
    for (const [name, segment] of this.segments) {
      if (!name.startsWith(last.slice(0, 8))) continue;
      if (name > last) this.segments.delete(name);
      else if (name === last) segment.length = Math.min(segment.length, at % segmentBytes);
    }
  }

  /** As readWalFile of the adapter: the file of `timeline`, or else that of a newer one which begins in the same segment. Empty if there is nothing. */
  read(from: Lsn, timeline: Timeline, bytesMax: number): Buffer {
    const own = segmentName(timeline, from);
    const newer = [...this.segments.keys()].filter((name) => name > own && name.slice(8) === own.slice(8));
    const offset = from % segmentBytes;
    for (const name of [own, ...newer.sort()]) {
      const segment = this.segments.get(name);
      if (segment === undefined) continue;
      return Buffer.from(segment.bytes.subarray(offset, Math.min(segment.length, offset + bytesMax)));
    }
    return Buffer.alloc(0);
  }

  /** The segment in which `to` begins starts with what its predecessor has up to there. */
  branch(from: Timeline, to: Timeline, at: Lsn): void {
    const start = segmentStart(at);
    this.write(to, start, this.read(start, from, at - start).subarray(0, at - start));
    this.syncAll();
  }

  /** Files of timelines above this one. */
  removeAbove(timeline: Timeline): void {
    for (const name of this.segments.keys()) {
      if (Number.parseInt(name.slice(0, 8), 16) > timeline) this.segments.delete(name);
    }
    for (const number of this.histories.keys()) if (number > timeline) this.histories.delete(number);
    if (this.writing.timeline > timeline) {
      this.writing = { timeline: 0 as Timeline, syncedTo: 0 as Lsn, writtenTo: 0 as Lsn };
    }
  }

  /** Segments that end at or below, of any timeline. */
  removeBelow(at: Lsn): void {
    const first = segmentName(0 as Timeline, at).slice(8);
    for (const name of this.segments.keys()) if (name.slice(8) < first) this.segments.delete(name);
  }

  removeAll(): void {
    this.removeAbove(0 as Timeline);
  }

  copyTo(other: WalFiles): void {
    for (const [name, { bytes, length }] of this.segments) {
      other.segments.set(name, { bytes: Buffer.from(bytes), length });
    }
    for (const [timeline, text] of this.histories) other.histories.set(timeline, text);
    other.writing = { ...this.writing };
  }

  /** As PostgreSQL looks for it: one after another, from `timeline` on, until there is none. */
  newestTimeline(timeline: Timeline): Timeline {
    let newest = timeline;
    while (this.histories.has((newest + 1) as Timeline)) newest = (newest + 1) as Timeline;
    return newest;
  }

  /** The timelines that lead to this one, the oldest first; the first one's beginning is not told, and is 0. @throws Error if a history file makes no sense */
  historyOf(timeline: Timeline): readonly TimelineStart[] {
    const starts: TimelineStart[] = [];
    let begin = 0 as Lsn;
    for (const line of (this.histories.get(timeline) ?? '').split('\n').filter((text) => text !== '')) {
      const [number, position] = line.split('\t');
      if (number === undefined || position === undefined)
        throw new Error(`"${line}" is no line of a history file`);
      starts.push({ timeline: Number(number) as Timeline, at: begin });
      begin = parseLsn(position);
    }
    return [...starts, { timeline, at: begin }];
  }
}

function put(segment: Segment, offset: number, part: Uint8Array): void {
  const end = offset + part.length;
  if (end > segment.bytes.length) {
    const larger = Buffer.alloc(Math.min(segmentBytes, Math.max(end, 2 * segment.bytes.length)));
    segment.bytes.copy(larger, 0, 0, segment.length);
    segment.bytes = larger;
  }
  if (offset > segment.length) segment.bytes.fill(0, segment.length, offset);
  segment.bytes.set(part, offset);
  segment.length = Math.max(segment.length, end);
}
