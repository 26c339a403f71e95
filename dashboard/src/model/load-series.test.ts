import { describe, expect, test } from 'vitest';
import type { LoadStatus } from '../../../server/src/api/load.ts';
import { acknowledgedPerSecond, addLoad, emptyLoad, type LoadSeries } from './load-series.ts';

function status(acknowledged: number, unknown = 0, lost = 0): LoadStatus {
  return {
    settings: { isRunning: true, clients: 4, perSecond: 20, readShare: 0 },
    counts: { acknowledged, refused: 0, unknown, reads: 0, readsRefused: 0 },
    lost,
    lostIds: [],
    risen: 0,
    replicas: [],
  };
}

function told(...all: readonly LoadStatus[]): LoadSeries {
  return all.reduce((series, one, index) => addLoad(series, one, 500 * index), emptyLoad);
}

describe('what clients of the load were told', () => {
  test('is counted between frames, and not what came ahead of the first', () => {
    const { samples } = told(status(100), status(110), status(110, 3, 1));
    expect(samples.map(({ acknowledged, unknown, lost }) => [acknowledged, unknown, lost])).toEqual([
      [0, 0, 0],
      [10, 0, 0],
      [0, 3, 1],
    ]);
  });

  test('begins anew with the load', () => {
    expect(told(status(100), status(4), status(5)).samples.map((one) => one.acknowledged)).toEqual([0, 0, 1]);
  });

  test('is so many a second', () => {
    expect(acknowledgedPerSecond(told(status(0)))).toBeNull();
    expect(acknowledgedPerSecond(told(status(0), status(10), status(20)))).toBe(20);
    const long = told(...Array.from({ length: 20 }, (_, n) => status(n < 10 ? 0 : 5 * (n - 9))));
    expect(acknowledgedPerSecond(long)).toBe(10);
  });

  test('is bounded', () => {
    const all = Array.from({ length: 1_500 }, (_, n) => status(n));
    expect(told(...all).samples).toHaveLength(1_200);
  });
});
