import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { Random } from '../workload/seeded-random.ts';
import type { MicroOperation } from './append-transactions.ts';
import { describeCall } from './anomaly.ts';
import type { Call } from './history.ts';
import { checkListAppend } from './list-append.ts';
import { callsOf, permutations, respectsRealTime, subsets, type ScriptedCall } from './testing/script.ts';

const r = (key: string, ...list: number[]): MicroOperation => ['r', key, list];
const a = (key: string, value: number): MicroOperation => ['append', key, value];

/** A transaction from one moment to another. What was asked has no lists. */
function t(
  from: number,
  to: number,
  micros: readonly MicroOperation[],
  outcome: ScriptedCall['outcome'] = 'ok',
): ScriptedCall {
  const asked = micros.map((micro) => (micro[0] === 'r' ? (['r', micro[1], null] as const) : micro));
  return {
    f: 'txn',
    from,
    to,
    asked,
    outcome,
    ...(outcome === 'ok' ? { answer: micros } : { answer: asked }),
  };
}
const check = (...script: ScriptedCall[]) => checkListAppend(callsOf(script)).anomalies;
const kinds = (...script: ScriptedCall[]) => check(...script).map(({ kind }) => kind);

describe('list-append finds', () => {
  it('nothing in transactions that ran one after the other', () => {
    expect(kinds(t(0, 1, [a('x', 1)]), t(2, 3, [r('x', 1), a('x', 2)]), t(4, 5, [r('x', 1, 2)]))).toEqual([]);
  });

  it('nothing wrong in an append of unknown outcome that is seen later, or never', () => {
    expect(kinds(t(0, 1, [a('x', 1)], 'info'), t(2, 3, [r('x')]), t(4, 5, [r('x', 1)]))).toEqual([]);
  });

  it('G0: two transactions whose writes are interleaved', () => {
    const script = [
      t(0, 9, [a('x', 1), a('y', 1)]),
      t(0, 9, [a('x', 2), a('y', 2)]),
      t(0, 9, [r('x', 1, 2)]),
      t(0, 9, [r('y', 2, 1)]),
    ];
    expect(kinds(...script)).toEqual(['G0']);
  });

  it('G1a: a read of what failed', () => {
    expect(kinds(t(0, 1, [a('x', 1)], 'fail'), t(2, 3, [r('x', 1)]))).toEqual(['G1a']);
  });

  it('G1b: a read in the middle of a transaction', () => {
    const script = [t(0, 9, [a('x', 1), a('x', 2)]), t(0, 9, [r('x', 1)]), t(10, 11, [r('x', 1, 2)])];
    expect(kinds(...script)).toContain('G1b');
  });

  it('G1c: two transactions that saw each other', () => {
    expect(kinds(t(0, 9, [a('x', 1), r('y', 1)]), t(0, 9, [a('y', 1), r('x', 1)]))).toEqual(['G1c']);
  });

  it('G-single: a transaction that saw half of another one', () => {
    const script = [t(0, 9, [a('x', 1), a('y', 1)]), t(0, 9, [r('x', 1), r('y')]), t(0, 9, [r('y', 1)])];
    expect(kinds(...script)).toEqual(['G-single']);
  });

  it('G-single: a lost update', () => {
    const script = [t(0, 9, [r('x'), a('x', 1)]), t(0, 9, [r('x'), a('x', 2)]), t(10, 11, [r('x', 1, 2)])];
    expect(kinds(...script)).toEqual(['G-single']);
  });

  it('G2: write skew', () => {
    const script = [
      t(0, 9, [r('x'), a('y', 1)]),
      t(0, 9, [r('y'), a('x', 1)]),
      t(10, 11, [r('x', 1), r('y', 1)]),
    ];
    expect(kinds(...script)).toEqual(['G2']);
  });

  it('G0-realtime: writes in an order that contradicts real time', () => {
    const script = [t(0, 1, [a('x', 1)]), t(2, 3, [a('x', 2)]), t(0, 9, [r('x', 2, 1)])];
    expect(kinds(...script)).toEqual(['G0-realtime']);
  });

  it('G1c-realtime: a read of what was begun later', () => {
    expect(kinds(t(0, 1, [r('x', 1)]), t(2, 3, [a('x', 1)]))).toEqual(['G1c-realtime']);
  });

  it('G-single-realtime: a stale read', () => {
    const script = [t(0, 1, [a('x', 1)]), t(2, 3, [r('x')]), t(4, 5, [r('x', 1)])];
    expect(kinds(...script)).toEqual(['G-single-realtime']);
  });

  it('G2-realtime: two stale reads that only real time forbids', () => {
    // By what they read the order is T3 < T2 < T1, but T1 had ended before T3 began.
    const script = [
      t(0, 1, [a('x', 1)]),
      t(0, 9, [r('x'), a('y', 1)]),
      t(2, 3, [r('y'), r('z')]),
      t(10, 11, [r('x', 1), r('y', 1)]),
    ];
    expect(kinds(...script)).toEqual(['G2-realtime']);
  });

  it('incompatible orders of one list', () => {
    const script = [
      t(0, 9, [a('x', 1)]),
      t(0, 9, [a('x', 2)]),
      t(0, 9, [r('x', 1, 2)]),
      t(0, 9, [r('x', 2)]),
    ];
    expect(kinds(...script)).toContain('incompatible-order');
  });

  it('an acknowledged append that is lost', () => {
    expect(kinds(t(0, 1, [a('x', 1)]), t(0, 1, [a('x', 2)]), t(2, 3, [r('x', 2)]))).toContain('lost-append');
  });

  it('G-single: half of a transaction of unknown outcome', () => {
    expect(kinds(t(0, 1, [a('x', 1), a('y', 1)], 'info'), t(2, 3, [r('x', 1), r('y')]))).toEqual([
      'G-single',
    ]);
  });

  it('an append that took effect twice', () => {
    expect(kinds(t(0, 1, [a('x', 1)]), t(2, 3, [r('x', 1, 1)]))).toContain('doubled-append');
  });

  it('appends of one transaction that stand in another order', () => {
    expect(kinds(t(0, 1, [a('x', 1), a('x', 2)]), t(2, 3, [r('x', 2, 1)]))).toContain('misordered-append');
  });

  it('a value that nobody appended', () => {
    expect(kinds(t(0, 1, [r('x', 5)]))).toEqual(['unwritten']);
  });

  it('a transaction that does not see its own append, or before it was made, or reads differently twice', () => {
    expect(kinds(t(0, 1, [r('x', 1), a('x', 1)]))).toEqual(['internal']);
    expect(kinds(t(0, 1, [a('x', 1), r('x')]))).toEqual(['internal']);
    expect(kinds(t(0, 5, [r('x'), r('x', 1)]), t(0, 5, [a('x', 1)]))).toContain('internal');
  });
});

