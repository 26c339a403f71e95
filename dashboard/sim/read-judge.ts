/**
 * Whether reads are linearizable, as far as rows show it that are written once and not taken away while they are asked for: a read shows each row that was acknowledged, or shown to anybody, before it began.
 *
 * Pure. Invariant: memory is bounded by `rowsMax`; a row that was let go of is not asked for any more.
 */
export class ReadJudge {
  /** Acknowledged, or shown to somebody. */
  private readonly known = new Set<number>();
  private readonly rowsMax: number;

  constructor(rowsMax: number) {
    this.rowsMax = rowsMax;
  }

  acknowledged(row: number): void {
    this.know(row);
  }

  /** What a read that begins now, and looks at all rows from `from` on, must show. */
  begins(from: number): readonly number[] {
    return [...this.known].filter((row) => row >= from);
  }

  /** What it did not show of that, the lowest row first. */
  ends(must: readonly number[], shown: Iterable<number>): readonly number[] {
    const found = new Set(shown);
    for (const row of found) this.know(row);
    return must.filter((row) => !found.has(row)).toSorted((one, other) => one - other);
  }

  private know(row: number): void {
    this.known.add(row);
    if (this.known.size <= this.rowsMax) return;
    const [oldest] = this.known;
    this.known.delete(oldest!);
  }
}
