/**
 * Rules of the specifications that scenarios speak of: which definition, and where in its text it stands. Pure; the texts come from spec-texts.ts.
 *
 * Invariant: a rule is found by the definition's name, in the text as it is now; a test fails when a scenario names one that is there no more.
 */
import { definitionsIn } from '../spec/spec-text.ts';

export type SpecModule = 'MultiPaxos' | 'OrderedApply' | 'Recovery' | 'Lease';

export type SpecTexts = Readonly<Record<SpecModule, string>>;

export interface Rule {
  readonly module: SpecModule;
  /** Of an action, an invariant or another definition. */
  readonly name: string;
}

export interface FoundRule {
  readonly file: string;
  /** Counted from 1. */
  readonly line: number;
  /** The definition, its first lines. */
  readonly text: string;
  /** It goes on. */
  readonly isCut: boolean;
}

const linesMax = 7;

/** Null: the module has no definition of that name. */
export function findRule(texts: SpecTexts, { module, name }: Rule): FoundRule | null {
  const definition = definitionsIn(texts[module]).get(name);
  if (definition === undefined) return null;
  const { first, last } = definition;
  const all = texts[module].split('\n').slice(first - 1, last);
  return {
    file: `specs/${module}.tla`,
    line: first,
    text: all.slice(0, linesMax).join('\n'),
    isCut: all.length > linesMax,
  };
}
