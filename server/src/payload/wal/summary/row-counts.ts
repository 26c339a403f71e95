/** How many rows of a table a record inserts, updates and deletes. Pure. Source: src/include/access/heapam_xlog.h of PostgreSQL. */
import { readU16 } from '../../../wal/record/little-endian.ts';
import type { WalRecord } from '../../../wal/record/wal-record.ts';

export interface RowCounts {
  readonly inserted: number;
  readonly updated: number;
  readonly deleted: number;
}

const none: RowCounts = { inserted: 0, updated: 0, deleted: 0 };
const one: Readonly<Record<string, RowCounts>> = {
  INSERT: { ...none, inserted: 1 },
  'INSERT+INIT': { ...none, inserted: 1 },
  UPDATE: { ...none, updated: 1 },
  'UPDATE+INIT': { ...none, updated: 1 },
  HOT_UPDATE: { ...none, updated: 1 },
  'HOT_UPDATE+INIT': { ...none, updated: 1 },
  DELETE: { ...none, deleted: 1 },
};
/** In the data of a MULTI_INSERT: flags, then the number of rows. */
const rowsAt = 2;

export function rowCounts({ manager, operation, main }: WalRecord): RowCounts {
  if (manager === 'Heap') return one[operation] ?? none;
  if (manager !== 'Heap2' || !operation.startsWith('MULTI_INSERT') || main === null) return none;
  return { ...none, inserted: main.length < rowsAt + 2 ? 0 : readU16(main, rowsAt) };
}
