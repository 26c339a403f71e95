/**
 * Where the last whole record of the chosen WAL ends: the furthest that any standby can replay, and where the next timeline forks.
 *
 * Reads back as little as it can: records know their lengths, and a page says what of the record before it goes on in it.
 */
import type { ChosenWal } from './chosen-wal.ts';
import { walPageBytes, type Lsn } from './lsn.ts';
import { WalFormatError } from './record/wal-fault.ts';
import { WalWalker } from './record/wal-walker.ts';
import { beginWalkAt } from './record/walk-position.ts';
import type { WalPosition } from './wal-history.ts';

const firstLookBytes = 8 * walPageBytes;
const readBytesMax = 1024 * 1024;

/** @throws Error if the WAL cannot be read, or makes no sense */
export async function lastWholeRecord(
  wal: Pick<ChosenWal, 'read' | 'firstReadable'>,
  position: WalPosition,
): Promise<Lsn> {
  const { end } = position;
  for (let bytes = firstLookBytes; ; bytes *= 8) {
    const wanted = Math.max(end - bytes, wal.firstReadable);
    const start = (Math.ceil(wanted / walPageBytes) * walPageBytes) as Lsn;
    const found = start < end ? await walk(wal, position, start) : null;
    if (found !== null) return found;
    if (wanted <= wal.firstReadable) throw new Error('the end of the last record cannot be found: too little WAL is left');
  }
}

/** Null if no record ends in it. */
async function walk(wal: Pick<ChosenWal, 'read'>, position: WalPosition, start: Lsn): Promise<Lsn | null> {
  const walker = new WalWalker(beginWalkAt(start));
  let at = start;
  while (at < position.end) {
    const pieces = await wal.read(at, position.end, readBytesMax);
    if (pieces === null || pieces.length === 0) throw new Error('chosen WAL is missing');
    for (const piece of pieces) {
      const fault = walker.add(piece);
      if (fault !== null) throw new WalFormatError(fault);
      at = (at + piece.length) as Lsn;
    }
  }
  return walker.lastRecordEnd;
}
