import { expect, it } from 'vitest';
import { describeError, isCommitted, outcomeOf } from './sql-outcome.ts';

const outcomes = (committing: boolean, ...codes: string[]) =>
  codes.map((code) => outcomeOf(code, committing));

it('an SQLSTATE promises that nothing was committed, unless it says that nobody knows', () => {
  expect(outcomes(true, '40001', '40P01', '57P01', '57P03', '53000', '23514')).toEqual(Array(6).fill('fail'));
  expect(outcomes(true, '08007', '08006', 'XX000')).toEqual(Array(3).fill('info'));
});

it('a broken connection tells nothing of a COMMIT that was sent', () => {
  expect(outcomes(true, 'ECONNRESET', 'EPIPE', 'timeout', 'connectionLost')).toEqual(Array(4).fill('info'));
});

it('a commit whose answer is lost is one for certain, and only if a COMMIT was sent', () => {
  expect(isCommitted({ outcome: outcomeOf('RQ001', true), code: 'RQ001' })).toBe(true);
  expect(isCommitted({ outcome: outcomeOf('RQ001', false), code: 'RQ001' })).toBe(false);
  expect(isCommitted({ outcome: outcomeOf('08007', true), code: '08007' })).toBe(false);
});

it('nothing is committed before COMMIT was sent', () => {
  expect(outcomes(false, 'ECONNRESET', 'timeout', '08007', 'XX000')).toEqual(Array(4).fill('fail'));
});

it('errors have a code, whatever they are', () => {
  expect(describeError(Object.assign(new Error('x'), { code: '40001' })).code).toBe('40001');
  expect(describeError(new Error('Connection terminated unexpectedly')).code).toBe('connectionLost');
  expect(describeError(new Error('timeout expired')).code).toBe('timeout');
});
