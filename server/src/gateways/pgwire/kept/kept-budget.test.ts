import { expect, it } from 'vitest';
import { KeptBudgets } from './kept-budget.ts';

it('one role takes half of it, and leaves room for others', () => {
  const budgets = new KeptBudgets(1_000);
  const [one, sameRole, other] = [budgets.of('one'), budgets.of('one'), budgets.of('other')];
  expect(one.take(300)).toBe(true);
  expect(sameRole.take(201)).toBe(false);
  expect(sameRole.take(200)).toBe(true);
  expect(one.take(1)).toBe(false);
  expect(other.take(251)).toBe(false);
  expect(other.take(250)).toBe(true);
  sameRole.giveBack(200);
  expect(one.take(75)).toBe(true);
  one.giveBack(375);
  other.giveBack(250);
  expect(budgets.of('third').take(500)).toBe(true);
});
