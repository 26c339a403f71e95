/**
 * Reads the records of WAL that arrives in pieces.
 *
 * Responsible for: whole records in order, each given to a listener, whichever pieces it came in. Pure.
 * Invariants: a record that is not whole yet is kept up to `keptBytesMax`; a longer one is reported without its data.
 */
import type { Lsn } from '../lsn.ts';
import type { PostgresVersion } from './page-header.ts';
import { RecordChecksum } from './record-checksum.ts';
import { RecordKeeper, type UnfinishedRecord } from './record-keeper.ts';
import { WalFormatError, type WalFault } from './wal-fault.ts';
import { readRecord, type WalRecord } from './wal-record.ts';
import { WalWalker } from './wal-walker.ts';
import { beginWalkAt, type WalkPosition } from './walk-position.ts';

export interface RecordReaderOptions {
  /** Of the PostgreSQL that wrote it, for records before the first page that begins in what is read; default 18. */
  readonly version?: PostgresVersion;
  /** Compares each record with its checksum; default false. */
  readonly checksums?: boolean;
  /** Of one record; default 1 MiB. At least the headers of its parts are kept. */
  readonly keptBytesMax?: number;
}

export class RecordReader {
  private readonly walker: WalWalker;
  private readonly keeper: RecordKeeper;

  /** `main` of a record may be a view of what was added. @throws Error if `start` is the beginning of neither a page nor a record */
  constructor(start: WalkPosition, onRecord: (record: WalRecord) => void, options: RecordReaderOptions = {}) {
    const { version = 18, checksums = false, keptBytesMax = 1024 * 1024 } = options;
    this.keeper = new RecordKeeper({
      keptBytesMax,
      checksum: checksums ? new RecordChecksum() : null,
      onRecord: ({ bytes, length, lsn, end }) => {
        const record = readRecord(bytes, length, { version: this.walker.version ?? version, lsn, end });
        if ('code' in record) return record;
        onRecord(record);
        return null;
      },
    });
    this.walker = new WalWalker(start, this.keeper);
  }

  /** See RecordTracker. */
  get lastRecordEnd(): Lsn | null {
    return this.walker.lastRecordEnd;
  }

  get next(): Lsn {
    return this.walker.next;
  }

  get unfinished(): UnfinishedRecord | null {
    return this.keeper.unfinished;
  }

  /** Takes the bytes at `next`. Null: they are WAL. After a fault nothing is taken any more. */
  add(bytes: Uint8Array): WalFault | null {
    return this.walker.add(bytes);
  }

  /** See RecordTracker. */
  fork(): void {
    this.walker.fork();
  }
}

/**
 * The whole records that begin in `bytes`, in order. `bytes` begin at `start`, the beginning of a page or a record.
 * @throws WalFormatError if they are no WAL: not even those before are returned
 */
export function readRecords(
  start: Lsn,
  bytes: Uint8Array,
  options: RecordReaderOptions = {},
): readonly WalRecord[] {
  const records: WalRecord[] = [];
  const reader = new RecordReader(beginWalkAt(start), (record) => records.push(record), options);
  const fault = reader.add(bytes);
  if (fault !== null) throw new WalFormatError(fault);
  return records;
}
