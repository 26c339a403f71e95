/** Which transactions end in WAL that is shipped: for the trace, which says so of each range. Costs more than shipping it, so it is done only where a trace is recorded. */
import type { Lsn } from '../../wal/lsn.ts';
import { RecordReader } from '../../wal/record/record-reader.ts';
import { readTransactionEnd } from '../../wal/record/transaction-end.ts';
import type { WalFault } from '../../wal/record/wal-fault.ts';
import { beginWalkAt } from '../../wal/record/walk-position.ts';

const epoch = 2n ** 32n;

export class CommitReader {
  private readonly reader: RecordReader;
  private readonly newest: () => bigint;
  private found: string[] = [];
  private firstFault: WalFault | null = null;

  /** `newest`: about the newest full transaction id; a record has the lower 32 bits only. */
  constructor(start: Lsn, newest: () => bigint) {
    this.newest = newest;
    this.reader = new RecordReader(beginWalkAt(start), (record) => {
      const end = readTransactionEnd(record);
      if (end !== null && (end.kind === 'commit' || end.kind === 'commitPrepared'))
        this.found.push(this.fullId(end.xid));
    });
  }

  /** Full ids of the transactions whose commit record ends in these bytes, in order. */
  take(chunks: readonly Uint8Array[]): readonly string[] {
    this.found = [];
    for (const chunk of chunks) this.firstFault ??= this.reader.add(chunk);
    return this.found;
  }

  /** Why nothing was found any more since then: it is no WAL. */
  get fault(): WalFault | null {
    return this.firstFault;
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
