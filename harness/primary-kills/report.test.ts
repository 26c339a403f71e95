import { describe, expect, it } from 'vitest';
import type { Kill, LevelResult } from './kill-primary.ts';
import { describeTotals, findingsOf, totalsOf } from './report.ts';

const kill = (lost: number, silentMs = 100): Kill => ({
  killed: 'r1',
  next: 'r2',
  acknowledged: 10,
  lost,
  silentMs,
  backMs: 200.4,
});
const result = (level: LevelResult['level'], lost: number, wrong: readonly string[] = []): LevelResult => ({
  level,
  kills: [kill(lost), kill(0, 300), kill(0, 200)],
  unknown: 3,
  unknownAndThere: 2,
  wrong,
});

describe('what kills of a primary came to', () => {
  it('is summed up', () => {
    expect(totalsOf(result('async', 2))).toEqual({
      level: 'async',
      kills: 3,
      acknowledged: 30,
      lost: 2,
      losingKills: 1,
      unknown: 3,
      unknownAndThere: 2,
      silentMsMedian: 200,
      backMsMedian: 200,
    });
    expect(describeTotals([totalsOf(result('async', 2))])[2]).toBe(
      '| async | 3 | 30 | 2 | 1 | 3 | 2 | 200 ms | 200 ms |',
    );
  });

  it.each(['none', 'majority', 'semi', 'sync'] as const)('is a finding if %s has lost something', (level) => {
    expect(findingsOf(result(level, 0))).toEqual([]);
    expect(findingsOf(result(level, 1))).toEqual([`${level}: 1 acknowledged rows are lost`]);
  });

  it('is none if async has, and one at every level if replicas differ', () => {
    expect(findingsOf(result('async', 5))).toEqual([]);
    expect(findingsOf(result('async', 5, ['replicas differ']))).toEqual(['async: replicas differ']);
  });
});
