/**
 * Where the last whole record of the chosen WAL ends: the furthest that any standby can replay, and where the next timeline forks.
 *
 * Reads back as little as it can: records know their lengths, and a page says what of the record before it goes on in it.
 */
import type { ChosenWal } from './chosen-wal.ts';
import { segmentBytes, segmentStart, walPageBytes, type Lsn } from '../../wal/lsn.ts';
import { WalFormatError } from '../../wal/record/wal-fault.ts';
import { WalWalker } from '../../wal/record/wal-walker.ts';
import { beginWalkAt } from '../../wal/record/walk-position.ts';
import type { WalPosition } from '../../wal/position.ts';

const firstLookBytes = 8 * walPageBytes;
const readBytesMax = 1024 * 1024;

/** @throws Error if the WAL cannot be read, or makes no sense */
export async function lastWholeRecord(wal: Pick<ChosenWal, 'read'>, { end }: WalPosition): Promise<Lsn> {
  const segment = segmentStart((end - 1) as Lsn);
  // Near the end first.
  const near = (Math.floor((end - firstLookBytes) / walPageBytes) * walPageBytes) as Lsn;
  if (near > segment) {
    const found = await walk(wal, near, end).catch(passOverFault);
    if (found !== null) return found;
  }
  // Then segment by segment: of a database that was copied there may be no more than the last one.
  for (let start = segment; start >= 0; start = (start - segmentBytes) as Lsn) {
    const found = await walk(wal, start, end);
    if (found !== null) return found;
  }
  throw new Error('no record ends in the chosen WAL');
}

/** In the rest of a segment, behind a switch, a directory may have anything. */
function passOverFault(error: unknown): null {
  if (error instanceof WalFormatError) return null;
  throw error;
}

/** Null if no record ends in it. */
async function walk(wal: Pick<ChosenWal, 'read'>, start: Lsn, end: Lsn): Promise<Lsn | null> {
  const walker = new WalWalker(beginWalkAt(start));
  let at = start;
  while (at < end) {
    const pieces = await wal.read(at, end, readBytesMax);
    if (pieces === null || pieces.length === 0) throw new Error('chosen WAL is missing');
    for (const piece of pieces) {
      const fault = walker.add(piece);
      if (fault !== null) throw new WalFormatError(fault);
      at = (at + piece.length) as Lsn;
    }
  }
  return walker.lastRecordEnd;
}
