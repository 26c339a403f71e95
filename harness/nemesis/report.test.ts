import { describe, expect, it } from 'vitest';
import type { CheckedHistory } from '../checkers/check-history.ts';
import { describeResult } from './report.ts';
import { isClean, type RunResult } from './run.ts';

const anomaly = (kind: string) => ({ kind, summary: `something about ${kind}`, detail: ['because'] });
const checked = (change: Partial<CheckedHistory> = {}): CheckedHistory => ({
  workload: 'set',
  counts: { ok: 10, fail: 2, info: 1 },
  anomalies: [],
  gaveUp: null,
  reads: [],
  checkMs: 5,
  ...change,
});
const result = (change: Partial<RunResult> = {}): RunResult => ({
  checked: [checked()],
  anomalies: [],
  nemesis: {
    tally: new Map([['kill', { planned: 3, tookEffect: 1, withoutEffect: 1, skipped: 1 }]]),
    skips: new Map([['kill: no replica is free for it', 1]]),
  },
  silence: { fromUs: 4_000_000, lengthUs: 2_500_000 },
  errors: new Map([['40001', 2]]),
  historyFiles: ['/tmp/set.ndjson'],
  traces: [],
  ...change,
});
const text = (of: RunResult) => describeResult(of).join('\n');

describe('a run passes', () => {
  it('only if nothing was found, everything was decided and the cluster came back', () => {
    expect(isClean(result())).toBe(true);
    expect(isClean(result({ anomalies: [anomaly('not-settled')] }))).toBe(false);
    expect(isClean(result({ checked: [checked({ anomalies: [anomaly('G0')] })] }))).toBe(false);
    expect(isClean(result({ checked: [checked({ gaveUp: 'too much' })] }))).toBe(false);
  });
});

describe('the verdict tells', () => {
  it('what was done, what took effect and for how long the cluster was away', () => {
    expect(text(result())).toMatch(/set +10 ok +2 failed +1 unknown/);
    expect(text(result())).toMatch(/kill +1 of 3 took effect \(1 without effect, 1 skipped\)/);
    expect(text(result())).toContain('2.50 s, from 4.0 s on');
    expect(text(result())).toContain('VERDICT: no anomaly');
  });

  it('what the specs make of what the replicas recorded', () => {
    expect(text(result())).not.toContain('Traces');
    expect(text(result({ traces: ['ordered apply: 7 events accepted'] }))).toContain(
      'Traces\n  ordered apply: 7 events accepted',
    );
  });

  it('each anomaly with its kind and what proves it', () => {
    const found = text(result({ checked: [checked({ anomalies: [anomaly('lost-element')] })] }));
    expect(found).toContain('ANOMALY set lost-element: something about lost-element\n  because');
    expect(found).toContain('VERDICT: FAILED');
  });

  it('some of many, and how many more there are', () => {
    const found = text(
      result({ checked: [checked({ anomalies: Array(50).fill(anomaly('lost-element')) })] }),
    );
    expect(found.split('ANOMALY').length - 1).toBe(5);
    expect(found).toContain('and 45 more anomalies');
  });

  it('how many reads were answered in each mode, and what was not tried', () => {
    const count = { mode: 'bounded', atFollowers: 7, atLeader: 2, refused: 1 } as const;
    const tried = text(result({ checked: [checked({ reads: [count] })] }));
    expect(tried).toMatch(/bounded +7 at followers +2 at the leader +1 refused/);
    expect(tried).toContain('VERDICT: no anomaly');
    const untried = [checked({ reads: [{ ...count, atFollowers: 0 }] })];
    expect(text(result({ checked: untried }))).toMatch(/VERDICT: INCOMPLETE, .* bounded/);
    expect(text(result({ checked: untried, anomalies: [anomaly('not-settled')] }))).toContain(
      'VERDICT: FAILED',
    );
  });

  it('what could not be decided', () => {
    expect(text(result({ checked: [checked({ gaveUp: 'too much' })] }))).toContain('UNDECIDED set: too much');
  });
});
