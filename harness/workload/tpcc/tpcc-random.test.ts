import { describe, expect, it } from 'vitest';
import { Random } from '../seeded-random.ts';
import { deck, transactionNames } from './terminal.ts';
import { drawNewOrder } from './new-order.ts';
import { drawPayment } from './other-transactions.ts';
import { lastName, loadConstants, runConstants, TpccRandom } from './tpcc-random.ts';
import { firstUndelivered, fullScale } from './tpcc-scale.ts';

function drawnFrom(seed: number): TpccRandom {
  const random = new Random(seed);
  return new TpccRandom(random, runConstants(random, loadConstants(random)));
}
const many = Array.from({ length: 20_000 }, (_, n) => n);
const share = (hits: number): number => hits / many.length;

describe('what TPC-C draws', () => {
  it('last names are put together from three syllables', () => {
    expect([0, 371, 999].map(lastName)).toEqual(['BARBARBAR', 'PRICALLYOUGHT', 'EINGEINGEING']);
  });

  it('the constant of last names is not that of the load, by so much as clause 2.1.6.1 asks for', () => {
    for (let seed = 1; seed <= 300; seed += 1) {
      const loaded = loadConstants(new Random(seed));
      const delta = Math.abs(runConstants(new Random(seed + 1000), loaded).lastName - loaded.lastName);
      expect(delta >= 65 && delta <= 119 && delta !== 96 && delta !== 112).toBe(true);
    }
  });

  it('customers and items are all drawn, from the first to the last, some much more often than others', () => {
    const drawn = drawnFrom(1);
    const counts = new Map<number, number>();
    for (let n = 0; n < 200_000; n += 1) {
      const id = drawn.customer(3000);
      counts.set(id, (counts.get(id) ?? 0) + 1);
    }
    const ids = [...counts.keys()];
    expect([Math.min(...ids), Math.max(...ids)]).toEqual([1, 3000]);
    const often = [...counts.values()].toSorted((one, other) => other - one);
    const most = often.slice(0, 300).reduce((sum, count) => sum + count, 0);
    expect(most / 200_000).toBeGreaterThan(0.25);
  });

  it('one order in a hundred names an item that is not there, as its last, and one line in a hundred another warehouse', () => {
    const drawn = drawnFrom(2);
    const scale = fullScale(4);
    const orders = many.map(() => drawNewOrder(drawn, scale, 2));
    const missing = orders.filter(({ lines }) => lines.some(({ item }) => item > scale.items));
    expect(share(missing.length)).toBeGreaterThan(0.007);
    expect(share(missing.length)).toBeLessThan(0.013);
    expect(missing.every(({ lines }) => lines.at(-1)!.item > scale.items)).toBe(true);
    const lines = orders.flatMap((order) => order.lines);
    const remote = lines.filter(({ supplier }) => supplier !== 2);
    expect(new Set(remote.map(({ supplier }) => supplier))).toEqual(new Set([1, 3, 4]));
    expect(remote.length / lines.length).toBeGreaterThan(0.008);
    expect(remote.length / lines.length).toBeLessThan(0.012);
    expect(lines.length / orders.length).toBeGreaterThan(9.8);
    expect(lines.length / orders.length).toBeLessThan(10.2);
  });

  it('three payments in twenty are of another warehouse’s customer, three in five are by last name', () => {
    const drawn = drawnFrom(3);
    const payments = many.map(() => drawPayment(drawn, fullScale(3), 1));
    const remote = share(payments.filter(({ customerWarehouse }) => customerWarehouse !== 1).length);
    const named = share(payments.filter(({ customer }) => 'last' in customer).length);
    expect(Math.abs(remote - 0.15)).toBeLessThan(0.01);
    expect(Math.abs(named - 0.6)).toBeLessThan(0.015);
  });

  it('ten of 23 transactions are orders, ten payments, one of each other kind', () => {
    const counts = transactionNames.map((name) => deck.filter((card) => card === name).length);
    expect(counts).toEqual([10, 10, 1, 1, 1]);
  });

  it('of the first orders 900 of 3,000 wait', () => {
    expect(firstUndelivered(fullScale(1))).toBe(2101);
  });

  it('one text of data in ten says that it is original', () => {
    const drawn = drawnFrom(4);
    const texts = many.map(() => drawn.data(26, 50));
    const original = share(texts.filter((text) => text.includes('ORIGINAL')).length);
    expect(Math.abs(original - 0.1)).toBeLessThan(0.01);
    expect(texts.every(({ length }) => length >= 26 && length <= 50)).toBe(true);
  });
});
