/**
 * Puts together the bytes of each record that a walk comes by. Pure.
 *
 * Invariants: a record that is there in one piece is not copied; of one in several pieces at most `keptBytesMax` bytes are held.
 */
import type { Lsn } from '../lsn.ts';
import type { RecordChecksum } from './record-checksum.ts';
import type { RecordObserver } from './record-observer.ts';
import type { WalFault } from './wal-fault.ts';
import { partHeadersBytesMax } from './wal-record.ts';

/** A record that has begun and not ended: `taken` of its `length` bytes are here. */
export interface UnfinishedRecord {
  readonly lsn: Lsn;
  readonly length: number;
  readonly taken: number;
}

/** `bytes`: the record's, or so many of its first ones as are kept; a view. */
export interface KeptRecord {
  readonly lsn: Lsn;
  readonly end: Lsn;
  readonly length: number;
  readonly bytes: Uint8Array;
}

export interface RecordKeeperOptions {
  readonly keptBytesMax: number;
  /** Null: checksums are not looked at. */
  readonly checksum: RecordChecksum | null;
  /** Returns what is wrong with the record. */
  readonly onRecord: (record: KeptRecord) => WalFault | null;
}

const roomBytesMin = 1024;

export class RecordKeeper implements RecordObserver {
  private readonly options: RecordKeeperOptions;
  private readonly keptBytesMax: number;
  private lsn = 0 as Lsn;
  /** Of the record at hand; 0: there is none. */
  private length = 0;
  private taken = 0;
  /** The record at hand, if it came in one piece. */
  private whole: Uint8Array | null = null;
  /** Else what is kept of it: the first `pieceBytes`. */
  private pieces = new Uint8Array(0);
  private pieceBytes = 0;

  constructor(options: RecordKeeperOptions) {
    this.options = options;
    this.keptBytesMax = Math.max(options.keptBytesMax, partHeadersBytesMax);
  }

  get unfinished(): UnfinishedRecord | null {
    const { lsn, length, taken } = this;
    return length === 0 ? null : { lsn, length, taken };
  }

  begin(lsn: Lsn, length: number): void {
    this.lsn = lsn;
    this.length = length;
    this.taken = 0;
    this.whole = null;
    this.pieceBytes = 0;
    this.options.checksum?.begin(lsn);
  }

  part(bytes: Uint8Array, from: number, to: number): void {
    this.options.checksum?.part(bytes, from, to);
    this.taken += to - from;
    if (to - from === this.length) this.whole = bytes.subarray(from, to);
    else this.keep(bytes, from, Math.min(to, from + this.keptBytesMax - this.pieceBytes));
  }

  end(end: Lsn): WalFault | null {
    const { lsn, length } = this;
    const bytes = this.whole ?? this.pieces.subarray(0, this.pieceBytes);
    this.letGo();
    return this.options.checksum?.end() ?? this.options.onRecord({ lsn, end, length, bytes });
  }

  giveUp(): void {
    this.letGo();
    this.options.checksum?.giveUp();
  }

  private keep(bytes: Uint8Array, from: number, to: number): void {
    if (to <= from) return;
    const wanted = this.pieceBytes + to - from;
    if (wanted > this.pieces.length) {
      // Grown by what has come, not by what the record says of its length.
      const room = new Uint8Array(Math.max(wanted, Math.min(2 * wanted, this.length), roomBytesMin));
      room.set(this.pieces.subarray(0, this.pieceBytes));
      this.pieces = room;
    }
    this.pieces.set(bytes.subarray(from, to), this.pieceBytes);
    this.pieceBytes = wanted;
  }

  private letGo(): void {
    this.length = 0;
    this.whole = null;
    this.pieces = new Uint8Array(0);
    this.pieceBytes = 0;
  }
}
