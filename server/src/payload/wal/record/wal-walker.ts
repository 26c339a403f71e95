/**
 * Walks over WAL from record to record, however it is cut into pieces.
 *
 * Responsible for: page headers, records that go on over pages, alignment, links to the record before, what follows a switch of segments, records that a crash left unfinished. Pure.
 * Does not read what is in a record, nor its checksum: an observer may.
 *
 * Invariants: what it knows after the same bytes is the same wherever they were cut. It holds no part of the WAL but the headers at hand, and makes no object for a record. After a fault it takes nothing more.
 */
import { formatLsn, segmentBytes, segmentStart, walPageBytes, type Lsn } from '../lsn.ts';
import { readU32, readU64 } from './little-endian.ts';
import { longHeaderBytes, pageHeaderBytes, readPageHeader, type PostgresVersion } from './page-header.ts';
import { aligned, headerTailBytesMax, isManager, isSwitch, offsetOf, recordHeaderBytes } from './record-header.ts';
import type { RecordObserver } from './record-observer.ts';
import type { WalFault, WalFaultCode } from './wal-fault.ts';

/**
 * Where a walk begins. `lastRecordEnd`: of the last whole record that begins below `next`. It may lie above `next` by what means nothing: padding, or the rest of a segment. If it lies below, or is
 * not known (null), `next` is the beginning of a page.
 */
export interface WalkStart {
  readonly next: Lsn;
  readonly lastRecordEnd: Lsn | null;
}

export class WalWalker {
  /** The first byte that was not taken yet; while `add` works, where its bytes begin. */
  private position: number;
  /** What is left of the page at hand. 0: the header of the next one is not whole yet. */
  private pageLeft: number;
  private readonly pageHeader = new Uint8Array(longHeaderBytes);
  private pageHeaderTaken = 0;
  /** Bytes ahead that mean nothing. */
  private skipLeft: number;
  /** Nothing is known of what comes before the next page. */
  private isStart: boolean;
  private timeline = 0;
  private pageVersion: PostgresVersion | null = null;

  /** What is missing of the record at hand. 0: there is none, or its length is not whole yet. */
  private recordLeft = 0;
  private recordStart = 0;
  private readonly header = new Uint8Array(recordHeaderBytes);
  private headerTaken = 0;
  /** The record at hand began below the start of the walk. */
  private isForeign = false;
  private isSwitch = false;

  private lastEnd: number | null;
  private lastStart: number | null = null;
  private found: WalFault | null = null;
  private readonly observer: RecordObserver | null;

  constructor({ next, lastRecordEnd }: WalkStart, observer: RecordObserver | null = null) {
    const offset = next % walPageBytes;
    const isBoundary = lastRecordEnd !== null && lastRecordEnd >= next;
    if (offset !== 0 && !isBoundary) {
      throw new Error(`${formatLsn(next)} is the beginning of neither a page nor a record`);
    }
    this.position = next;
    this.pageLeft = (walPageBytes - offset) % walPageBytes;
    this.skipLeft = isBoundary ? lastRecordEnd - next : 0;
    this.isStart = !isBoundary;
    this.lastEnd = lastRecordEnd;
    this.observer = observer;
  }

  /** The first byte that was not taken yet. */
  get next(): Lsn {
    return this.position as Lsn;
  }

  /** As PostgreSQL counts it: aligned, and of a switch the end of the segment, which is why it may lie above `next`. Null: not known yet. */
  get lastRecordEnd(): Lsn | null {
    return this.lastEnd as Lsn | null;
  }

  /** Null: not known yet. */
  get lastRecordStart(): Lsn | null {
    return this.lastStart as Lsn | null;
  }

  /** Of the page at hand; null before the first one. */
  get version(): PostgresVersion | null {
    return this.pageVersion;
  }

  get fault(): WalFault | null {
    return this.found;
  }

  /** Takes the bytes at `next`. Returns what is wrong with them; from then on it takes none. */
  add(bytes: Uint8Array): WalFault | null {
    let at = 0;
    while (at < bytes.length && this.found === null) {
      if (this.skipLeft > 0) at = this.skip(bytes, at);
      else if (this.pageLeft === 0) at = this.takePageHeader(bytes, at);
      else if (this.recordLeft === 0) at = this.beginRecord(bytes, at);
      else at = this.goOn(bytes, at);
    }
    this.position += at;
    return this.found;
  }

