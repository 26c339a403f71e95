/**
 * Finds where the valid WAL of a data directory ends, as PostgreSQL's recovery would.
 *
 * Responsible for: walking over it with all checks (page headers, links, checksums) until there is no more. Pure but for the function that reads.
 * Does not know files; does not follow timelines: what `readAt` returns is one history.
 */
import { segmentStart, type Lsn } from '../lsn.ts';
import { RecordChecksum } from './record-checksum.ts';
import type { WalFault } from './wal-fault.ts';
import { WalWalker } from './wal-walker.ts';
import { beginWalkAt } from './walk-position.ts';

/** Returns bytes of the WAL from `lsn` on, at most so many; fewer where a file ends; none where there is no file. */
export type ReadWalAt = (lsn: Lsn, bytesMax: number) => Promise<Uint8Array>;

/**
 * `found`: the last whole record ends at `end`, aligned, and after a switch at the end of the segment. `fault`: why none follows; null: there is no more WAL.
 * `unreached`: no record ends at the position from which the search was to go on, so this is not the WAL that it was taken for.
 */
export interface EndOfWal {
  readonly code: 'found' | 'unreached';
  /** Where the valid WAL ends. Null (only if unreached): nowhere. */
  readonly end: Lsn | null;
  /** Of the last whole record; null: it begins below what was read. */
  readonly lastRecordStart: Lsn | null;
  readonly fault: WalFault | null;
}

const readBytes = 256 * 1024;

/**
 * `from`: where a record ends, or the WAL begins.
 *
 * The walk begins at the start of its segment, so that it knows the record before `from`, to which the next one must be linked: behind the end of its WAL, a standby's page may hold a whole record of
 * an earlier use of the segment.
 */
export async function findEndOfWal(readAt: ReadWalAt, from: Lsn): Promise<EndOfWal> {
  const next = segmentStart(from);
  const start = next === from ? { next, lastRecordEnd: from, lastRecordStart: null } : beginWalkAt(next);
  const walker = new WalWalker(start, new RecordChecksum());
  await walkTo(walker, readAt, from);
  const reached = walker.lastRecordEnd === from;
  if (reached) await walkTo(walker, readAt, Number.POSITIVE_INFINITY);
  const { lastRecordEnd: end, lastRecordStart, fault } = walker;
  return { code: reached ? 'found' : 'unreached', end, lastRecordStart, fault };
}

/** Until `to`, a fault, or the end of what can be read. */
async function walkTo(walker: WalWalker, readAt: ReadWalAt, to: number): Promise<void> {
  while (walker.fault === null && walker.next < to) {
    const bytes = await readAt(walker.next, Math.min(readBytes, to - walker.next));
    if (bytes.length === 0) return;
    walker.add(bytes);
  }
}
