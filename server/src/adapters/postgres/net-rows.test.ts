import fc from 'fast-check';
import { expect, it } from 'vitest';
import { AmbiguousRowsError, createRowNetting } from './net-rows.ts';
import type { NetRows, RowEffect } from './net-rows.ts';

/** A history of one table: rows `key:version`, versions never used twice, so that the order can be told from the data. */
interface History {
  readonly before: readonly string[];
  readonly effects: readonly RowEffect[];
  readonly after: readonly string[];
}

const history: fc.Arbitrary<History> = fc
  .array(fc.record({ key: fc.nat(4), to: fc.nat(4), what: fc.constantFrom('insert', 'update', 'delete') }))
  .map((steps) => {
    const table = new Map<number, string>([
      [0, '0:first'],
      [1, '1:first'],
    ]);
    const before = [...table.values()];
    const effects: RowEffect[] = [];
    const relation = 'r';
    steps.forEach(({ key, to, what }, i) => {
      const old = table.get(key);
      if (what === 'insert' && old === undefined) {
        table.set(key, `${key}:${i}`);
        effects.push({ kind: 'insert', relation, rows: [`${key}:${i}`] });
      } else if (what === 'delete' && old !== undefined) {
        table.delete(key);
        effects.push({ kind: 'delete', relation, rows: [old] });
      } else if (what === 'update' && old !== undefined && (to === key || !table.has(to))) {
        table.delete(key);
        table.set(to, `${to}:${i}`);
        effects.push({ kind: 'update', relation, before: [old], after: [`${to}:${i}`] });
      }
    });
    return { before, effects, after: [...table.values()] };
  });

function apply(before: readonly string[], net: NetRows): string[] {
  const rows = new Set(before);
  for (const row of [...net.removed, ...net.before]) expect(rows.delete(row)).toBe(true);
  for (const row of [...net.after, ...net.added]) {
    expect(rows.has(row)).toBe(false);
    rows.add(row);
  }
  return [...rows].sort();
}

for (const pairing of [true, false]) {
  it(`effects give the same table in whatever order they were noted (${pairing ? 'paired' : 'counted'})`, () => {
    fc.assert(
      fc.property(
        history.chain((h) =>
          fc
            .shuffledSubarray([...h.effects], { minLength: h.effects.length })
            .map((effects) => Object.assign({}, h, { effects })),
        ),
        ({ before, effects, after }) => {
          const netting = createRowNetting(pairing);
          for (const effect of effects) netting.add(effect);
          expect(apply(before, netting.result())).toEqual([...after].sort());
        },
      ),
      { numRuns: 2_000 },
    );
  });
}

it('a row that was updated many times is written once', () => {
  const netting = createRowNetting(true);
  for (let i = 0; i < 100; i += 1) {
    netting.add({ kind: 'update', relation: 'r', before: [`(1,${i})`], after: [`(1,${i + 1})`] });
  }
  expect(netting.result()).toEqual({ removed: [], before: ['(1,0)'], after: ['(1,100)'], added: [] });
});

it('rows that are alike are counted, and cannot be paired', () => {
  const twice: RowEffect = { kind: 'delete', relation: 'r', rows: ['(1)', '(1)'] };
  const counted = createRowNetting(false);
  counted.add(twice);
  counted.add({ kind: 'insert', relation: 'r', rows: ['(1)'] });
  expect(counted.result().removed).toEqual(['(1)']);
  expect(() => createRowNetting(true).add(twice)).toThrow(AmbiguousRowsError);
});
