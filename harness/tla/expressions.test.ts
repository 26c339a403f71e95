import { describe, expect, it } from 'vitest';
import { compileModel } from './explore.ts';
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
  const printed = compileModel({
    modules,
    main: 'Expressions',
    data: [],
    config: readConfig(config),
  }).run(new Map());
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
      compileModel({ modules, main: 'Circle', data: [], config: readConfig(text) }).run(new Map());
    expect(run).toThrow('uses itself by way of another operator');
  });

  it('keeps nothing of one run for the next: neither data, nor what follows from them, nor registers', () => {
    const text = `---- MODULE Sums ----
EXTENDS Integers, Sequences, TLC, Numbers
VARIABLE n
Count == Len(List)
First == List[1]
ASSUME TLCSet(1, Count)
Tell == PrintT(<<n, Count, First, Other, TLCGet(1)>>)
Spec == n = 0 /\\ [][n < Count /\\ n' = n + 1]_n
====
`;
    const model = compileModel({
      modules: new Map([
        ['Sums', text],
        ['Numbers', '---- MODULE Numbers ----\nCONSTANT Other\n====\n'],
      ]),
      main: 'Sums',
      data: ['List'],
      config: readConfig('SPECIFICATION Spec CONSTANT Other <- List INVARIANT Tell CHECK_DEADLOCK FALSE'),
    });
    const told = (literal: string): string[] =>
      model.run(new Map([['List', readLiteral(literal)]])).map(formatValue);
    const one = ['<<0, 1, 7, <<7>>, 1>>', '<<1, 1, 7, <<7>>, 1>>'];
    const other = [0, 1, 2].map((n) => `<<${n}, 2, 8, <<8, 9>>, 2>>`);
    expect([told('<<7>>'), told('<<8, 9>>'), told('<<7>>')]).toEqual([one, other, one]);
    expect(() => model.run(new Map())).toThrow('the data say nothing of List');
  });

  it('prints what it can read again', () => {
    for (const [, value] of expressions) expect(formatValue(readLiteral(value))).toBe(value);
  });
});
