/** What a transaction puts at the end of lists, for those who judge lists that only grow. */
import type { Transaction } from '../../server/src/replica/testing/memory-client.ts';

export interface Append {
  readonly key: string;
  readonly value: string;
}

/** @throws Error if it drops a list: nobody here could tell what is missing then */
export function appendsOf({ writes }: Transaction): readonly Append[] {
  return writes.map(({ key, value }) => {
    if (value === null) throw new Error(`${key} was dropped, and lists are judged that only grow`);
    return { key, value };
  });
}
