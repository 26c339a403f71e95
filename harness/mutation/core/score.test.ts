import { expect, it } from 'vitest';
import type { Verdict } from './judging.ts';
import { scoreOf, tellScore, type Judged } from './score.ts';

const judged = (name: string, verdict: Verdict): Judged => ({
  mutant: { name, file: 'a.ts', line: 1, what: 'x' },
  verdict,
});

const killed = (
  by: 'unit' | 'replay' | 'simulator',
  how: 'test' | 'timeOut' | 'crash' = 'test',
): Verdict => ({
  kind: 'killed',
  by,
  how,
  test: '',
});

const all = [
  judged('a', killed('unit')),
  judged('b', killed('unit', 'timeOut')),
  judged('c', killed('simulator')),
  judged('d', killed('replay', 'crash')),
  judged('e', { kind: 'survived' }),
  judged('f', { kind: 'survived' }),
];

it('a score tells kills by their judge, and those that never ended apart', () => {
  expect(scoreOf(all, new Map(), new Set())).toMatchObject({
    mutants: 6,
    killed: 4,
    killedBy: { unit: 2, replay: 1, simulator: 1 },
    timeOuts: 1,
    crashes: 1,
  });
});

it('a survivor is explained or not, and an explanation of what is killed or not made is stale', () => {
  const names = new Set(all.map(({ mutant: { name } }) => name));
  const explanations = new Map([
    ['e', 'equivalent'],
    ['a', 'wrong'],
    ['gone', 'old'],
  ]);
  const score = scoreOf(all, explanations, names);
  expect(score.survivors.map(({ name }) => name)).toEqual(['f']);
  expect(score.explained).toMatchObject([{ name: 'e', why: 'equivalent' }]);
  expect(score.stale).toEqual(['a', 'gone']);
});

it('an explanation of a mutant that was not judged is not stale', () => {
  expect(scoreOf([], new Map([['e', 'equivalent']]), new Set(['e'])).stale).toEqual([]);
});

it('what is told last are the sums', () => {
  const lines = tellScore(scoreOf(all, new Map([['e', 'equivalent']]), new Set(['e'])));
  expect(lines.at(-2)).toContain('4 of 6 mutants of the core killed (66.7 %)');
  expect(lines.at(-1)).toContain('1 survivors are explained, 1 are not: 80.0 %');
  expect(lines.filter((line) => line.startsWith('SURVIVED'))).toHaveLength(1);
});
