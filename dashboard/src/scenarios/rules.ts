/**
 * Rules of the specifications that scenarios speak of: which definition, and where in its text it stands. Pure; the texts come from spec-texts.ts.
 *
 * Invariant: a rule is found by the definition's name, in the text as it is now; a test fails when a scenario names one that is there no more.
 */
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
  const lines = texts[module].split('\n');
  const first = lines.findIndex((line) => isDefinitionOf(line, name));
  if (first === -1) return null;
  const rest = lines.slice(first + 1);
  const after = rest.findIndex((line) => !/^\s+\S/.test(line));
  const all = [lines[first]!, ...rest.slice(0, after === -1 ? rest.length : after)];
  return {
    file: `specs/${module}.tla`,
    line: first + 1,
    text: all.slice(0, linesMax).join('\n'),
    isCut: all.length > linesMax,
  };
}

function isDefinitionOf(line: string, name: string): boolean {
  if (!line.startsWith(name)) return false;
  return /^\s*(?:\([^)]*\))?\s*==/.test(line.slice(name.length));
}
