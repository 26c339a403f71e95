/**
 * Writes chosen WAL to an archive's files, one range after the other.
 *
 * Responsible for: segments, forks of timelines, what is missing between two ranges, and the bound on the space. Its errors are the disk's, and leave it of no more use: whoever owns it opens another one.
 * Invariants: a whole segment has its final name only when all of it is durable; a gap is never hidden: WAL that follows one goes into the next segment, and the one before stays `.partial`.
 */
import { copyFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import {
  formatLsn,
  historyName,
  type Lsn,
  segmentBytes,
  segmentName,
  segmentStart,
  type Timeline,
} from '../../../wal/lsn.ts';
import type { ArchivedRange, ArchiveSource } from '../../../ports/wal-archive.ts';
import { exists, syncPath, writeDurably } from '../../file-system.ts';
import { listSegments, partialSuffix, readArchiveState, writeArchiveState } from './archive-contents.ts';
import { SegmentWriter } from './segment-writer.ts';

export interface ArchiveWriterOptions extends ArchiveSource {
  readonly directory: string;
  /** The name of the group's founding, by which an archive knows its own; null, or absent: any. */
  readonly cluster?: string | null;
  /** Of all segments; the oldest go first. The newest two stay whatever it is. */
  readonly bytesMax: number;
  /** Told of WAL that is missing in the archive. */
  readonly onGap: (gap: string) => void;
}

export class ArchiveWriter {
  private readonly options: ArchiveWriterOptions;
  private readonly directory: string;
  private segment: SegmentWriter | null = null;
  /** 0: nothing is there. */
  timeline = 0 as Timeline;
  private isInGap = false;
  /** WAL that begins here follows without a gap; null: none would. */
  end: Lsn | null = null;
  durable: Lsn | null = null;
  /** On the disk. */
  bytes = 0;

  constructor(options: ArchiveWriterOptions) {
    this.options = options;
    this.directory = options.directory;
  }

  /** Goes on where the archive was left. Before anything else. */
  async resume(): Promise<void> {
    this.bytes = (await listSegments(this.directory)).length * segmentBytes;
    const state = await readArchiveState(this.directory);
    if (state === null) return;
    const { timeline, end } = state;
    this.timeline = timeline;
    this.durable = end;
    const start = segmentStart(end);
    const path = join(this.directory, segmentName(timeline, start));
    // It was completed, and not noted.
    if (await exists(path)) this.end = (start + segmentBytes) as Lsn;
    else if (start === end) this.end = end;
    else if (await exists(path + partialSuffix)) {
      this.segment = await SegmentWriter.reopen(this.directory, timeline, end);
      this.end = end;
    }
  }

  /** The next range that is chosen. @throws the file system's error */
  async take(range: ArchivedRange): Promise<void> {
    // Of a timeline that was left: what of it counts is here.
    if (range.timeline < this.timeline) return;
    if (range.timeline > this.timeline) await this.beginTimeline(range);
    let { start, data } = range;
    if (this.end !== null && start < this.end) {
      // Given before, in another life of the replica.
      data = data.subarray(this.end - start);
      start = this.end;
    }
    if (data.byteLength === 0) return;
    await this.fill(this.end ?? segmentStart(start), start);
    if (this.end !== start) {
      const next = segmentStart((start + segmentBytes - 1) as Lsn);
      this.noteGap(next);
      await this.close();
      data = data.subarray(next - start);
      this.end = data.byteLength === 0 ? null : next;
    }
    if (data.byteLength === 0) return;
    await this.write(data);
    this.isInGap = false;
  }

  /** What lies between, as far as it is to be had. */
  private async fill(from: Lsn, to: Lsn): Promise<void> {
    if (from === to) this.end = to;
    for (let at = from; at < to; ) {
      const until = Math.min(segmentStart(at) + segmentBytes, to) as Lsn;
      const missing = await this.options.missing(at, until, this.timeline).catch(() => null);
      if (missing === null || missing.byteLength !== until - at) return;
      this.end = at;
      await this.write(missing);
      at = until;
    }
  }

  private noteGap(next: Lsn): void {
    if (this.isInGap) return;
    this.isInGap = true;
    const from = this.end === null ? '' : ` from ${formatLsn(this.end)} on`;
    this.options.onGap(`WAL${from} is missing in the archive, which goes on at ${formatLsn(next)}`);
  }

  /** At `this.end`. */
  private async write(data: Uint8Array): Promise<void> {
    for (let at = 0; at < data.byteLength; ) {
      const end = this.end!;
      this.segment ??= await this.beginSegment(end);
      const part = data.subarray(at, at + segmentBytes - (end % segmentBytes));
      await this.segment.write(end, part);
      at += part.byteLength;
      this.end = (end + part.byteLength) as Lsn;
      if (this.end % segmentBytes === 0) await this.completeSegment();
    }
  }

  private async beginSegment(at: Lsn): Promise<SegmentWriter> {
    if (at % segmentBytes !== 0) throw new Error(`a segment cannot begin at ${formatLsn(at)}`);
    this.bytes += segmentBytes;
    return SegmentWriter.begin(this.directory, this.timeline, at);
  }

  private async completeSegment(): Promise<void> {
    const { segment } = this;
    this.segment = null;
    await segment?.complete();
    await this.makeDurable();
    await this.prune();
  }

  async makeDurable(): Promise<void> {
    const { end, timeline } = this;
    if (end === null || end === this.durable) return;
    await this.segment?.sync();
    const { system, cluster = null } = this.options;
    await writeArchiveState(this.directory, { system, cluster, timeline, end });
    this.durable = end;
  }

  async close(): Promise<void> {
    const { segment } = this;
    this.segment = null;
    await segment?.close();
  }

  /** The timeline leaves the one before where the range begins: what is archived beyond is nobody's. */
  private async beginTimeline({ timeline, start }: ArchivedRange): Promise<void> {
    const before = this.timeline;
    await this.close();
    const history = this.options.history(timeline);
    if (history !== '') await writeDurably(join(this.directory, historyName(timeline)), history);
    this.timeline = timeline;
    // Nothing is known of what lies between: it begins anew.
    if (this.end === null || this.end < start) this.end = null;
    else await this.leaveTimeline(before, start);
  }

  private async leaveTimeline(before: Timeline, fork: Lsn): Promise<void> {
    const hasHead = fork % segmentBytes === 0 || (await this.isWholeBelow(before, fork));
    if (hasHead && fork % segmentBytes !== 0) await this.copyHead(before, fork);
    for (const segment of await listSegments(this.directory)) {
      if (segment.timeline === this.timeline || segment.start < fork) continue;
      await rm(join(this.directory, segment.name));
      this.bytes -= segmentBytes;
    }
    this.end = hasHead ? fork : null;
    this.durable = null;
    await this.makeDurable();
  }

  /** From the beginning of its segment on. Of what is partial only the segment that is written to has no gap. */
  private async isWholeBelow(timeline: Timeline, at: Lsn): Promise<boolean> {
    if (this.end !== null && segmentStart(this.end) === segmentStart(at)) return true;
    return exists(join(this.directory, segmentName(timeline, at)));
  }

  /** The new timeline's segment begins as the old one's. */
  private async copyHead(before: Timeline, fork: Lsn): Promise<void> {
    const whole = join(this.directory, segmentName(before, fork));
    const source = (await exists(whole)) ? whole : whole + partialSuffix;
    await copyFile(source, join(this.directory, segmentName(this.timeline, fork) + partialSuffix));
    this.bytes += segmentBytes;
    this.segment = await SegmentWriter.reopen(this.directory, this.timeline, fork);
    await syncPath(this.directory);
  }

  /** Segments that end at or below it go, but for the newest two. */
  async forgetBelow(lsn: Lsn): Promise<void> {
    for (const { name, start } of (await listSegments(this.directory)).slice(0, -2)) {
      if (start + segmentBytes > lsn) return;
      await rm(join(this.directory, name), { force: true });
      this.bytes -= segmentBytes;
    }
  }

  private async prune(): Promise<void> {
    const removable = (await listSegments(this.directory)).slice(0, -2);
    while (this.bytes > this.options.bytesMax && removable.length > 0) {
      await rm(join(this.directory, removable.shift()!.name), { force: true });
      this.bytes -= segmentBytes;
    }
  }
}
