import { describe, expect, it } from 'vitest';
import { betweenSides, cutOf, LinkTable, majorityRing } from './link-table.ts';

describe('faults that overlap on a link', () => {
  it('leave it broken until the last one ends', () => {
    const links = new LinkTable();
    expect(links.add(1, [cutOf('r1', 'r2')])).toEqual([{ action: 'cut', from: 'r1', to: 'r2', amount: 1 }]);
    expect(links.add(2, [cutOf('r1', 'r2')])).toEqual([]);
    expect(links.remove(1)).toEqual([]);
    expect(links.remove(2)).toEqual([{ action: 'cut', from: 'r1', to: 'r2', amount: 0 }]);
  });

  it('have the strongest one in force', () => {
    const links = new LinkTable();
    const slow = (amount: number) => [{ from: 'r1', to: 'r2', action: 'delay' as const, amount }];
    const told = (amount: number) => [{ action: 'delay', from: 'r1', to: 'r2', amount }];
    expect(links.add(1, slow(100))).toEqual(told(100));
    expect(links.add(2, slow(300))).toEqual(told(300));
    expect(links.add(3, slow(200))).toEqual([]);
    expect(links.remove(2)).toEqual(told(200));
    expect(links.remove(3)).toEqual(told(100));
  });
});

it('two sides do not hear each other', () => {
  const cuts = betweenSides(['a', 'b'], ['c']).map(({ from, to }) => `${from}>${to}`);
  expect(cuts.sort()).toEqual(['a>c', 'b>c', 'c>a', 'c>b']);
});

describe('a majority ring', () => {
  const heardBy = (ids: readonly string[], to: string) => {
    const cut = new Set(majorityRing(ids).map(({ from, to }) => `${from}>${to}`));
    return ids.filter((from) => from === to || !cut.has(`${from}>${to}`));
  };

  it.each([3, 5])('of %i lets each replica hear a majority, and no two the same one', (size) => {
    const ids = Array.from({ length: size }, (_, index) => `r${index + 1}`);
    const heard = ids.map((id) => heardBy(ids, id));
    for (const group of heard) expect(group).toHaveLength((size + 1) / 2);
    expect(new Set(heard.map((group) => group.join())).size).toBe(size);
  });
});
