/** Which transactions are committed in WAL: for the trace, which says so of each range that is shipped, and for comparisons. Costs more than shipping it, so each range is read only where a trace is recorded. */
import { segmentBytes, type Lsn } from '../../wal/lsn.ts';
import { segmentEnd } from '../../wal/record/places.ts';
import { RecordReader } from '../../wal/record/record-reader.ts';
import { readTransactionEnd } from '../../wal/record/transaction-end.ts';
import type { WalFault } from '../../wal/record/wal-fault.ts';
import { beginWalkAt } from '../../wal/record/walk-position.ts';

const epoch = 2n ** 32n;

export class CommitReader {
  private readonly newest: () => bigint;
  private reader: RecordReader;
  /** Where the reader began. */
  private begin: Lsn;
  private at: Lsn;
  private found: string[] = [];
  private firstFault: WalFault | null = null;

  /** `start`: the beginning of a page or a record; may lie behind a switch of segments. `newest`: about the newest full transaction id; a record has the lower 32 bits only. */
  constructor(start: Lsn, newest: () => bigint) {
    this.newest = newest;
    this.begin = start;
    this.at = start;
    this.reader = this.readerAt(start);
  }

  private readerAt(start: Lsn): RecordReader {
    return new RecordReader(beginWalkAt(start), (record) => {
      const end = readTransactionEnd(record);
      if (end !== null && (end.kind === 'commit' || end.kind === 'commitPrepared'))
        this.found.push(this.fullId(end.xid));
    });
  }

  /** Full ids of the transactions whose commit record ends in these bytes, in order. */
  take(chunks: readonly Uint8Array[]): readonly string[] {
    this.found = [];
    for (const chunk of chunks) {
      this.read(chunk);
      this.at = (this.at + chunk.length) as Lsn;
    }
    return this.found;
  }

  /** The first byte that was not taken. */
  get next(): Lsn {
    return this.at;
  }

  /** Why nothing was found any more since then: it is no WAL. */
  get fault(): WalFault | null {
    return this.firstFault;
  }

  private read(chunk: Uint8Array): void {
    const bytes = chunk.subarray(Math.max(0, this.begin - this.at));
    if (bytes.length === 0 || this.firstFault !== null) return;
    const fault = this.reader.add(bytes);
    if (fault === null) return;
    if (fault.at !== this.begin || !isRestOfSegment(fault)) {
      this.firstFault = fault;
      return;
    }
    this.begin = segmentEnd(fault.at + 1);
    this.reader = this.readerAt(this.begin);
    this.read(chunk);
  }

  /** The one nearest to the newest. */
  private fullId(low: number): string {
    const newest = this.newest();
    const candidate = newest - (newest % epoch) + BigInt(low);
    const half = epoch / 2n;
    if (candidate > newest + half) return String(candidate - epoch);
    return String(candidate < newest - half ? candidate + epoch : candidate);
  }
}

/**
 * WAL has a page without a header only behind a switch of segments. It is empty as a rule; one that was shipped after a crash may hold what the file had held before.
 */
function isRestOfSegment({ code, at }: WalFault): boolean {
  return (code === 'zeros' || code === 'pageHeader') && at % segmentBytes !== 0;
}