it('a cycle is told with its transactions and why each comes before the next', () => {
  const [stale] = check(t(0, 1, [a('x', 1)]), t(2, 3, [r('x')]), t(4, 5, [r('x', 1)]));
  const text = stale!.detail.join('\n');
  expect(text).toMatch(/T1: .*txn \[\["r","x",null\]\] -> \[\["r","x",\[\]\]\] ok/);
  expect(text).toContain('T1 < T2 (rw): T2 appended 1 to list x, which the one before did not see');
  expect(text).toMatch(/T2 < T1 \(rt\): T1 began after that had ended/);
});

/** Tries every order of every choice of the unknown ones. */
function isStrictlySerializable(calls: readonly Call[]): boolean {
  const known = calls.filter(({ outcome }) => outcome === 'ok');
  const unknown = calls.filter(({ outcome }) => outcome === 'info');
  for (const chosen of subsets(unknown)) {
    for (const order of permutations([...known, ...chosen]))
      if (respectsRealTime(order) && runsAsAnswered(order)) return true;
  }
  return false;
}

function runsAsAnswered(order: readonly Call[]): boolean {
  const lists = new Map<string, number[]>();
  for (const { answer } of order) {
    for (const [kind, key, value] of answer as readonly MicroOperation[]) {
      const list = lists.get(key) ?? [];
      if (kind === 'append') lists.set(key, [...list, value]);
      else if (value !== null && JSON.stringify(value) !== JSON.stringify(list)) return false;
    }
  }
  return true;
}

/** A few transactions that read whatever a prefix of some order would have shown, and one that reads everything in the end. */
function randomScript(seed: number): readonly ScriptedCall[] {
  const random = new Random(seed);
  const keys = ['x', 'y'];
  const plans = Array.from({ length: 2 + random.below(3) }, (_, id) => {
    const from = random.below(8);
    const micros = Array.from({ length: 1 + random.below(2) }, (_, n) => {
      const key = random.pick(keys);
      return random.chance(0.5) ? a(key, id * 10 + n) : r(key);
    });
    return {
      from,
      to: from + random.below(8),
      micros,
      outcome: random.chance(0.15) ? 'info' : 'ok',
    } as const;
  });
  const finals = new Map(
    keys.map((key) => {
      const values = plans.flatMap(({ micros, outcome }) =>
        micros.flatMap((m) =>
          m[0] === 'append' && m[1] === key && (outcome === 'ok' || random.chance(0.5)) ? [m[2]] : [],
        ),
      );
      return [key, values.sort(() => random.unit() - 0.5)];
    }),
  );
  const filled = plans.map(({ from, to, micros, outcome }) => {
    const lists = new Map(
      keys.map((key) => [key, finals.get(key)!.slice(0, random.below(finals.get(key)!.length + 1))]),
    );
    const told = micros.map((m): MicroOperation => {
      if (m[0] === 'r') return r(m[1], ...lists.get(m[1])!);
      lists.set(m[1], [...lists.get(m[1])!, m[2]]);
      return m;
    });
    return t(from, to, told, outcome);
  });
  return [
    ...filled,
    t(
      30,
      31,
      keys.map((key) => r(key, ...finals.get(key)!)),
    ),
  ];
}

it('judges random histories as trying every order does', () => {
  const seen = { good: 0, bad: 0 };
  fc.assert(
    fc.property(fc.integer(), (seed) => {
      const calls = callsOf(randomScript(seed));
      const expected = isStrictlySerializable(calls);
      seen[expected ? 'good' : 'bad']++;
      const found = checkListAppend(calls).anomalies.map(({ kind }) => kind);
      const history = calls.map(describeCall);
      expect({ isGood: found.length === 0, found, history }).toEqual({ isGood: expected, found, history });
    }),
    { numRuns: 2000 },
  );
  expect(Math.min(seen.good, seen.bad)).toBeGreaterThan(200);
});

it('finds nothing in a long history of a true store, in little time', () => {
  const random = new Random(5);
  const lists = new Map<string, number[]>();
  const script = Array.from({ length: 8000 }, (_, id): ScriptedCall => {
    const at = id * 3;
    const micros = Array.from({ length: 1 + random.below(4) }, (_, n): MicroOperation => {
      const key = `k${Math.floor(id / 200)}.${random.below(4)}`;
      const list = lists.get(key) ?? [];
      if (random.chance(0.5)) return r(key, ...list);
      lists.set(key, [...list, id * 10 + n]);
      return a(key, id * 10 + n);
    });
    return t(at - random.below(20), at + random.below(20), micros);
  });
  const startedMs = performance.now();
  expect(kinds(...script)).toEqual([]);
  expect(performance.now() - startedMs).toBeLessThan(12_000);
});
