import { expect, it } from 'vitest';
import { traitsOf, type TypeRow } from './type-traits.ts';

const type = (oid: string, within = '', more: Partial<TypeRow> = {}): TypeRow => ({
  oid,
  within,
  state: `s${oid}`,
  isPseudo: false,
  hasTextOnly: false,
  hasNames: false,
  ...more,
});

it('a type has what the types within it have, however deep, in whatever order they come', () => {
  const rows = [
    type('4', '0 3'),
    type('3', '0 2 1'),
    type('2', '1'),
    type('1', '', { hasNames: true }),
    type('5'),
  ];
  for (const order of [rows, rows.toReversed()]) {
    const traits = traitsOf(order);
    expect(traits.map(({ oid }) => oid)).toEqual(order.map(({ oid }) => oid));
    expect(
      traits
        .filter(({ hasNames }) => hasNames)
        .map(({ oid }) => oid)
        .toSorted(),
    ).toEqual(['1', '2', '3', '4']);
  }
});

it('the state of a type changes with that of each type within it, and with no other', () => {
  const states = (rows: readonly TypeRow[]): Map<string, string> =>
    new Map(traitsOf(rows).map(({ oid, state }) => [oid, state]));
  const chain = (depth: number, deepest = 's0'): TypeRow[] => [
    type('0', '', { state: deepest }),
    ...Array.from({ length: depth }, (_, index) => type(String(index + 1), String(index))),
    type('beside'),
  ];
  const [before, same, after] = [states(chain(5000)), states(chain(5000)), states(chain(5000, 'other'))];
  expect(same).toEqual(before);
  expect([...before.keys()].filter((oid) => before.get(oid) === after.get(oid))).toEqual(['beside']);
});

it('types within each other, which PostgreSQL refuses, are left out', () => {
  const traits = traitsOf([type('1', '2'), type('2', '1'), type('3')]);
  expect(traits.map(({ hasTextOnly, hasNames }) => hasTextOnly && hasNames)).toEqual([true, true, false]);
});
