import { describe, expect, it } from 'vitest';
import { mutantsOf } from './mutants.ts';

const made = (body: string): string[] =>
  mutantsOf('a.ts', `export function f() { ${body} }`).map(({ what }) => what);

describe('mutants', () => {
  it('take a condition for true and for false, and move its bound', () => {
    expect(made('if (a < b) return;')).toEqual(['a < b -> true', 'a < b -> false', 'a < b -> a <= b']);
    expect(made('return a >= b;')).toEqual(['a >= b -> a > b', 'a >= b -> a < b']);
    expect(made('return a === b;')).toEqual(['a === b -> a !== b']);
    expect(made('return a ? b : c;')).toEqual(['a -> true', 'a -> false']);
  });

  it('drop conjuncts and disjuncts one by one, those within others too', () => {
    expect(made('if (a && b && !c) d();')).toEqual([
      'a && b && !c -> false',
      'a && b && !c -> (b && !c)',
      'a && b && !c -> (a && !c)',
      'a && b && !c -> (a && b)',
      '!c -> c',
    ]);
    expect(made('return a || (b && c);')).toEqual([
      'a || (b && c) -> ((b && c))',
      'a || (b && c) -> (a)',
      'b && c -> (c)',
      'b && c -> (b)',
    ]);
    expect(made('return a ?? b;')).toEqual(['a ?? b -> (b)', 'a ?? b -> (a)']);
  });

  it('never make a loop that has no end out of its condition', () => {
    expect(made('while (a) b();')).toEqual(['a -> false', 'b(); -> nothing']);
  });

  it('drop statements and early returns, but none that goes with its condition', () => {
    expect(made('a(); b = 1; return;')).toEqual([
      'a(); -> nothing',
      'b = 1; -> nothing',
      'return; -> nothing',
    ]);
    expect(made('if (a) return;')).toEqual(['a -> true', 'a -> false']);
    expect(made('return a;')).toEqual([]);
  });

  it('exchange signs, quantifiers and constants', () => {
    expect(made('return Math.min(a + 1, b);')).toEqual(['min -> max', 'a + 1 -> a - 1']);
    expect(made('return a.some(b);')).toEqual(['some -> every']);
    expect(made('return a.filter(b).length;')).toEqual(['a.filter(b) -> a']);
    expect(made('a.b = true;')).toEqual(['a.b = true; -> nothing', 'true -> false']);
    expect(made('a += b;')).toEqual(['a += b; -> nothing', 'a += b -> a -= b']);
  });

  it('leave alone what an error says, texts, types and what only the compiler sees', () => {
    expect(made("if (a) violated('X', `${b + 1}`);")).toEqual(['a -> true', 'a -> false']);
    expect(made('return `${a + b}`;')).toEqual([]);
    expect(made('const a: true = b satisfies true;')).toEqual([]);
    expect(mutantsOf('a.ts', 'export interface A { b: true }')).toEqual([]);
  });

  it('differ from the text and from each other, in one place each', () => {
    const text = 'export function f() { if (a && b) g(); if (a && b) g(); }';
    const mutants = mutantsOf('a.ts', text);
    expect(new Set(mutants.map((mutant) => mutant.text)).size).toBe(mutants.length);
    expect(mutants.every((mutant) => mutant.text !== text)).toBe(true);
    expect(mutants.filter((mutant) => mutant.what === 'a && b -> (b)').map(({ name }) => name)).toEqual([
      'a.ts f: a && b -> (b)',
      'a.ts f: a && b -> (b) #2',
    ]);
  });

  it('are named the same when the module grows above them', () => {
    const text = 'export function f() { return a < b; }';
    const names = mutantsOf('a.ts', text).map(({ name }) => name);
    const below = mutantsOf('a.ts', `const c = 1;\n\n${text}`);
    expect(below.map(({ name }) => name)).toEqual(names);
    expect(below[0]?.line).toBe(3);
  });
});