  /** Another timeline goes on at the end of the last whole record; what was taken beyond it is nobody's. @throws Error if that end is not known */
  fork(): void {
    if (this.lastEnd === null) throw new Error('The end of the last whole record is not known.');
    if (this.recordLeft > 0) this.observer?.giveUp();
    this.position = this.lastEnd;
    this.pageLeft = (walPageBytes - (this.lastEnd % walPageBytes)) % walPageBytes;
    this.pageHeaderTaken = 0;
    this.skipLeft = 0;
    this.recordLeft = 0;
    this.headerTaken = 0;
    this.isStart = false;
    this.found = null;
  }

  private skip(bytes: Uint8Array, at: number): number {
    const count = Math.min(this.skipLeft, bytes.length - at);
    this.skipLeft -= count;
    // What is skipped ends in the page at hand, or where a segment ends.
    this.pageLeft = Math.max(0, this.pageLeft - count);
    return at + count;
  }

  private takePageHeader(bytes: Uint8Array, at: number): number {
    const page = (this.position + at - this.pageHeaderTaken) as Lsn;
    const wanted = pageHeaderBytes(page);
    const count = Math.min(wanted - this.pageHeaderTaken, bytes.length - at);
    for (let i = 0; i < count; i += 1) this.pageHeader[this.pageHeaderTaken + i] = bytes[at + i]!;
    this.pageHeaderTaken += count;
    if (this.pageHeaderTaken < wanted) return at + count;
    this.pageHeaderTaken = 0;
    this.pageLeft = walPageBytes - wanted;
    this.beginPage(page);
    return at + count;
  }

  private beginPage(page: Lsn): void {
    const header = readPageHeader(this.pageHeader, page);
    if ('code' in header) {
      this.found = header;
      return;
    }
    if (header.timeline < this.timeline) {
      return this.fail('pageHeader', page, `it is of timeline ${header.timeline}, after ${this.timeline}`);
    }
    this.timeline = header.timeline;
    this.pageVersion = header.version;
    if (this.isStart) this.beginWalk(page, header.continues, header.givesUp);
    else if (this.recordLeft > 0 && header.givesUp) this.giveUp();
    else if (this.recordLeft !== header.continues) {
      const text = `${header.continues} bytes go on here, of a record that lacks ${this.recordLeft}`;
      this.fail('continuation', page, text);
    }
  }

  /** With a record that ends in `continues` bytes, if there is one. */
  private beginWalk(page: Lsn, continues: number, givesUp: boolean): void {
    this.isStart = false;
    if (continues === 0) {
      if (!givesUp) this.lastEnd = page;
      return;
    }
    this.isForeign = true;
    this.recordLeft = continues;
    // If all of it may be the end of the header, it is put where that belongs.
    this.headerTaken = recordHeaderBytes - (continues <= headerTailBytesMax ? continues : 0);
  }

  private giveUp(): void {
    this.recordLeft = 0;
    this.headerTaken = 0;
    if (!this.isForeign) this.observer?.giveUp();
    this.isForeign = false;
  }

  private beginRecord(bytes: Uint8Array, at: number): number {
    const available = Math.min(bytes.length - at, this.pageLeft);
    if (this.headerTaken === 0) {
      this.recordStart = this.position + at;
      if (available >= recordHeaderBytes) return this.beginWithHeader(bytes, at, available);
    }
    const count = Math.min(4 - this.headerTaken, available);
    this.collect(bytes, at, count);
    this.pageLeft -= count;
    if (this.headerTaken === 4 && this.takeLength(readU32(this.header, 0))) {
      this.recordLeft -= 4;
      this.observer?.part(this.header, 0, 4);
    }
    return at + count;
  }

  /** The common case: the header is here, and need not be collected. */
  private beginWithHeader(bytes: Uint8Array, at: number, available: number): number {
    if (!this.takeLength(readU32(bytes, at))) return at;
    this.headerTaken = recordHeaderBytes;
    this.checkHeader(bytes, at);
    return this.takePart(bytes, at, Math.min(this.recordLeft, available));
  }

  /** The record at hand has this length. False: there is none. */
  private takeLength(length: number): boolean {
    if (this.lastEnd === null && this.isSwitch) {
      // Of the record before only the end was seen, which looked like that of a switch: what follows tells.
      this.isSwitch = false;
      this.lastEnd = length === 0 ? segmentEnd(this.recordStart) : this.recordStart;
      this.skipLeft = this.lastEnd - this.recordStart - this.headerTaken;
    } else if (length < recordHeaderBytes) {
      if (length === 0) this.fail('zeros', this.recordStart, 'nothing was written there');
      else this.fail('recordHeader', this.recordStart, `no record has ${length} bytes`);
    }
    return false;
  }
}

function segmentEnd(position: number): Lsn {
  return (segmentStart((position - 1) as Lsn) + segmentBytes) as Lsn;
}
