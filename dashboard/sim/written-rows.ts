/**
 * The conscience of a simulated load: which rows its clients were told to be written, and whether each replica's database has them.
 *
 * Responsible for: when a replica is looked into: it must have applied all that anybody had known to be chosen when its look began, as a linearizable read would wait for that. Judges nothing itself (server/src/demo/load/conscience.ts). Changes nothing that is simulated.
 */
import type { LoadFinding, LoadSettings, LoadStatus } from '../../server/src/api/load.ts';
import { Conscience, type Look, type WriteOutcome } from '../../server/src/demo/load/conscience.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { MemoryGroup } from '../../server/src/replica/testing/memory-group.ts';
import type { TransactionEnd, Write } from '../../server/src/replica/testing/memory-client.ts';
import { ReadJudge } from './read-judge.ts';

/** Some minutes of its clients. */
const rowsMax = 2_000;
/** In one list of the model's. */
const rowsTogether = 100;

/** A row that is about to be written; `dropped`: the list that goes along with it, of whose rows none is judged any more. */
export interface WrittenRow {
  readonly id: number;
  readonly dropped: string | null;
  /** The lists of older rows first. */
  readonly writes: readonly Write[];
}

/** A read that has begun: the lists that it reads beside its own, and what these must show. */
export interface JudgedRead {
  readonly keys: readonly string[];
  readonly must: readonly number[];
}

interface PendingLook {
  readonly look: Look;
  readonly commitPoint: number;
}

export class WrittenRows {
  private readonly group: MemoryGroup;
  private readonly conscience = new Conscience(0, rowsMax);
  private readonly pending = new Map<ReplicaId, PendingLook>();
  private newest = 0;
  /** The lists of all rows below were dropped. */
  private dropped = 0;
  /** Known to be chosen by anybody when a client was told, or since: whoever knew it may be gone when the others are looked into. */
  private chosen = 0;
  /** By the row, when its client was told. Of as many rows as are judged. */
  private readonly acknowledgedAtMs = new Map<number, number>();
  private readonly reads = new ReadJudge(rowsMax);
  private firstLost: LoadFinding | null = null;
  private firstStale: LoadFinding | null = null;
  private stale = 0;

  constructor(group: MemoryGroup) {
    this.group = group;
  }

  /** What goes along with a transaction that writes. */
  begins(): WrittenRow {
    const id = this.conscience.begins();
    this.newest = id;
    const dropped = this.isDropDue(id) ? keyOf(this.dropped) : null;
    const row = { key: keyOf(id), value: String(id) };
    return { id, dropped, writes: dropped === null ? [row] : [{ key: dropped, value: null }, row] };
  }

  /** Sooner than lists are begun: some transactions are refused. */
  private isDropDue(id: number): boolean {
    return id % (rowsTogether / 2) === 0 && this.dropped + rowsTogether <= this.conscience.floor;
  }

  ends({ id, dropped }: WrittenRow, end: TransactionEnd): void {
    const outcome = outcomeOf(end);
    this.conscience.ends(id, outcome);
    if (outcome !== 'acknowledged') return;
    if (dropped === keyOf(this.dropped)) this.dropped += rowsTogether;
    this.hearChosen();
    this.reads.acknowledged(id);
    this.acknowledgedAtMs.set(id, this.group.time.nowMs());
    if (this.acknowledgedAtMs.size <= rowsMax) return;
    const [oldest] = this.acknowledgedAtMs.keys();
    this.acknowledgedAtMs.delete(oldest!);
  }

  private hearChosen(): void {
    const { group } = this;
    const known = group.ids.map((id) => group.member(id).replica?.status(0).commitPoint ?? 0);
    this.chosen = Math.max(this.chosen, ...known);
  }

  /** The newest rows are read along with what somebody reads. */
  beginsRead(): JudgedRead {
    const from = Math.max(0, (Math.floor(this.newest / rowsTogether) - 1) * rowsTogether);
    const keys = [...new Set([keyOf(from), keyOf(this.newest)])];
    return { keys, must: this.reads.begins(from) };
  }

  /** `lists`: of its keys; `at`: through which replica. */
  endsRead({ must }: JudgedRead, end: TransactionEnd, at: string | null): void {
    this.conscience.read(end.kind === 'done' ? 'answered' : 'refused');
    if (end.kind !== 'done') return;
    const [, ...lists] = end.lists;
    const [missing] = this.reads.ends(must, lists.flat().map(Number));
    if (missing === undefined) return;
    this.stale += 1;
    this.firstStale ??= this.finding('stale', missing, at ?? '');
  }

  /** At those that have come so far, and from those on anew. */
  look(): void {
    const { ids } = this.group;
    for (const id of ids) this.lookInto(id);
    this.hearChosen();
    for (const id of ids)
      if (!this.pending.has(id))
        this.pending.set(id, { look: this.conscience.look(), commitPoint: this.chosen });
  }

  private lookInto(id: ReplicaId): void {
    const { replica, postgres } = this.group.member(id);
    const pending = this.pending.get(id);
    const status = replica?.status(0) ?? null;
    if (status === null || postgres.run === null) return this.conscience.failed(id, `${id} does not answer`);
    if (status.state !== 'serving')
      return this.conscience.failed(id, status.message ?? `${id} is ${status.state}`);
    if (pending === undefined || status.applicationPointer < pending.commitPoint) return;
    this.pending.delete(id);
    const nowMs = this.group.time.nowMs();
    this.conscience.judge(id, pending.look, this.presentAt(id, pending.look.floor), nowMs);
    const [row] = this.conscience.lost().lostIds;
    if (row !== undefined) this.firstLost ??= this.finding('lost', row, id);
  }

  private finding(kind: LoadFinding['kind'], row: number, replica: string): LoadFinding {
    const acknowledgedAtMs = this.acknowledgedAtMs.get(row) ?? null;
    return { kind, row, replica, acknowledgedAtMs, foundAtMs: this.group.time.nowMs() };
  }

  private presentAt(id: ReplicaId, floor: number): ReadonlySet<number> {
    const { run } = this.group.member(id).postgres;
    const present = new Set<number>();
    for (let row = floor + 1; row <= this.newest; row += rowsTogether)
      for (const key of new Set([keyOf(row), keyOf(Math.min(row + rowsTogether - 1, this.newest))]))
        for (const value of run?.buffers.list(key, () => true) ?? []) present.add(Number(value));
    return present;
  }

  status(settings: LoadSettings): LoadStatus {
    const { conscience, group } = this;
    const replicas = conscience.atReplicas(group.ids, group.time.nowMs());
    const findings = [this.firstLost, this.firstStale].filter((one) => one !== null);
    return {
      settings,
      counts: conscience.counts(),
      ...conscience.lost(),
      stale: this.stale,
      findings,
      replicas,
    };
  }
}

function keyOf(row: number): string {
  return `written_${Math.floor(row / rowsTogether)}`;
}

function outcomeOf(end: TransactionEnd): WriteOutcome {
  if (end.kind === 'done') return 'acknowledged';
  if (end.kind === 'refused') return 'refused';
  if (end.outcome === 'committed') return 'acknowledged';
  return end.outcome === 'notCommitted' ? 'refused' : 'unknown';
}
