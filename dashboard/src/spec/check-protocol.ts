/** What a page and the Worker that holds its run to the specifications tell each other, and the verdict. */
import type { TraceEvent } from '../../../server/src/api/events.ts';

export interface ToChecker {
  readonly kind: 'check';
  /** In the order in which they came. */
  readonly events: readonly TraceEvent[];
}

/** An event that a specification does not allow. */
export interface Refusal {
  /** Of the specification: its definition is the text of the step. */
  readonly action: string;
  readonly replica: string;
  readonly reason: string;
  /** Counts from 1 among those that were checked; 0: the run contradicts itself, before the specification was asked. */
  readonly number: number;
  /** Null: the step belongs to no event of its own. */
  readonly event: TraceEvent | null;
}

export interface LayerVerdict {
  /** The module: MultiPaxos, OrderedApply, Lease, Paxos, PrimaryCopies. */
  readonly module: string;
  readonly accepted: number;
  readonly refusal: Refusal | null;
  /** Why there is none; null: there is. */
  readonly notJudged: string | null;
}

export interface Verdict {
  readonly layers: readonly LayerVerdict[];
  /** What of the run was left out of it, and why; null: it is all that was told. */
  readonly leftOut: string | null;
}

export type FromChecker =
  | { readonly kind: 'progress'; readonly done: number; readonly all: number }
  | { readonly kind: 'verdict'; readonly verdict: Verdict }
  /** There will be none; in words. */
  | { readonly kind: 'failed'; readonly message: string };
