/** Reads one module: its declarations and definitions. What is not read here is refused. */
import { tokensOf } from './lexer.ts';
import { parseDefinition, parseExpression } from './parse-expression.ts';
import type { Definition, Expression, Instance, Module } from './syntax.ts';
import { TlaError } from './tla-error.ts';
import { readTokens, type TokenReader } from './token-reader.ts';

/** @throws TlaError at what cannot be read */
export function parseModule(text: string, file: string): Module {
  const reader = readTokens(tokensOf(text, file));
  reader.expect('----');
  reader.expect('MODULE');
  const name = reader.expectName();
  reader.expect('----');
  const extended = reader.takeIf('EXTENDS') ? names(reader) : [];
  const constants: string[] = [];
  const variables: string[] = [];
  const definitions: Definition[] = [];
  const instances: Instance[] = [];
  const assumptions: Expression[] = [];
  while (!reader.takeIf('====')) {
    if (reader.takeIf('----')) continue;
    if (reader.takeIf('CONSTANT') || reader.takeIf('CONSTANTS')) constants.push(...names(reader));
    else if (reader.takeIf('VARIABLE') || reader.takeIf('VARIABLES')) variables.push(...names(reader));
    else if (reader.takeIf('ASSUME')) assumptions.push(parseExpression(reader));
    else if (reader.takeIf('THEOREM')) parseExpression(reader);
    else if (reader.takeIf('RECURSIVE')) skipRecursive(reader);
    else if (reader.peek(2).text === 'INSTANCE') instances.push(parseInstance(reader));
    else definitions.push(parseDefinition(reader));
  }
  const rest = reader.peek();
  if (rest.kind !== 'end') throw new TlaError(`${rest.text} stands behind the module`, rest);
  return { name, extended, constants, variables, definitions, instances, assumptions };
}

function names(reader: TokenReader): string[] {
  const all: string[] = [];
  do all.push(reader.expectName());
  while (reader.takeIf(','));
  return all;
}

/** Any operator may be recursive here. */
function skipRecursive(reader: TokenReader): void {
  do {
    reader.expectName();
    if (!reader.takeIf('(')) continue;
    do reader.expect('_');
    while (reader.takeIf(','));
    reader.expect(')');
  } while (reader.takeIf(','));
}

/** `Name == INSTANCE Module WITH a <- e, ...`: what it stands for is evaluated by nobody here. */
function parseInstance(reader: TokenReader): Instance {
  const name = reader.expectName();
  reader.expect('==');
  reader.expect('INSTANCE');
  const module = reader.expectName();
  if (reader.takeIf('WITH')) {
    do {
      reader.expectName();
      reader.expect('<-');
      parseExpression(reader);
    } while (reader.takeIf(','));
  }
  return { name, module };
}
