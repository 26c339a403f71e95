import { describe, expect, it } from 'vitest';
import { longestSilenceMs, verdict, type LedgerResult } from './ledger.ts';

const result: LedgerResult = {
  acknowledged: new Set([1, 2]),
  refused: new Set([3]),
  doubtful: new Set([4]),
  acknowledgedAtMs: [],
  errors: new Map(),
};

describe('the ledger', () => {
  it('finds no fault whether a doubtful row is there or not', () => {
    expect(verdict(result, new Set([1, 2]))).toEqual([]);
    expect(verdict(result, new Set([1, 2, 4]))).toEqual([]);
  });

  it('names a lost, a resurrected and an invented row', () => {
    expect(verdict(result, new Set([1, 3, 9]))).toEqual([
      '2 was acknowledged and is missing',
      '3 was refused and is there',
      '9 was never sent',
    ]);
  });

  it('measures the longest silence, the edges included', () => {
    expect(longestSilenceMs([10, 11, 30], 5, 32)).toBe(19);
    expect(longestSilenceMs([], 5, 32)).toBe(27);
  });
});
