/**
 * Puts into a summary what its files are called. Pure: who knows the names is asked by whoever calls.
 *
 * Names are those of now: a file that was dropped or written anew since has none.
 */
import type { RangeContent, RelationName, WalChange } from '../../../api/wal-summary.ts';
import type { RelationFile } from '../../../wal/record/block-references.ts';
import { byInterest } from './change-tally.ts';

/** The files that a summary speaks of, each once. */
export function filesOf({ transactions, background }: RangeContent): readonly RelationFile[] {
  const files = new Map<string, RelationFile>();
  for (const { tablespace, database, relation } of [
    ...transactions.flatMap(({ changes }) => changes),
    ...background,
  ]) {
    files.set(fileKey({ tablespace, database, relation }), { tablespace, database, relation });
  }
  return [...files.values()];
}

export function fileKey({ tablespace, database, relation }: RelationFile): string {
  return `${tablespace}/${database}/${relation}`;
}

/** `names` by `fileKey`. */
export function nameRelations(content: RangeContent, names: ReadonlyMap<string, RelationName>): RangeContent {
  function named(changes: readonly WalChange[]): readonly WalChange[] {
    const all = changes.map((change) =>
      Object.assign({}, change, { name: names.get(fileKey(change)) ?? null }),
    );
    return all.sort(byInterest);
  }
  return {
    ...content,
    transactions: content.transactions.map((transaction) =>
      Object.assign({}, transaction, { changes: named(transaction.changes) }),
    ),
    background: named(content.background),
  };
}
