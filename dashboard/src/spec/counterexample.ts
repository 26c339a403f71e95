/**
 * What TLC found for a bug model: the behaviour that breaks an invariant or a property, as specs/counterexamples has it (made by scripts/specs/counterexamples.ts).
 *
 * Pure: the form of those files, and what each of their steps says in full.
 */
import { readPrintedValue } from '../../../harness/tla/read-literal.ts';
import type { Value } from '../../../harness/tla/value.ts';

/** Where an action stands in a module, both ends included, counted from 1. */
export interface TextPlace {
  readonly module: string;
  readonly line: number;
  readonly column: number;
  readonly endLine: number;
  readonly endColumn: number;
}

export interface CounterexampleStep {
  /** As TLC names it; null: the first state, or an action that has no name. */
  readonly action: string | null;
  /** Null: the first state. */
  readonly place: TextPlace | null;
  /** The action that it is, and what it was taken with, by the names of its parameters; left out: that is not certain. */
  readonly by?: { readonly name: string; readonly operands: Readonly<Record<string, string>> };
  /** The variables that have another value than in the state before, as TLC writes them; of the first state all. */
  readonly changed: Readonly<Record<string, string>>;
}

/** How a behaviour goes on for ever behind its last state. */
export type CounterexampleLoop =
  | { readonly kind: 'stutters' }
  /** `state` counts from 1. */
  | { readonly kind: 'back'; readonly state: number; readonly action: string | null };

/** As the index has it. */
export interface ListedCounterexample {
  /** The bug model's. */
  readonly name: string;
  readonly module: string;
  readonly cfg: string;
  /** What dropping the rule leads to, in words. */
  readonly shows: string;
  /** The invariant or property; `Temporal` where TLC names none. */
  readonly violated: string;
  readonly states: number;
}

export interface Counterexample extends Omit<ListedCounterexample, 'states'> {
  /** A digest of the model and all its modules. */
  readonly madeFrom: string;
  /** The text of the model's configuration. */
  readonly config: string;
  /** What the configuration puts in the place of what, and that of no model that is true: there lies the bug. */
  readonly dropped: readonly { readonly rule: string; readonly by: string }[];
  readonly loop: CounterexampleLoop | null;
  readonly steps: readonly CounterexampleStep[];
}

export type StateValues = ReadonlyMap<string, Value>;

/** The state behind each step. @throws TlaError at what is no value */
export function statesOf({ steps }: Pick<Counterexample, 'steps'>): readonly StateValues[] {
  const states: StateValues[] = [];
  for (const { changed } of steps) {
    const state = new Map(states.at(-1));
    for (const [name, text] of Object.entries(changed)) state.set(name, readPrintedValue(text));
    states.push(state);
  }
  return states;
}

/** The file that it is in, and the specification that its bugs are planted in. */
export function familyOf(name: string): string {
  return name.split('-')[0]!;
}

/** The name without its family, as words: `promise before fsync`. */
export function titleOf(name: string): string {
  return name.split('-').slice(1).join(' ');
}
