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

  it('prints what it can read again', () => {
    for (const [, value] of expressions) expect(formatValue(readLiteral(value))).toBe(value);
  });
});
