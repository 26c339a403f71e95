/**
 * An archive of WAL in memory, as one life of its replica's process sees it: the port WalArchive over what a machine's disk has of it.
 *
 * Invariants: those of the port. A life that ends leaves what was durable: the next one goes on there.
 */
import type { Timers } from '../../../ports/clock.ts';
import type { Random } from '../../../ports/testing/random.ts';
import type { ArchivedRange, ArchiveSource, ArchiveStatus, WalArchive } from '../../../ports/wal-archive.ts';
import { segmentBytes, segmentStart, type Lsn, type Timeline } from '../../../wal/lsn.ts';

/** WAL without a gap, in pieces. */
interface Stretch {
  readonly from: Lsn;
  readonly pieces: Buffer[];
  end: Lsn;
}

/** Plain data. Survives every process. */
export class ModelArchiveDisk {
  /** Null: there is no archive. */
  system: bigint | null = null;
  /** The oldest first. */
  stretches: Stretch[] = [];
  /** Up to where it is durable; null: nothing is. */
  durable: { readonly timeline: Timeline; readonly end: Lsn } | null = null;
  /** Nothing can be written. */
  isFailing = false;

  /** What it has for good. Of a stretch that is not gone on with only whole segments count. */
  contents(): readonly { readonly from: Lsn; readonly bytes: Buffer }[] {
    const { durable } = this;
    if (durable === null) return [];
    return this.stretches.flatMap(({ from, pieces, end }) => {
      const isOpen = from <= durable.end && durable.end <= end;
      const to = isOpen ? durable.end : segmentStart(end);
      const bytes = Buffer.concat(pieces).subarray(0, Math.max(0, to - from));
      return bytes.length === 0 ? [] : [{ from, bytes }];
    });
  }

  /** Whole segments below `at` go, but for the newest two. */
  forget(at: Lsn): void {
    const end = this.stretches.at(-1)?.end ?? at;
    const from = Math.min(segmentStart(at), segmentStart((end - 1) as Lsn) - segmentBytes) as Lsn;
    this.stretches = this.stretches.flatMap((stretch) => {
      if (stretch.end <= from) return [];
      if (stretch.from >= from) return [stretch];
      return [
        { from, end: stretch.end, pieces: [Buffer.concat(stretch.pieces).subarray(from - stretch.from)] },
      ];
    });
  }

  /** Nothing lies at or beyond `at`. */
  cut(at: Lsn): void {
    this.stretches = this.stretches.filter(({ from }) => from < at);
    const last = this.stretches.at(-1);
    if (last === undefined || last.end <= at) return;
    const kept = Buffer.concat(last.pieces).subarray(0, at - last.from);
    last.pieces.splice(0, last.pieces.length, kept);
    last.end = at;
  }
}

export interface ModelArchiveOptions extends ArchiveSource {
  readonly disk: ModelArchiveDisk;
  readonly timers: Timers;
  readonly random: Random;
}

const flushMs = 700;

/** @throws Error if what is there is another cluster's */
export function openModelArchive(options: ModelArchiveOptions): WalArchive {
  const { disk, system } = options;
  if (disk.system !== null && disk.system !== system)
    throw new Error(`the archive is of the cluster ${disk.system}, not of ${system}`);
  disk.system = system;
  return new ModelArchive(options);
}

class ModelArchive implements WalArchive {
  private readonly options: ModelArchiveOptions;
  private timeline = 0 as Timeline;
  /** Null: what comes next leaves a gap. */
  private end: Lsn | null = null;
  private gaps = 0;
  private isInGap = false;
  private hasFailed = false;
  private isClosed = false;

  constructor(options: ModelArchiveOptions) {
    this.options = options;
    this.resume();
    this.flushLater();
  }

  /** Goes on where it is durable. */
  private resume(): void {
    const { disk } = this.options;
    const { durable } = disk;
    if (durable === null) disk.stretches = [];
    else disk.cut(durable.end);
    this.timeline = durable?.timeline ?? (0 as Timeline);
    this.end = durable?.end ?? null;
    this.hasFailed = false;
  }

