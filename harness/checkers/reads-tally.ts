/** How many reads in each mode were answered, and where; and which modes nobody was answered in at a follower, so that nothing is known of them. Pure. */
import type { Call } from './history.ts';
import type { ReadMode } from './read-terms.ts';

export interface ReadCount {
  readonly mode: ReadMode;
  readonly atFollowers: number;
  readonly atLeader: number;
  readonly refused: number;
}

/** `modes`: in which clients were to read. */
export function tallyReads(calls: readonly Call[], modes: readonly ReadMode[]): readonly ReadCount[] {
  return modes.map((mode) => {
    const count = { mode, atFollowers: 0, atLeader: 0, refused: 0 };
    for (const { terms, outcome } of calls) {
      if (terms?.mode !== mode) continue;
      if (outcome !== 'ok') count.refused++;
      else if (terms.by === 'follower') count.atFollowers++;
      else count.atLeader++;
    }
    return count;
  });
}

/** Those of several histories together. */
export function sumReads(counts: readonly ReadCount[]): readonly ReadCount[] {
  const sums = new Map<ReadMode, ReadCount>();
  for (const { mode, atFollowers, atLeader, refused } of counts) {
    const sum = sums.get(mode) ?? { mode, atFollowers: 0, atLeader: 0, refused: 0 };
    sums.set(mode, {
      mode,
      atFollowers: sum.atFollowers + atFollowers,
      atLeader: sum.atLeader + atLeader,
      refused: sum.refused + refused,
    });
  }
  return [...sums.values()];
}

export function modesWithoutReads(counts: readonly ReadCount[]): readonly ReadMode[] {
  return sumReads(counts).flatMap(({ mode, atFollowers }) => (atFollowers === 0 ? [mode] : []));
}
