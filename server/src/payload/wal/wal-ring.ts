/**
 * The newest WAL of the chosen chain, in memory: what a standby that keeps up is sent without reading the log.
 *
 * Invariants: what it holds is consecutive and ends at the end of the chain; it never holds more than `bytesMax` bytes but for one piece, and keeps nothing else alive.
 */
import type { Lsn } from '../../wal/lsn.ts';

interface Piece {
  readonly start: Lsn;
  readonly data: Buffer;
}

/** In place of what has been let go: that is not to stay in memory until the list is made anew. */
const gone: Piece = { start: 0 as Lsn, data: Buffer.alloc(0) };

export class WalRing {
  private readonly bytesMax: number;
  private pieces: Piece[] = [];
  /** Of `pieces`: those before have been let go. */
  private first = 0;
  private bytes = 0;
  private end: Lsn;

  constructor(bytesMax: number, end: Lsn) {
    this.bytesMax = bytesMax;
    this.end = end;
  }

  append(start: Lsn, data: Buffer): void {
    if (start !== this.end) this.clear();
    this.pieces.push({ start, data });
    this.bytes += data.length;
    this.end = (start + data.length) as Lsn;
    while (this.bytes > this.bytesMax && this.pieces.length - this.first > 1) {
      this.bytes -= this.pieces[this.first]!.data.length;
      this.pieces[this.first] = gone;
      this.first += 1;
    }
    // Not at each piece: moving all the others costs as much as they are many.
    if (this.first > 1024 && this.first > this.pieces.length / 2) this.compact();
  }

  /** The chain ends at `end` from now on. */
  cut(end: Lsn): void {
    // Above it: there is nothing to be had in between.
    if (end > this.end) this.clear();
    this.compact();
    while (this.pieces.length > 0 && this.pieces.at(-1)!.start >= end)
      this.bytes -= this.pieces.pop()!.data.length;
    const last = this.pieces.at(-1);
    if (last !== undefined && last.start + last.data.length > end) {
      const data = last.data.subarray(0, end - last.start);
      this.bytes -= last.data.length - data.length;
      this.pieces[this.pieces.length - 1] = { start: last.start, data };
    }
    this.end = end;
  }

  /** From `from` on, at least one piece and about `bytesMax` bytes; null if it does not hold `from`. */
  read(from: Lsn, bytesMax: number): Buffer[] | null {
    const at = this.find(from);
    if (at === -1) return null;
    const found: Buffer[] = [];
    let bytes = 0;
    for (let index = at; index < this.pieces.length && bytes < bytesMax; index++) {
      const { start, data } = this.pieces[index]!;
      const piece = index === at ? data.subarray(from - start) : data;
      found.push(piece);
      bytes += piece.length;
    }
    return found;
  }

  /** The piece that holds this position; -1 if none does. */
  private find(from: Lsn): number {
    let low = this.first;
    let high = this.pieces.length - 1;
    while (low <= high) {
      const middle = (low + high) >>> 1;
      const { start, data } = this.pieces[middle]!;
      if (from < start) high = middle - 1;
      else if (from >= start + data.length) low = middle + 1;
      else return middle;
    }
    return -1;
  }

  private clear(): void {
    this.pieces = [];
    this.first = 0;
    this.bytes = 0;
  }

  private compact(): void {
    this.pieces = this.pieces.slice(this.first);
    this.first = 0;
  }
}