  private flushLater(): void {
    this.options.timers.after(flushMs, () => {
      if (this.isClosed) return;
      this.makeDurable();
      this.flushLater();
    });
  }

  private makeDurable(): void {
    const { end, timeline } = this;
    const { disk } = this.options;
    if (disk.isFailing) this.fail();
    else if (end !== null && !this.hasFailed) disk.durable = { timeline, end };
  }

  /** What is given meanwhile is dropped, and missed afterwards. */
  private fail(): void {
    this.hasFailed = true;
    this.end = null;
  }

  async append(range: ArchivedRange): Promise<void> {
    const { timers, random } = this.options;
    await new Promise<void>((resolve) => timers.after(random.next() * 3, resolve));
    if (this.options.disk.isFailing) {
      this.fail();
      return;
    }
    if (this.hasFailed) this.resume();
    // Of a timeline that was left: what of it counts is here.
    if (range.timeline < this.timeline) return;
    if (range.timeline > this.timeline) this.begin(range);
    const known = Math.max(0, (this.end ?? 0) - range.start);
    const start = (range.start + known) as Lsn;
    const data = range.data.subarray(known);
    if (data.byteLength === 0) return;
    await this.fill(this.end ?? segmentStart(start), start);
    if (this.end === start) this.write(data);
    else this.writeBehindGap(start, data);
  }

  /** Another timeline leaves the one before where the range begins. */
  private begin({ timeline, start }: ArchivedRange): void {
    const { disk } = this.options;
    this.timeline = timeline;
    const reaches = this.end !== null && start <= this.end;
    disk.cut(start);
    // What lies before it is here without a gap, or it begins anew.
    this.end = reaches && (disk.stretches.at(-1)?.end ?? start) === start ? start : null;
    this.makeDurable();
  }

  private async fill(from: Lsn, to: Lsn): Promise<void> {
    if (from === to) this.end = to;
    for (let at = from; at < to; ) {
      const until = Math.min(segmentStart(at) + segmentBytes, to) as Lsn;
      const missing = await this.options.missing(at, until, this.timeline).catch(() => null);
      if (missing === null || missing.byteLength !== until - at) return;
      this.end = at;
      this.write(missing);
      at = until;
    }
  }

  /** In the next segment. */
  private writeBehindGap(start: Lsn, data: Uint8Array): void {
    if (!this.isInGap) this.gaps += 1;
    this.isInGap = true;
    const next = segmentStart((start + segmentBytes - 1) as Lsn);
    const rest = data.subarray(next - start);
    this.end = rest.byteLength === 0 ? null : next;
    if (rest.byteLength > 0) this.write(rest);
  }

  /** At `this.end`. */
  private write(data: Uint8Array): void {
    const { disk } = this.options;
    const at = this.end!;
    const last = disk.stretches.at(-1);
    if (last?.end === at) last.pieces.push(Buffer.from(data));
    else disk.stretches.push({ from: at, pieces: [Buffer.from(data)], end: at });
    this.end = disk.stretches.at(-1)!.end = (at + data.byteLength) as Lsn;
    this.isInGap = false;
  }

  forgetBelow(lsn: Lsn): Promise<void> {
    if (!this.options.disk.isFailing) this.options.disk.forget(lsn);
    return Promise.resolve();
  }

  status(): ArchiveStatus {
    const { end, timeline, gaps } = this;
    const { durable, stretches } = this.options.disk;
    return {
      timeline: timeline === 0 ? null : timeline,
      end,
      durable: durable?.end ?? null,
      bytes: stretches.reduce((sum, stretch) => sum + stretch.end - stretch.from, 0),
      gaps,
      problem: this.hasFailed ? 'nothing can be written' : null,
    };
  }

  close(): Promise<void> {
    this.makeDurable();
    this.isClosed = true;
    return Promise.resolve();
  }
}
