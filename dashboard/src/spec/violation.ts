/** What of a behaviour it is that breaks what is violated: its last state, its last step, or how it goes on for ever. Pure. */
import { readConfig } from '../../../harness/tla/model-config.ts';
import type { Counterexample } from './counterexample.ts';

export interface Violation {
  readonly of: 'state' | 'step' | 'behaviour';
  /** Of the invariants or properties that it may be: TLC does not say which of several temporal ones it is. */
  readonly names: readonly string[];
}

/** @throws TlaError if the configuration cannot be read */
export function violationOf({
  violated,
  config,
  loop,
}: Pick<Counterexample, 'violated' | 'config' | 'loop'>): Violation {
  const { properties } = readConfig(config);
  const names = violated === 'Temporal' ? properties : [violated];
  if (loop !== null) return { of: 'behaviour', names };
  // A property that one step breaks is `[][A]_v`.
  return { of: properties.includes(violated) ? 'step' : 'state', names };
}
