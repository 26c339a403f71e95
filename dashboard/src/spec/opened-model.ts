/** A model, opened to be walked through by hand: with the evaluator of harness/tla where that reads it. Pure. */
import { readConfig } from '../../../harness/tla/model-config.ts';
import {
  type ActionUse,
  type NextState,
  openModel,
  type OpenModel,
} from '../../../harness/tla/open-model.ts';
import type { Value } from '../../../harness/tla/value.ts';
import type { StateValues } from './counterexample.ts';
import { briefOf, lineOf } from './value-shape.ts';
import { changedBetween, type ModelText, type PlacedRange, type WalkStep } from './walk.ts';

export type Opened =
  | { readonly ok: true; readonly model: OpenModel }
  /** In words: what the evaluator does not read. */
  | { readonly ok: false; readonly why: string };

export function open(text: ModelText, module: string, config: string): Opened {
  try {
    const source = { modules: text.texts, main: module, data: [], config: readConfig(config) };
    return { ok: true, model: openModel(source) };
  } catch (error) {
    return { ok: false, why: error instanceof Error ? error.message : String(error) };
  }
}

export function stateOf(model: OpenModel, values: readonly Value[]): StateValues {
  return new Map(model.variables.map((name, index) => [name, values[index]!]));
}

/** @throws Error if the state lacks a variable of the model */
export function valuesOf(model: OpenModel, state: StateValues): readonly Value[] {
  return model.variables.map((name) => {
    const value = state.get(name);
    if (value === undefined) throw new Error(`the state says nothing of ${name}`);
    return value;
  });
}

export interface HandWalk {
  readonly walk: readonly WalkStep[];
  /** The values behind each step. */
  readonly states: readonly (readonly Value[])[];
  /** As many choices as led somewhere. */
  readonly choices: readonly number[];
}

/** What comes of choices, each the number of one of the next states: the same choices lead to the same states. */
export function handWalk(
  model: OpenModel,
  text: ModelText,
  {
    start,
    title,
    choices,
  }: { readonly start: readonly Value[]; readonly title: string; readonly choices: readonly number[] },
): HandWalk {
  const first = stateOf(model, start);
  const init = text.definitions.get('Init');
  const walk: WalkStep[] = [
    {
      number: 0,
      title,
      operands: '',
      place: init === undefined ? null : rangeOf(init),
      values: first,
      changed: new Set(),
    },
  ];
  const states = [start];
  const taken: number[] = [];
  for (const choice of choices) {
    const next = model.nextStates(states.at(-1)!)[choice];
    if (next === undefined) break;
    const values = stateOf(model, next.values);
    const changed = changedBetween(walk.at(-1)!.values, values);
    const definition = next.action === null ? undefined : text.definitions.get(next.action.name);
    walk.push({
      number: walk.length,
      title: next.action?.name ?? 'Step',
      operands: operandsOf(next.action),
      place: definition === undefined ? null : rangeOf(definition),
      values,
      changed,
    });
    states.push(next.values);
    taken.push(choice);
  }
  return { walk, states, choices: taken };
}

function rangeOf({ module, first, last }: PlacedRange): PlacedRange {
  return { module, first, last };
}

function operandsOf(action: ActionUse | null): string {
  return action === null || action.operands.length === 0
    ? ''
    : `(${action.operands.map(({ value }) => briefOf(value)).join(', ')})`;
}

/** One that can be chosen. */
export interface Choice {
  readonly number: number;
  readonly title: string;
  readonly operands: string;
  /** The operands in full, by their names. */
  readonly detail: string;
  readonly changed: readonly string[];
}

export function choicesOf(
  model: OpenModel,
  from: readonly Value[],
  next: readonly NextState[],
): readonly Choice[] {
  const before = stateOf(model, from);
  return next.map(({ action, values }, number) => ({
    number,
    title: action?.name ?? 'Step',
    operands: operandsOf(action),
    detail: (action?.operands ?? []).map(({ name, value }) => `${name} = ${lineOf(value)}`).join('\n'),
    changed: [...changedBetween(before, stateOf(model, values))],
  }));
}

/** The part of an invariant that is false, and what the names in it stand for. */
export interface FalseClaim {
  readonly place: PlacedRange;
  readonly bound: readonly string[];
}

/** Null: the evaluator cannot tell. */
export function falseClaim(
  model: OpenModel,
  text: ModelText,
  invariant: string,
  state: readonly Value[],
): FalseClaim | null {
  try {
    const parts = model.whyBroken(invariant, state);
    const last = parts.at(-1);
    if (last === undefined) return null;
    const { module, line } = last.place;
    const around = [...text.definitions.values()].find(
      (one) => one.module === module && one.first <= line && line <= one.last,
    );
    const until =
      last.until === null || last.until.line <= line
        ? last.until === null
          ? (around?.last ?? line)
          : line
        : last.until.line - 1;
    const bound = parts.flatMap((part) => part.bound.map(({ name, value }) => `${name} = ${lineOf(value)}`));
    return { place: { module, first: line, last: until }, bound: [...new Set(bound)] };
  } catch {
    return null;
  }
}
