/**
 * Walks over WAL from record to record, however it is cut into pieces.
 *
 * Responsible for: page headers, records that go on over pages, alignment, links to the record before, what follows a switch of segments, records that a crash left unfinished. Pure.
 * Does not read what is in a record, nor its checksum: an observer may.
 *
 * Invariants: what it knows after the same bytes is the same wherever they were cut. It holds no part of the WAL but the headers at hand, and makes no object for a record. After a fault it takes nothing more.
 */
import { formatLsn, walPageBytes, type Lsn } from '../lsn.ts';
import { CollectedBytes } from './collected-bytes.ts';
import { readU32 } from './little-endian.ts';
import { pageBodyBytes, PageHeaderReader } from './page-header-reader.ts';
import type { PageHeader, PostgresVersion } from './page-header.ts';
import {
  aligned,
  headerTails,
  isSwitch,
  recordHeaderBytes,
  whyNoHeader,
  whyNoLength,
} from './record-header.ts';
import { restOfPage, segmentEnd } from './places.ts';
import type { RecordObserver } from './record-observer.ts';
import type { WalFault, WalFaultCode } from './wal-fault.ts';
import type { WalkPosition } from './walk-position.ts';

export class WalWalker {
  /** The first byte that was not taken yet; while `add` works, where its bytes begin. */
  private position: number;
  /** What is left of the page at hand. 0: the header of the next one is not whole yet. */
  private pageLeft: number;
  private readonly pageHeaders = new PageHeaderReader();
  /** Bytes ahead that mean nothing. */
  private skipLeft: number;
  /** Nothing is known of what comes before the next page. */
  private isStart: boolean;

  /** What is missing of the record at hand. 0: there is none, or its length is not whole yet. */
  private recordLeft = 0;
  private recordStart = 0;
  private readonly header = new CollectedBytes(recordHeaderBytes);
  /** The record at hand began below the start of the walk. */
  private isForeign = false;
  /** And all that is here of it may be the end of its header. */
  private isHeaderTail = false;
  private isSwitch = false;
  /** Only the end of a record was seen, and it looks like that of a switch: what follows will tell. */
  private wasSwitchPerhaps = false;
  private lastEnd: number | null;
  private lastStart: number | null;
  private found: WalFault | null = null;
  private readonly observer: RecordObserver | null;

  constructor(
    { next, lastRecordEnd, lastRecordStart }: WalkPosition,
    observer: RecordObserver | null = null,
  ) {
    const isBoundary = lastRecordEnd !== null && lastRecordEnd >= next;
    if (next % walPageBytes !== 0 && !isBoundary) {
      throw new Error(`${formatLsn(next)} is the beginning of neither a page nor a record`);
    }
    this.position = next;
    this.pageLeft = restOfPage(next);
    this.skipLeft = isBoundary ? lastRecordEnd - next : 0;
    this.isStart = !isBoundary;
    this.lastEnd = lastRecordEnd;
    this.lastStart = lastRecordStart;
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
    return this.pageHeaders.newest?.version ?? null;
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
    this.position = this.found?.at ?? this.position + at;
    return this.found;
  }

  /** Another timeline goes on at the end of the last whole record; what was taken beyond it is nobody's. @throws Error if that end is not known */
  fork(): void {
    if (this.lastEnd === null) throw new Error('The end of the last whole record is not known.');
    if (this.recordLeft > 0) this.giveUp();
    this.position = this.lastEnd;
    this.pageLeft = restOfPage(this.lastEnd);
    this.pageHeaders.letGo();
    this.header.taken = 0;
    this.skipLeft = 0;
    this.isStart = false;
  }

  private skip(bytes: Uint8Array, at: number): number {
    const count = Math.min(this.skipLeft, bytes.length - at);
    this.skipLeft -= count;
    // What is skipped ends in the page at hand, or where a segment ends.
    this.pageLeft = Math.max(0, this.pageLeft - count);
    return at + count;
  }

  private takePageHeader(bytes: Uint8Array, at: number): number {
    const page = (this.position + at - this.pageHeaders.taken) as Lsn;
    const end = this.pageHeaders.take(page, bytes, at);
    const header = this.pageHeaders.read(page);
    if (header === null) return end;
    this.pageLeft = pageBodyBytes(page);
    if ('code' in header) this.found = header;
    else if (this.isStart) this.beginWalk(page, header);
    else if (this.recordLeft > 0 && header.givesUp) this.giveUp();
    else if (this.recordLeft !== header.continues) {
      const text = `${header.continues} bytes go on here, of a record that lacks ${this.recordLeft}`;
      this.fail('continuation', page, text);
    }
    return end;
  }

