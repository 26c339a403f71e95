/**
 * What a bug is that is planted.
 *
 * Invariant: each breaks one rule of the product's source, at every place where that rule stands; none helps the judge.
 */
import type { ScheduleOptions } from './group-schedule.ts';
import type { LeaseEvent } from '../conformance/lease/lease-event.ts';
import type { Mutation } from '../nemesis/mutate.ts';

export interface PlantedBug {
  readonly name: string;
  /** What is wrong, in one sentence. */
  readonly sentence: string;
  /** `file` is below server/src. */
  readonly mutations: readonly Mutation[];
  /** Faults under which it shows soon, and a seed from which it does. */
  readonly strain: Pick<
    ScheduleOptions,
    'only' | 'mix' | 'replicas' | 'restMs' | 'archives' | 'followerReads'
  >;
  readonly seed: number;
  /** What one line of the judge says of it. */
  readonly expected: RegExp;
}

/** A bug of the lease: the specification of leases refuses what its groups record, whatever the judge of groups says. */
export interface PlantedLeaseBug extends Omit<PlantedBug, 'expected'> {
  /** At one of these it is refused. */
  readonly refusedAt: readonly LeaseEvent['name'][];
}
