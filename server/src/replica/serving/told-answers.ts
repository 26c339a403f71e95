/**
 * Tells of the answers that leave under the lease, for traces: one of many, with the lease that it rests on.
 *
 * Responsible for: which of them are told. Costs a question while nobody wants to know. Spec: RunRead and AnswerRead of Lease.tla.
 * Invariant: once one has been told, the next one that is not told leaves within some milliseconds, in the same generation.
 */
import type { LeaseTraceEvent } from '../../api/events.ts';
import type { TracedLease } from '../../multipaxos/types/lease-trace.ts';
import type { Ballot } from '../../multipaxos/types/names.ts';

export interface ToldAnswersOptions {
  readonly isWanted: () => boolean;
  /** Null: this replica does not lead. */
  readonly lease: () => TracedLease | null;
  readonly onEvent: (event: LeaseTraceEvent) => void;
  readonly everyMs: number;
}

/** `ranMs`: when what it tells had been read, at the latest. `nowMs`: when it leaves. */
export interface LeavingAnswer {
  readonly generation: number;
  readonly ranMs: number;
  readonly nowMs: number;
}

export class ToldAnswers {
  private readonly options: ToldAnswersOptions;
  private toldAtMs = Number.NEGATIVE_INFINITY;
  private toldGeneration = 0;
  private refusedGeneration = 0;

  constructor(options: ToldAnswersOptions) {
    this.options = options;
  }

  /** From now on reads run in this generation. */
  begins(generation: number, leadership: Ballot, nowMs: number): void {
    this.options.onEvent({ name: 'RunRead', clockMs: nowMs, generation, leadership });
  }

  leaves({ generation, ranMs, nowMs }: LeavingAnswer): void {
    const { isWanted, lease, onEvent, everyMs } = this.options;
    if (!isWanted()) return;
    const isSoon = nowMs < this.toldAtMs + everyMs && generation === this.toldGeneration;
    this.refusedGeneration = 0;
    if (isSoon) return;
    this.toldAtMs = nowMs;
    this.toldGeneration = generation;
    onEvent({ name: 'AnswerRead', clockMs: nowMs, generation, ranMs, lease: lease() });
  }

  /** For want of the lease. Told once, until an answer leaves again. */
  refused(generation: number, nowMs: number): void {
    const { isWanted, lease, onEvent } = this.options;
    if (!isWanted() || generation === this.refusedGeneration) return;
    this.refusedGeneration = generation;
    onEvent({ name: 'RefuseAnswer', clockMs: nowMs, generation, lease: lease() });
  }
}
