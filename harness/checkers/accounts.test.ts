import { expect, it } from 'vitest';
import { checkAccounts } from './accounts.ts';
import { callsOf, type ScriptedCall } from './testing/script.ts';

const options = { accounts: 2, balance: 10 };
/** Of the accounts from 1 onwards. */
type Balances = readonly number[];
const move = (id: string, amount: number, outcome: ScriptedCall['outcome'] = 'ok') => ({
  f: 'transfer',
  from: 0,
  to: 1,
  asked: { id, from: 1, to: 2, amount },
  outcome,
});
const byAccount = (balances: Balances) => balances.map((balance, index) => [index + 1, balance]);
const read = (...balances: Balances) => ({
  f: 'read',
  from: 2,
  to: 3,
  asked: null,
  answer: byAccount(balances),
});
const final = (balances: Balances, ...transfers: readonly (readonly [string, number])[]) => ({
  f: 'final',
  from: 8,
  to: 9,
  asked: null,
  answer: {
    balances: byAccount(balances),
    transfers: transfers.map(([id, amount]) => ({ id, from: 1, to: 2, amount })),
  },
});
const kinds = (...script: ScriptedCall[]) =>
  checkAccounts(callsOf(script), options).anomalies.map(({ kind }) => kind);

it('finds nothing where each acknowledged transfer is there once', () => {
  const script = [move('a', 3), move('b', 2, 'info'), move('c', 9, 'fail'), read(7, 13)];
  expect(kinds(...script, final([7, 13], ['a', 3]))).toEqual([]);
  expect(kinds(...script, final([5, 15], ['a', 3], ['b', 2]))).toEqual([]);
});

it('finds a read with another total, with a missing account, below zero', () => {
  const end = final([10, 10]);
  expect(kinds(read(7, 10), end)).toEqual(['wrong-total']);
  expect(kinds(read(20), end)).toEqual(['wrong-accounts']);
  expect(kinds(read(-1, 21), end)).toEqual(['negative-balance']);
});

it('finds transfers that are lost, doubled, failed and yet there, or never sent', () => {
  expect(kinds(move('a', 3), final([10, 10]))).toEqual(['lost-transfer']);
  expect(kinds(move('a', 3), final([4, 16], ['a', 3], ['a', 3]))).toEqual(['doubled-transfer']);
  expect(kinds(move('a', 3, 'fail'), final([7, 13], ['a', 3]))).toEqual(['failed-transfer']);
  expect(kinds(final([7, 13], ['a', 3]))).toEqual(['unasked-transfer']);
});

it('finds balances that their transfers do not make', () => {
  expect(kinds(move('a', 3), final([4, 16], ['a', 3]))).toEqual(['wrong-balance']);
});

it('does not decide without a final read', () => {
  expect(checkAccounts(callsOf([move('a', 3)]), options).gaveUp).toContain('final read');
});
