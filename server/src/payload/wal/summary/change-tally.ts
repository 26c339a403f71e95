/** Adds up what records change, file by file. Pure. */
import type { WalChange } from '../../../api/wal-summary.ts';
import type { RelationFile } from '../../../wal/record/block-references.ts';
import type { WalRecord } from '../../../wal/record/wal-record.ts';
import { rowCounts, type RowCounts } from './row-counts.ts';

type Mutable<T> = { -readonly [K in keyof T]: T[K] };

/** Files below are PostgreSQL's own, unless they were written anew. */
const firstUserRelation = 16_384;

export class ChangeTally {
  private readonly byFile = new Map<string, Mutable<WalChange>>();

  /** Rows count for the first block's file; the others of the record are only touched. */
  add(record: WalRecord): void {
    const seen: RelationFile[] = [];
    for (const block of record.blocks) {
      if (seen.some((file) => file.relation === block.relation && file.database === block.database)) continue;
      const change = this.of(block);
      change.records += 1;
      if (seen.length === 0) count(change, rowCounts(record));
      seen.push(block);
    }
  }

  /** All of another one, which is not used any more. */
  merge(other: ChangeTally): void {
    for (const change of other.byFile.values()) {
      const own = this.of(change);
      own.records += change.records;
      count(own, change);
    }
  }

  /** Those of users' tables first, then those with most rows. */
  list(): readonly WalChange[] {
    return [...this.byFile.values()].sort(byInterest);
  }

  private of({ tablespace, database, relation }: RelationFile): Mutable<WalChange> {
    const key = `${tablespace}/${database}/${relation}`;
    const found = this.byFile.get(key);
    if (found !== undefined) return found;
    const empty = { name: null, inserted: 0, updated: 0, deleted: 0, records: 0 };
    const change = { tablespace, database, relation, ...empty };
    this.byFile.set(key, change);
    return change;
  }
}

function count(change: Mutable<WalChange>, { inserted, updated, deleted }: RowCounts): void {
  change.inserted += inserted;
  change.updated += updated;
  change.deleted += deleted;
}

export function byInterest(a: WalChange, b: WalChange): number {
  return Number(isSystem(a)) - Number(isSystem(b)) || rowsOf(b) - rowsOf(a) || b.records - a.records;
}

function isSystem({ name, relation }: WalChange): boolean {
  return name?.isSystem ?? relation < firstUserRelation;
}

function rowsOf({ inserted, updated, deleted }: WalChange): number {
  return inserted + updated + deleted;
}
