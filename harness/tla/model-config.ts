/** Reads the configuration of a model, as TLC does. What is not read here is refused. */
import { tokensOf, type Token } from './lexer.ts';
import { readPrintedValue } from './read-literal.ts';
import { TlaError } from './tla-error.ts';
import { readTokens } from './token-reader.ts';
import type { Value } from './value.ts';

export interface ModelConfig {
  readonly specification: string;
  readonly constants: ReadonlyMap<string, Value>;
  /** What stands in the place of which operator or constant. */
  readonly replaced: ReadonlyMap<string, string>;
  readonly invariants: readonly string[];
  /** Temporal formulas, which nobody evaluates here. */
  readonly properties: readonly string[];
  /** What must be so of a step for it to be taken, and of a state for it to be gone on from. */
  readonly actionConstraints: readonly string[];
  readonly constraints: readonly string[];
  /** What tells states apart; null: all of each. */
  readonly view: string | null;
}

const textOf = ({ kind, text }: Token): string => (kind === 'string' ? JSON.stringify(text) : text);

const SECTIONS = new Set(
  (
    'SPECIFICATION VIEW INVARIANT INVARIANTS PROPERTY PROPERTIES ACTION_CONSTRAINT CONSTRAINT SYMMETRY CHECK_DEADLOCK ' +
    'CONSTANT CONSTANTS'
  ).split(' '),
);

/** @throws TlaError at what cannot be read; deadlocks are not looked for, and the configuration must say so */
export function readConfig(text: string): ModelConfig {
  const reader = readTokens(tokensOf(text, 'the configuration'));
  const constants = new Map<string, Value>();
  const replaced = new Map<string, string>();
  const invariants: string[] = [];
  const properties: string[] = [];
  const actionConstraints: string[] = [];
  const constraints: string[] = [];
  const readNames = (into: string[]): void => {
    while (reader.peek().kind === 'name' && !SECTIONS.has(reader.peek().text)) into.push(reader.expectName());
  };
  let specification: string | null = null;
  let view: string | null = null;
  let ignoresDeadlock = false;
  while (reader.peek().kind !== 'end') {
    if (reader.takeIf('SPECIFICATION')) specification = reader.expectName();
    else if (reader.takeIf('VIEW')) view = reader.expectName();
    else if (reader.takeIf('INVARIANT') || reader.takeIf('INVARIANTS')) readNames(invariants);
    else if (reader.takeIf('PROPERTY') || reader.takeIf('PROPERTIES')) readNames(properties);
    else if (reader.takeIf('ACTION_CONSTRAINT')) readNames(actionConstraints);
    else if (reader.takeIf('CONSTRAINT')) readNames(constraints);
    // States that differ by it only are both gone through: more work, and the same outcome.
    else if (reader.takeIf('SYMMETRY')) reader.expectName();
    else if (reader.takeIf('CHECK_DEADLOCK')) {
      reader.expect('FALSE');
      ignoresDeadlock = true;
    } else if (reader.takeIf('CONSTANTS') || reader.takeIf('CONSTANT')) {
      while (reader.peek(1).text === '=' || reader.peek(1).text === '<-') {
        const name = reader.expectName();
        if (reader.takeIf('<-')) replaced.set(name, reader.expectName());
        else {
          const { line } = reader.expect('=');
          let literal = '';
          while (reader.peek().line === line && reader.peek().kind !== 'end')
            literal += textOf(reader.take());
          constants.set(name, readPrintedValue(literal));
        }
      }
    } else throw new TlaError(`${reader.peek().text} is not read`, reader.peek());
  }
  if (specification === null) throw new TlaError('the configuration names no specification');
  if (!ignoresDeadlock) throw new TlaError('deadlocks are not looked for');
  return { specification, constants, replaced, invariants, properties, actionConstraints, constraints, view };
}