  /** The first page: perhaps in the middle of a record. */
  private beginWalk(page: Lsn, { continues, givesUp }: PageHeader): void {
    this.isStart = false;
    if (continues === 0) {
      if (!givesUp) this.endForeign(page);
      return;
    }
    this.isForeign = true;
    this.isHeaderTail = headerTails.includes(continues);
    this.recordLeft = continues;
    // If all of it may be the end of the header, it is put where that belongs.
    this.header.taken = recordHeaderBytes - (this.isHeaderTail ? continues : 0);
  }

  private giveUp(): void {
    this.recordLeft = 0;
    this.header.taken = 0;
    if (!this.isForeign) this.observer?.giveUp();
    this.isForeign = false;
  }

  private beginRecord(bytes: Uint8Array, at: number): number {
    const available = Math.min(bytes.length - at, this.pageLeft);
    if (this.header.taken === 0) {
      this.recordStart = this.position + at;
      if (available >= recordHeaderBytes) return this.beginWithHeader(bytes, at, available);
    }
    const { header } = this;
    const end = header.take(4, bytes, at, at + available);
    this.pageLeft -= end - at;
    if (header.taken === 4 && this.takeLength(readU32(header.bytes, 0))) {
      this.recordLeft -= 4;
      this.observer?.part(header.bytes, 0, 4);
    }
    return end;
  }

  /** The common case: the header is here, and need not be collected. */
  private beginWithHeader(bytes: Uint8Array, at: number, available: number): number {
    if (!this.takeLength(readU32(bytes, at))) return at;
    this.header.taken = recordHeaderBytes;
    this.checkHeader(bytes, at);
    return this.takePart(bytes, at, at + Math.min(this.recordLeft, available));
  }

  /** A record of this length is at hand now. False: there is none. */
  private takeLength(length: number): boolean {
    if (this.wasSwitchPerhaps) {
      this.wasSwitchPerhaps = false;
      this.lastEnd = length === 0 ? segmentEnd(this.recordStart) : this.recordStart;
      if (length === 0) {
        this.skipLeft = this.lastEnd - this.recordStart - this.header.taken;
        this.header.taken = 0;
        return false;
      }
    }
    const why = whyNoLength(length);
    if (why !== null) {
      this.fail(length === 0 ? 'zeros' : 'recordHeader', this.recordStart, why);
      return false;
    }
    this.recordLeft = length;
    this.observer?.begin(this.recordStart as Lsn, length);
    return true;
  }

  private goOn(bytes: Uint8Array, at: number): number {
    const { header } = this;
    const to = at + Math.min(bytes.length - at, this.pageLeft, this.recordLeft);
    if (header.taken === recordHeaderBytes) return this.takePart(bytes, at, to);
    const end = header.take(recordHeaderBytes, bytes, at, to);
    if (header.taken === recordHeaderBytes && !this.isForeign) this.checkHeader(header.bytes, 0);
    return this.takePart(bytes, at, end);
  }

  private checkHeader(bytes: Uint8Array, at: number): void {
    const why = whyNoHeader(bytes, at, this.recordStart, this.lastStart);
    if (why !== null) this.fail('recordHeader', this.recordStart, why);
    this.isSwitch = isSwitch(bytes, at);
  }

  /** Bytes of the record at hand, all of them on one page. Returns `to`. */
  private takePart(bytes: Uint8Array, from: number, to: number): number {
    if (this.found !== null) return to;
    this.recordLeft -= to - from;
    this.pageLeft -= to - from;
    if (!this.isForeign) this.observer?.part(bytes, from, to);
    if (this.recordLeft === 0) this.endRecord(this.position + to);
    return to;
  }

  /** `end` is not aligned. */
  private endRecord(end: number): void {
    const next = aligned(end);
    this.skipLeft = next - end;
    this.header.taken = 0;
    if (this.isForeign) {
      this.wasSwitchPerhaps = this.isHeaderTail && isSwitch(this.header.bytes, 0);
      return this.endForeign(next);
    }
    const recordEnd = this.isSwitch ? segmentEnd(next) : next;
    const fault = this.observer?.end(recordEnd as Lsn) ?? null;
    if (fault !== null) {
      this.found = fault;
      return;
    }
    this.skipLeft = recordEnd - end;
    this.lastEnd = recordEnd;
    this.lastStart = this.recordStart;
  }

  /** A record that began below the start of the walk ends at `next`. */
  private endForeign(next: number): void {
    this.isForeign = false;
    this.lastEnd = this.wasSwitchPerhaps ? null : next;
    this.lastStart = null;
  }

  private fail(code: WalFaultCode, at: number, text: string): void {
    this.found = { code, at: at as Lsn, text };
  }
}
