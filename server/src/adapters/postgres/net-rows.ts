/**
 * The net change of one table over many effects: which rows go, which come, and which are replaced by which.
 *
 * As multisets of rows, what is there at the end is what was there before, less all rows that went, plus all that came: in whatever
 * order. That matters, for an effect is noted when its statement ends, so a statement that a trigger or a function of another
 * statement ran is noted before that one, and neither order of the two need be the order of the changes. It also makes a batch
 * cheap: a row that was updated a hundred times is written once. Pure.
 */
import type { Effect } from '../../apply/effects.ts';

export type RowEffect = Extract<Effect, { kind: 'insert' | 'update' | 'delete' }>;

export interface NetRows {
  readonly removed: readonly string[];
  readonly before: readonly string[];
  readonly after: readonly string[];
  readonly added: readonly string[];
}

/** Two rows of a table with a key had the same text: this way of netting cannot tell them apart. */
export class AmbiguousRowsError extends Error {
  override readonly name = 'AmbiguousRowsError';
}

export interface RowNetting {
  add(effect: RowEffect): void;
  result(): NetRows;
}

/** With `pairing`, an updated row stays an update; without, it goes and comes. Rows that are alike need the latter. */
export function createRowNetting(pairing: boolean): RowNetting {
  return pairing ? new PairedNetting() : new CountedNetting();
}

class CountedNetting implements RowNetting {
  private readonly counts = new Map<string, number>();

  add(effect: RowEffect): void {
    if (effect.kind === 'update') {
      for (const row of effect.before) this.count(row, -1);
      for (const row of effect.after) this.count(row, 1);
    } else {
      for (const row of effect.rows) this.count(row, effect.kind === 'insert' ? 1 : -1);
    }
  }

  private count(row: string, step: number): void {
    const next = (this.counts.get(row) ?? 0) + step;
    if (next === 0) this.counts.delete(row);
    else this.counts.set(row, next);
  }

  result(): NetRows {
    const removed: string[] = [];
    const added: string[] = [];
    for (const [row, count] of this.counts) {
      for (let i = 0; i < Math.abs(count); i += 1) (count > 0 ? added : removed).push(row);
    }
    return { removed, before: [], after: [], added };
  }
}

class PairedNetting implements RowNetting {
  /** Row that was there at first -> row that replaces it, and the way back. */
  private readonly replaced = new Map<string, string>();
  private readonly origin = new Map<string, string>();
  private readonly removed = new Set<string>();
  private readonly added = new Set<string>();

  add(effect: RowEffect): void {
    switch (effect.kind) {
      case 'insert':
        for (const row of effect.rows) this.come(null, row);
        return;
      case 'delete':
        for (const row of effect.rows) this.go(this.take(row));
        return;
      case 'update':
        for (let i = 0; i < effect.before.length; i += 1) {
          this.come(this.take(effect.before[i] ?? ''), effect.after[i] ?? '');
        }
    }
  }

  /** The row disappears. Returns the row of the beginning that it stood for, or null if it was not there then. */
  private take(row: string): string | null {
    if (this.added.delete(row)) return null;
    const first = this.origin.get(row);
    if (first === undefined) return row;
    this.origin.delete(row);
    this.replaced.delete(first);
    return first;
  }

  private go(first: string | null): void {
    if (first === null) return;
    if (this.removed.has(first) || this.replaced.has(first)) throw new AmbiguousRowsError(first);
    this.removed.add(first);
  }

  /** `row` appears, in place of `first` or (null) as a new one. */
  private come(first: string | null, row: string): void {
    if (first === row) return;
    // A row that an effect noted earlier has taken already: the two changes meet here and cancel out.
    if (this.removed.delete(row)) {
      this.go(first);
      return;
    }
    const next = this.replaced.get(row);
    if (next !== undefined) {
      this.replaced.delete(row);
      this.origin.delete(next);
      this.come(first, next);
      return;
    }
    if (first === null) {
      if (this.added.has(row) || this.origin.has(row)) throw new AmbiguousRowsError(row);
      this.added.add(row);
      return;
    }
    if (this.replaced.has(first) || this.removed.has(first) || this.origin.has(row) || this.added.has(row)) {
      throw new AmbiguousRowsError(row);
    }
    this.replaced.set(first, row);
    this.origin.set(row, first);
  }

  result(): NetRows {
    return {
      removed: [...this.removed],
      before: [...this.replaced.keys()],
      after: [...this.replaced.values()],
      added: [...this.added],
    };
  }
}
