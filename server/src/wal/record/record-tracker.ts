/**
 * Where the last whole record ends in WAL that arrives range by range: the position at which a promotion forks.
 *
 * Responsible for: consecutive ranges, forks, and the error for what is no WAL. Pure. By itself it looks at headers only, for it stands in the way of every commit: a fraction of a microsecond a record.
 * Does not decide which ranges have effect.
 */
import { formatLsn, type Lsn } from '../lsn.ts';
import { RecordChecksum } from './record-checksum.ts';
import { WalFormatError } from './wal-fault.ts';
import { WalWalker } from './wal-walker.ts';
import { beginWalkAt, type WalkPosition } from './walk-position.ts';

export interface RecordTrackerOptions {
  /** Compares each record with its checksum, at about 1.5 ns a byte; default false. */
  readonly checksums?: boolean;
}

export class RecordTracker {
  private readonly walker: WalWalker;

  /**
   * `start`: what `position` returned for the same WAL before, or `beginWalkAt` a page or a record.
   * @throws Error if it is the beginning of neither a page nor a record
   */
  constructor(start: WalkPosition, { checksums = false }: RecordTrackerOptions = {}) {
    this.walker = new WalWalker(start, checksums ? new RecordChecksum() : null);
  }

  /**
   * The end of the last whole record: at a fork, the new timeline begins here. It is PostgreSQL's `EndOfLog`: aligned to 8, and of a record that switches segments the end of the segment. So it may lie
   * above what was added, by up to 7 bytes or the rest of a segment, which hold nothing. Null: the start was in the middle of a record, and no other has ended since.
   */
  get lastRecordEnd(): Lsn | null {
    return this.walker.lastRecordEnd;
  }

  /** The end of what was added. */
  get next(): Lsn {
    return this.walker.next;
  }

  /** From which another tracker can go on, if `next` is the end of a record or of a page. */
  get position(): WalkPosition {
    const { next, lastRecordEnd, lastRecordStart } = this.walker;
    return { next, lastRecordEnd, lastRecordStart };
  }

  /** @throws Error if `start` is not where the last range ended; WalFormatError if this is no WAL: from then on always */
  add(start: Lsn, bytes: Uint8Array): void {
    if (start !== this.walker.next) {
      throw new Error(`WAL from ${formatLsn(start)} was added where ${formatLsn(this.walker.next)} is next`);
    }
    const fault = this.walker.add(bytes);
    if (fault !== null) throw new WalFormatError(fault);
  }

  /**
   * A new timeline begins at `at`; the next range does, too. What was added beyond, a part of a record, is nobody's.
   * @throws Error if a whole record ends above it, or none there
   */
  fork(at: Lsn): void {
    const end = this.walker.lastRecordEnd;
    if (at !== end) {
      const found = end === null ? 'is not known' : `is at ${formatLsn(end)}`;
      throw new Error(`A timeline forks at ${formatLsn(at)}, but the end of the last whole record ${found}`);
    }
    this.walker.fork();
  }
}

/** The end of the last whole record in `bytes`, which begin at `start`: the beginning of a page or a record. Null: none ends there. @throws WalFormatError */
export function lastRecordEnd(start: Lsn, bytes: Uint8Array): Lsn | null {
  const walker = new WalWalker(beginWalkAt(start));
  const fault = walker.add(bytes);
  if (fault !== null) throw new WalFormatError(fault);
  return walker.lastRecordEnd;
}
