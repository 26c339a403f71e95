/** What is recorded of the lease, and the steps of specs/TraceLease.tla that it becomes. */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { Ballot } from '../../../server/src/multipaxos/types/names.ts';

export type LeaseEvent = Extract<TraceEvent, { layer: 'lease' }>;

/** The lease that an event tells, in numbers: b is 0 where its replica does not lead. */
export interface LeaseFields {
  readonly b: number;
  readonly v: number;
  readonly u: number;
  readonly k: readonly number[];
}

export type StepFields = Readonly<Record<string, number | boolean | readonly number[] | LeaseFields>>;

export interface LeaseStep {
  readonly action: string;
  readonly fields: StepFields;
  /** Null: it was put in. */
  readonly event: LeaseEvent | null;
}

/** All that a judge is given of a run. */
export interface LeaseSteps {
  readonly steps: readonly LeaseStep[];
  readonly replicas: number;
  /** The replica that owns each ballot, from the lowest. */
  readonly owners: readonly number[];
  /** Who votes in each configuration, from the first. */
  readonly voters: readonly (readonly number[])[];
  readonly terms: LeaseTerms;
}

/** In ticks: how long followers keep their word, and how long a leader counts. `drift`: of clocks, in thousandths. */
export interface LeaseTerms {
  readonly leaseLength: number;
  readonly leaderLength: number;
  readonly drift: number;
}

export function ballotKey({ round, replica }: Ballot): string {
  return `${round}.${replica}`;
}
