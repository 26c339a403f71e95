import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Random } from '../workload/seeded-random.ts';
import type { Call } from './history.ts';
import { readModes } from './read-terms.ts';
import { checkRegisters } from './register.ts';
import {
  callsOf,
  inMode,
  permutations,
  respectsRealTime,
  subsets,
  type ScriptedCall,
} from './testing/script.ts';

type Span = readonly [number, number];
const write = (span: Span, value: number, outcome: ScriptedCall['outcome'] = 'ok'): ScriptedCall => ({
  f: 'write',
  from: span[0],
  to: span[1],
  asked: { key: 'x', value },
  outcome,
});
const read = (span: Span, value: number | null, key = 'x'): ScriptedCall => ({
  f: 'read',
  from: span[0],
  to: span[1],
  asked: { key },
  answer: { key, value },
});
const cas = (
  span: Span,
  from: number | null,
  to: number,
  swapped: boolean | 'fail' | 'info',
): ScriptedCall => ({
  f: 'cas',
  from: span[0],
  to: span[1],
  asked: { key: 'x', from, to },
  ...(typeof swapped === 'boolean' ? { answer: { key: 'x', from, to, swapped } } : { outcome: swapped }),
});
const kinds = (script: readonly ScriptedCall[]) =>
  checkRegisters(callsOf(script)).anomalies.map(({ kind }) => kind);

describe('a register', () => {
  it('may answer a read with either value while a write is under way', () => {
    expect(kinds([write([0, 10], 1), read([1, 2], null), read([3, 4], 1)])).toEqual([]);
  });

  it('must not go back to an old value', () => {
    expect(kinds([write([0, 10], 1), read([1, 2], 1), read([3, 4], null)])).toEqual(['nonlinearizable']);
  });

  it('must not answer with a stale value', () => {
    expect(kinds([write([0, 1], 1), write([2, 3], 2), read([4, 5], 1)])).toEqual(['nonlinearizable']);
  });

  it('must not lose an acknowledged write', () => {
    expect(kinds([write([0, 1], 1), read([2, 3], null)])).toEqual(['nonlinearizable']);
  });

  it('must not show a write that failed', () => {
    expect(kinds([write([0, 1], 1, 'fail'), read([2, 3], 1)])).toEqual(['nonlinearizable']);
  });

  it('may show a write of unknown outcome at any later time, but not again after another value', () => {
    const unknown = write([0, 1], 1, 'info');
    expect(kinds([unknown, read([2, 3], null), read([4, 5], 1)])).toEqual([]);
    expect(kinds([unknown, read([2, 3], 1), write([4, 5], 2), read([6, 7], 1)])).toEqual(['nonlinearizable']);
  });

  it('must swap when it holds the value that is expected, and not otherwise', () => {
    expect(kinds([write([0, 1], 1), cas([2, 3], 1, 2, true), read([4, 5], 2)])).toEqual([]);
    expect(kinds([write([0, 1], 1), cas([2, 3], 1, 2, false)])).toEqual(['nonlinearizable']);
    expect(kinds([write([0, 1], 1), cas([2, 3], 5, 2, true)])).toEqual(['nonlinearizable']);
    expect(kinds([write([0, 1], 1), cas([2, 3], 1, 2, 'fail'), read([4, 5], 2)])).toEqual([
      'nonlinearizable',
    ]);
    expect(kinds([write([0, 1], 1), cas([2, 3], 1, 2, 'info'), read([4, 5], 2)])).toEqual([]);
  });

  it('must not let two swaps of one value succeed', () => {
    const script = [write([0, 1], 1), cas([2, 5], 1, 2, true), cas([2, 5], 1, 3, true)];
    expect(kinds(script)).toEqual(['nonlinearizable']);
  });

  it('has nothing to do with another register', () => {
    expect(kinds([write([0, 1], 1), read([2, 3], null, 'y')])).toEqual([]);
  });

  it('is explained: the read, what the register could hold, and what came before', () => {
    const [anomaly] = checkRegisters(callsOf([write([0, 1], 1), read([2, 3], 9)])).anomalies;
    expect(anomaly?.summary).toContain('{"key":"x","value":9}');
    expect(anomaly?.detail.join('\n')).toMatch(/holds 1\.[^]*write {"key":"x","value":1} ok/);
  });
});

describe('the search', () => {
  it('stays small with many writes of unknown outcome', () => {
    const unknown = Array.from({ length: 60 }, (_, index) => write([index, index], index + 1, 'info'));
    const reads = Array.from({ length: 60 }, (_, index) => read([100 + index, 100 + index], index + 1));
    expect(checkRegisters(callsOf([...unknown, ...reads]))).toEqual({ anomalies: [], gaveUp: null });
  });

  it('gives up, and says so, when it has looked at too much', () => {
    const writes = Array.from({ length: 8 }, (_, index) => write([0, 100], index + 1));
    const verdict = checkRegisters(callsOf(writes), { configurationsMax: 50 });
    expect(verdict.gaveUp).toContain('more than 50 configurations for register x');
  });
});

/** Tries every order of every choice of the unknown ones. */
function isLinearizable(calls: readonly Call[]): boolean {
  const known = calls.filter(({ outcome }) => outcome === 'ok');
  const unknown = calls.filter(({ outcome, f }) => outcome === 'info' && f !== 'read');
  for (const chosen of subsets(unknown)) {
    for (const order of permutations([...known, ...chosen]))
      if (respectsRealTime(order) && runsAsAnswered(order)) return true;
  }
  return false;
}

function runsAsAnswered(order: readonly Call[]): boolean {
  let value: number | null = null;
  for (const { f, asked, answer, outcome } of order) {
    const question = asked as { value: number; from: number | null; to: number };
    const told = answer as { value: number | null; swapped?: boolean };
    if (f === 'write') value = question.value;
    else if (f === 'read') {
      if (told.value !== value) return false;
    } else {
      const swaps = question.from === value;
      if (outcome === 'ok' && told.swapped !== swaps) return false;
      if (swaps) value = question.to;
    }
  }
  return true;
}

/** Three of these are what a bounded read may be late by, with the resolution of the clock. */
const moment = 4000;
const rules = { leaderHasWhatFollowersShow: readModes };

function randomScript(seed: number): readonly ScriptedCall[] {
  const random = new Random(seed);
  return Array.from({ length: 1 + random.below(5) }, (_, session): ScriptedCall => {
    const from = random.below(10);
    const span: Span = [from * moment, (from + random.below(6)) * moment];
    const value = 1 + random.below(2);
    const outcome = random.pick(['ok', 'ok', 'ok', 'fail', 'info'] as const);
    const kind = random.below(3);
    const terms = random.pick([{}, inMode('linearizable', { session }), inMode('bounded', { session })]);
    if (kind === 0) return { ...read(span, random.chance(0.3) ? null : value), ...terms };
    if (kind === 1) return write(span, value, outcome);
    return cas(span, value, 3 - value, outcome === 'ok' ? random.chance(0.6) : outcome);
  });
}

it('judges random histories as trying every order does', () => {
  const seen = { good: 0, bad: 0 };
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const calls = callsOf(randomScript(seed));
      const expected = isLinearizable(calls);
      seen[expected ? 'good' : 'bad']++;
      expect(checkRegisters(calls, { rules }).anomalies.length === 0).toBe(expected);
    }),
    { numRuns: 1500 },
  );
  expect(Math.min(seen.good, seen.bad)).toBeGreaterThan(200);
});
