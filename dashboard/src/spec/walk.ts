/**
 * A behaviour that is walked through, step by step: a counterexample, what somebody chose by hand, a recorded run up to where it is refused.
 *
 * Pure. What all of these have in common for the views: the state behind each step, and the place in the specification that the step is.
 */
import {
  type Counterexample,
  type CounterexampleStep,
  type StateValues,
  statesOf,
  type TextPlace,
} from './counterexample.ts';
import { readPrintedValue } from '../../../harness/tla/read-literal.ts';
import { isSet, type Value } from '../../../harness/tla/value.ts';
import { briefOf, isSame } from './value-shape.ts';
import { definitionsIn, type DefinitionText } from './spec-text.ts';

export interface PlacedRange {
  readonly module: string;
  readonly first: number;
  readonly last: number;
}

export interface WalkStep {
  /** From 0. */
  readonly number: number;
  /** For the strip: `HandlePrepare`. */
  readonly title: string;
  /** What the action was taken with: `(2, 5)`; empty: nothing is known of that. */
  readonly operands: string;
  /** Null: nothing in the text is it. */
  readonly place: PlacedRange | null;
  readonly values: StateValues;
  /** Another value than in the state before; none in the first state. */
  readonly changed: ReadonlySet<string>;
}

/** Where each definition of the model's modules stands. */
export interface ModelText {
  readonly texts: ReadonlyMap<string, string>;
  /** By name, with the module. Of two with one name (an instance's) the one of the module that comes first. */
  readonly definitions: ReadonlyMap<string, DefinitionText & { readonly module: string }>;
}

export function modelTextOf(texts: ReadonlyMap<string, string>): ModelText {
  const definitions = new Map<string, DefinitionText & { readonly module: string }>();
  for (const [module, text] of texts)
    for (const [name, definition] of definitionsIn(text))
      if (!definitions.has(name)) definitions.set(name, { ...definition, module });
  return { texts, definitions };
}

export function walkOf(counterexample: Counterexample, text: ModelText): readonly WalkStep[] {
  const states = statesOf(counterexample);
  return counterexample.steps.map((step, index) => {
    const values = states[index]!;
    const changed = changedBetween(states[index - 1], values);
    const { title, operands, place } = notedName(step, values, text) ?? nameOf(step, text);
    return { number: index, title, operands, place, values, changed };
  });
}

export function changedBetween(before: StateValues | undefined, now: StateValues): ReadonlySet<string> {
  if (before === undefined) return new Set();
  return new Set([...now.keys()].filter((name) => !isSame(before.get(name), now.get(name))));
}

/** What the specification itself notes of the step in `act`; null: TLC knows as much, or nothing is noted. */
function notedName(
  { place, by }: CounterexampleStep,
  values: StateValues,
  text: ModelText,
): Pick<WalkStep, 'title' | 'operands' | 'place'> | null {
  const act = recordIn(values.get('act'));
  if (place === null || by !== undefined || act === null) return null;
  const name = act.get('name');
  const named = typeof name === 'string' ? text.definitions.get(name) : undefined;
  if (named === undefined) return null;
  const { replica, ...others } = Object.fromEntries(recordIn(act.get('params')) ?? []);
  const noted = [...(replica === undefined ? [] : [replica]), ...Object.values(others)];
  return { title: named.name, operands: spelled(noted), place: rangeOf(named) };
}

/** Its fields by their names; null: it is no record. */
function recordIn(value: Value | undefined): ReadonlyMap<string, Value> | null {
  if (typeof value !== 'object' || isSet(value) || value.kind !== 'record') return null;
  return new Map(value.shape.names.map((name, index) => [name, value.values[index]!]));
}

/**
 * What a step is called, and what of the text it is. TLC names the definition that the step's own text stands in: where that is one of many in a Next, the actions that the text uses say more.
 */
function nameOf(
  { action, place, by }: CounterexampleStep,
  text: ModelText,
): Pick<WalkStep, 'title' | 'operands' | 'place'> {
  if (place === null) {
    const init = text.definitions.get('Init');
    return { title: 'Init', operands: '', place: init === undefined ? null : rangeOf(init) };
  }
  const named = by === undefined ? undefined : text.definitions.get(by.name);
  if (by !== undefined && named !== undefined)
    return { title: by.name, operands: operandsText(by.operands), place: rangeOf(named) };
  const here = { module: place.module, first: place.line, last: place.endLine };
  const own = action === null ? undefined : text.definitions.get(action);
  if (own !== undefined && !isOneOfMany(own, place))
    return { title: action!, operands: '', place: rangeOf(own) };
  const used = usedIn(textAt(place, text.texts.get(place.module) ?? ''), text);
  const [only] = used;
  if (only !== undefined && used.length === 1)
    return { title: only.name, operands: '', place: rangeOf(only) };
  return {
    title: used.length === 0 ? (action ?? 'Step') : used.map(({ name }) => name).join(' or '),
    operands: '',
    place: here,
  };
}

/** `(2, Prepare…)`: in the order of the parameters, of records no more than what tells them apart. */
function operandsText(operands: Readonly<Record<string, string>>): string {
  return spelled(Object.values(operands).map(readPrintedValue));
}

function spelled(values: readonly Value[]): string {
  return values.length === 0 ? '' : `(${values.map(briefOf).join(', ')})`;
}

function rangeOf({ module, first, last }: DefinitionText & { readonly module: string }): PlacedRange {
  return { module, first, last };
}

/** The step's text is a part of the definition, and other steps are other parts. */
function isOneOfMany(own: DefinitionText & { readonly module: string }, place: TextPlace): boolean {
  return (
    own.module === place.module &&
    place.line - own.first + (own.last - place.endLine) > 0 &&
    own.name.endsWith('Next')
  );
}

function textAt({ line, column, endLine, endColumn }: TextPlace, text: string): string {
  const lines = text.split('\n').slice(line - 1, endLine);
  if (lines.length === 0) return '';
  lines[lines.length - 1] = lines.at(-1)!.slice(0, endColumn);
  lines[0] = lines[0]!.slice(column - 1);
  return lines.join('\n');
}

/** Definitions that a piece of text uses and that say what variables become. */
function usedIn(piece: string, text: ModelText): readonly (DefinitionText & { readonly module: string })[] {
  const names = new Set([...piece.matchAll(/\b([A-Z]\w*)\b/g)].map(([, name]) => name!));
  return [...names].flatMap((name) => {
    const definition = text.definitions.get(name);
    if (definition === undefined) return [];
    const body = text.texts
      .get(definition.module)!
      .split('\n')
      .slice(definition.first - 1, definition.last)
      .join('\n');
    return /\w'|UNCHANGED/.test(body) ? [definition] : [];
  });
}
