/**
 * Finds where the valid WAL of a data directory ends, as PostgreSQL's recovery would.
 *
 * Responsible for: walking over it with all checks (page headers, links, checksums) until there is no more. Pure but for the function that reads.
 * Does not know files; does not follow timelines: what `readAt` returns is one history.
 */
import { segmentBytes, segmentStart, type Lsn } from '../lsn.ts';
import { RecordChecksum } from './record-checksum.ts';
import type { WalFault } from './wal-fault.ts';
import { WalWalker } from './wal-walker.ts';
import { beginWalkAt } from './walk-position.ts';

/** Returns bytes of the WAL from `lsn` on, at most so many; fewer where a file ends; none where there is no file. */
export type ReadWalAt = (lsn: Lsn, bytesMax: number) => Promise<Uint8Array>;

/**
 * `found`: the last whole record begins at `lastRecordStart` and ends at `end`: aligned, and after a switch at the end of the segment. `fault`: why none follows; null: there are no more files.
 * `short`: what was known to be valid is not, or not there from the beginning of a record on.
 */
export type EndOfWal =
  | {
      readonly code: 'found';
      readonly end: Lsn;
      /** Null: below what was read. */
      readonly lastRecordStart: Lsn | null;
      readonly fault: WalFault | null;
    }
  | { readonly code: 'short'; readonly fault: WalFault | null };

const readBytes = 256 * 1024;

/**
 * `from`: the WAL is known to be valid up to here; it may be in the middle of a record, if a page begins there.
 *
 * The walk begins at the start of the segment, so that it knows the record before `from`, to which the next one must be linked: behind the end of its WAL, a standby's page may hold a whole record of an
 * earlier use of the file.
 */
export async function findEndOfWal(readAt: ReadWalAt, from: Lsn): Promise<EndOfWal> {
  // A record may be longer than a segment.
  for (let start = segmentStart(from); start >= 0; start = (start - segmentBytes) as Lsn) {
    const walker = new WalWalker(beginWalkAt(start), new RecordChecksum());
    await walkTo(walker, readAt, from);
    const isShort = walker.fault !== null || walker.next < from;
    if (!isShort) await walkTo(walker, readAt, Number.POSITIVE_INFINITY);
    const { lastRecordEnd: end, lastRecordStart, fault } = walker;
    if (isShort) return { code: 'short', fault };
    if (end !== null) return { code: 'found', end, lastRecordStart, fault };
  }
  return { code: 'short', fault: null };
}

/** Until `to`, a fault, or the end of what can be read. */
async function walkTo(walker: WalWalker, readAt: ReadWalAt, to: number): Promise<void> {
  while (walker.fault === null && walker.next < to) {
    const bytes = await readAt(walker.next, Math.min(readBytes, to - walker.next));
    if (bytes.length === 0) return;
    walker.add(bytes);
  }
}
