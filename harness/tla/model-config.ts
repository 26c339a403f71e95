/** Reads the configuration of a model, as TLC does. What is not read here is refused. */
import { tokensOf } from './lexer.ts';
import { readLiteral } from './read-literal.ts';
import { TlaError } from './tla-error.ts';
import { readTokens } from './token-reader.ts';
import type { Value } from './value.ts';

export interface ModelConfig {
  readonly specification: string;
  readonly constants: ReadonlyMap<string, Value>;
  /** What stands in the place of which operator or constant. */
  readonly replaced: ReadonlyMap<string, string>;
  readonly invariants: readonly string[];
  /** What tells states apart; null: all of each. */
  readonly view: string | null;
}

/** @throws TlaError at what cannot be read; deadlocks are not looked for, and the configuration must say so */
export function readConfig(text: string): ModelConfig {
  const reader = readTokens(tokensOf(text, 'the configuration'));
  const constants = new Map<string, Value>();
  const replaced = new Map<string, string>();
  const invariants: string[] = [];
  let specification: string | null = null;
  let view: string | null = null;
  let ignoresDeadlock = false;
  while (reader.peek().kind !== 'end') {
    if (reader.takeIf('SPECIFICATION')) specification = reader.expectName();
    else if (reader.takeIf('VIEW')) view = reader.expectName();
    else if (reader.takeIf('INVARIANT')) invariants.push(reader.expectName());
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
          while (reader.peek().line === line && reader.peek().kind !== 'end') literal += reader.take().text;
          constants.set(name, readLiteral(literal));
        }
      }
    } else throw new TlaError(`${reader.peek().text} is not read`, reader.peek());
  }
  if (specification === null) throw new TlaError('the configuration names no specification');
  if (!ignoresDeadlock) throw new TlaError('deadlocks are not looked for');
  return { specification, constants, replaced, invariants, view };
}
