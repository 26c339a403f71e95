import { expect, it } from 'vitest';
import { parse } from '../../../pgwire/frontend-messages.ts';
import { KeptBudgets } from './kept-budget.ts';
import { ParsedStatements } from './parsed-statements.ts';

function names(statements: ParsedStatements): string[] {
  return statements.all.map(([name]) => name);
}

it('statements are there once PostgreSQL has confirmed them, and gone once it has closed them', () => {
  const statements = new ParsedStatements(1_000, new KeptBudgets(2 * 1_000).of('one'));
  statements.sentParse('', parse('', 'x'), 0);
  statements.sentParse('a', parse('a', 'x'), 0);
  expect(names(statements)).toEqual([]);
  statements.parseComplete();
  statements.parseComplete();
  statements.answered(1);
  expect(names(statements)).toEqual(['a', '']);
  statements.sentClose('a', 1);
  statements.sentClose(null, 1);
  statements.closeComplete();
  statements.closeComplete();
  expect(names(statements)).toEqual(['']);
});

it('a statement that was refused is not taken for the next one that is confirmed', () => {
  const statements = new ParsedStatements(1_000, new KeptBudgets(2 * 1_000).of('one'));
  statements.sentParse('refused', parse('refused', 'x'), 0);
  statements.sentParse('b', parse('b', 'x'), 1);
  statements.answered(1);
  statements.parseComplete();
  expect(names(statements)).toEqual(['b']);
});

it('of too many the session cannot be moved', () => {
  const budget = new KeptBudgets(2 * 1_000).of('one');
  const statements = new ParsedStatements(50, budget);
  for (const name of ['a', 'b', 'c']) {
    statements.sentParse(name, parse(name, 'x'.repeat(10)), 0);
    statements.parseComplete();
  }
  expect(statements.isOverfull).toBe(true);
  statements.clear();
  expect(budget.take(1_000)).toBe(true);
});

it('those that are not confirmed take room, too, and without a name are done without where there is none', () => {
  const budget = new KeptBudgets(2 * 1_000).of('one');
  const statements = new ParsedStatements(250, budget);
  for (let n = 0; n < 3; n += 1) statements.sentParse('', parse('', 'x'.repeat(90)), 0);
  expect(budget.take(803)).toBe(false);
  for (let n = 0; n < 2; n += 1) statements.parseComplete();
  expect(names(statements)).toEqual(['']);
  statements.parseComplete();
  expect([statements.isOverfull, names(statements)]).toEqual([false, []]);
  expect(budget.take(1_000)).toBe(true);
});

it('with names they are not done without: the session cannot be moved', () => {
  const budget = new KeptBudgets(2 * 1_000).of('one');
  const statements = new ParsedStatements(250, budget);
  for (const name of ['a', 'b', 'c']) statements.sentParse(name, parse(name, 'x'.repeat(90)), 0);
  expect(statements.isOverfull).toBe(true);
  statements.answered(1);
  expect(budget.take(1_000)).toBe(true);
});

it('of those that are not confirmed only so many are kept', () => {
  const budget = new KeptBudgets(2 * 1_000_000).of('one');
  const statements = new ParsedStatements(1_000_000, budget);
  for (let n = 0; n < 10_001; n += 1) statements.sentParse('', parse('', ''), 0);
  expect(statements.isOverfull).toBe(true);
  statements.answered(1);
  expect(budget.take(1_000_000)).toBe(true);
});
