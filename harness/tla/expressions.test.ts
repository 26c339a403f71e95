import { describe, expect, it } from 'vitest';
import { explore } from './explore.ts';
import { formatValue } from './format-value.ts';
import { readConfig } from './model-config.ts';
import { readLiteral } from './read-literal.ts';
import {
  config,
  expressionModule,
  expressions,
  undefinedExpressions,
  unreadableExpressions,
} from './testing/expressions.ts';
import { TlaError } from './tla-error.ts';
import type { Sequence } from './value.ts';

function valuesOf(all: readonly string[]): string[] {
  const modules = new Map([['Expressions', expressionModule(all)]]);
  const printed = explore({ modules, main: 'Expressions', values: new Map(), config: readConfig(config) });
  return printed.map((one) => formatValue((one as Sequence).items[2]!));
}

describe('the evaluator of TLA+', () => {
  it.each(expressions)('%s is %s', (expression, value) => {
    expect(valuesOf([expression])).toEqual([value]);
  });

  it.each(undefinedExpressions)('%s has no value', (expression) => {
    expect(() => valuesOf([expression])).toThrow(TlaError);
  });

  it.each(unreadableExpressions)('%s is not read', (expression) => {
    expect(() => valuesOf([expression])).toThrow(TlaError);
  });

  it('refuses operators that use each other in a circle', () => {
    const circle = `---- MODULE Circle ----
EXTENDS Integers
VARIABLE n
RECURSIVE Down(_), Step(_)
Down(x) == IF x = 0 THEN n ELSE Step(x)
Step(x) == Down(x - 1)
Total == Step(2)
Holds == Total = 0
Spec == n = 0 /\\ [][n' = n]_n
====
`;
    const modules = new Map([['Circle', circle]]);
    const text = 'SPECIFICATION Spec INVARIANT Holds CHECK_DEADLOCK FALSE';
    const run = (): unknown =>
      explore({ modules, main: 'Circle', values: new Map(), config: readConfig(text) });
    expect(run).toThrow('uses itself by way of another operator');
  });

  it('prints what it can read again', () => {
    for (const [, value] of expressions) expect(formatValue(readLiteral(value))).toBe(value);
  });
});
