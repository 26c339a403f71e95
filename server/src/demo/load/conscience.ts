/**
 * What became of each write, by what its client was told, and whether each replica has what it must have.
 *
 * Pure; the same for a cluster of processes and for a simulated group. Invariants: a write is lost only if it was acknowledged before a replica was asked for its rows, and was not among them; a write that was let go of is judged no more; memory is bounded by `rowsMax`.
 */
import type { LoadAtReplica, LoadCounts } from '../../api/load.ts';

export type WriteOutcome = 'acknowledged' | 'refused' | 'unknown';

/** What was known ahead of a question to a replica: rows of above `floor` are asked for. */
export interface Look {
  readonly floor: number;
  readonly acknowledged: readonly number[];
  readonly refused: readonly number[];
}

interface Checked {
  readonly atMs: number;
  readonly missing: number;
}

/** Each replica is looked into several times before the busiest load comes round. */
const rowsMaxUsual = 20_000;
const lostIdsMax = 10;

export class Conscience {
  private readonly outcomes = new Map<number, WriteOutcome | null>();
  private readonly checked = new Map<string, Checked>();
  private readonly problems = new Map<string, string>();
  /** Of the rows that are judged. */
  private readonly lostRows = new Set<number>();
  private readonly risenRows = new Set<number>();
  /** The first few, whatever has been let go of since. */
  private readonly lostIds: number[] = [];
  /** Of the rows that were let go of. */
  private lostBefore = 0;
  private risenBefore = 0;
  private next: number;
  private lowest: number;
  private acknowledged = 0;
  private refused = 0;
  private unknown = 0;
  private reads = 0;
  private readsRefused = 0;

  private readonly rowsMax: number;

  /** `lastId`: of an earlier load, which is not judged. */
  constructor(lastId = 0, rowsMax = rowsMaxUsual) {
    this.rowsMax = rowsMax;
    this.next = lastId + 1;
    this.lowest = lastId;
  }

  /** Rows at or below are judged no more, and may be deleted. */
  get floor(): number {
    return this.lowest;
  }

  /** The id of a write that is about to be sent. */
  begins(): number {
    const id = this.next;
    this.next += 1;
    this.outcomes.set(id, null);
    while (this.outcomes.size > this.rowsMax) {
      const [oldest] = this.outcomes.keys();
      this.letGo(oldest!);
    }
    return id;
  }

  private letGo(row: number): void {
    this.outcomes.delete(row);
    this.lowest = row;
    if (this.lostRows.delete(row)) this.lostBefore += 1;
    if (this.risenRows.delete(row)) this.risenBefore += 1;
  }

  ends(id: number, outcome: WriteOutcome): void {
    this[outcome] += 1;
    if (this.outcomes.has(id)) this.outcomes.set(id, outcome);
  }

  /** `missing`: a write that was acknowledged, and was not there. */
  read(outcome: 'answered' | 'refused' | { readonly missing: number }): void {
    if (outcome === 'refused') this.readsRefused += 1;
    else this.reads += 1;
    if (typeof outcome === 'object' && outcome.missing > this.lowest) this.lose(outcome.missing);
  }

  /** Ahead of the question. */
  look(): Look {
    const of = (wanted: WriteOutcome): number[] =>
      [...this.outcomes].flatMap(([id, outcome]) => (outcome === wanted ? [id] : []));
    return { floor: this.lowest, acknowledged: of('acknowledged'), refused: of('refused') };
  }

  /** Behind the answer: what the replica has above the floor. */
  judge(replica: string, look: Look, present: ReadonlySet<number>, nowMs: number): void {
    // Others may have been deleted meanwhile.
    const missing = look.acknowledged.filter((id) => id > this.lowest && !present.has(id));
    for (const id of missing) this.lose(id);
    for (const id of look.refused) if (id > this.lowest && present.has(id)) this.risenRows.add(id);
    this.checked.set(replica, { atMs: nowMs, missing: missing.length });
    this.problems.delete(replica);
  }

  /** It could not be asked. */
  failed(replica: string, problem: string): void {
    this.problems.set(replica, problem);
  }

  private lose(id: number): void {
    if (!this.lostRows.has(id) && this.lostIds.length < lostIdsMax) this.lostIds.push(id);
    this.lostRows.add(id);
  }

  counts(): LoadCounts {
    const { acknowledged, refused, unknown, reads, readsRefused } = this;
    return { acknowledged, refused, unknown, reads, readsRefused };
  }

  lost(): { readonly lost: number; readonly lostIds: readonly number[]; readonly risen: number } {
    return {
      lost: this.lostBefore + this.lostRows.size,
      lostIds: [...this.lostIds],
      risen: this.risenBefore + this.risenRows.size,
    };
  }

  atReplicas(ids: readonly string[], nowMs: number): readonly LoadAtReplica[] {
    return ids.map((id) => {
      const checked = this.checked.get(id);
      return {
        id,
        checkedAgoMs: checked === undefined ? null : nowMs - checked.atMs,
        missing: checked?.missing ?? 0,
        problem: this.problems.get(id) ?? null,
      };
    });
  }
}
