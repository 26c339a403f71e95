import { describe, expect, it } from 'vitest';
import { BySource, sourceOf } from './by-source.ts';

it.each([
  ['10.0.0.1', '10.0.0.1'],
  ['::ffff:10.0.0.1', '10.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
  ['2001:db8::1', '2001:db8:0:0::/64'],
  ['fe80::1%eth0', 'fe80:0:0:0::/64'],
  ['::1', '0:0:0:0::/64'],
  ['', ''],
])('the source of %s is %s', (address, source) => {
  expect(sourceOf(address)).toBe(source);
});

describe('what comes from several sources', () => {
  function filled(...items: string[]): BySource<string> {
    const all = new BySource<string>();
    for (const item of items) all.add(item[0]!, item);
    return all;
  }

  it('is taken by turns, of each source now the newest, now the oldest', () => {
    const all = filled('a1', 'a2', 'a3', 'b1', 'c1', 'c2');
    const taken = [...Array(7).keys()].map(() => all.takeNext());
    expect(taken).toEqual(['a3', 'b1', 'c2', 'a1', 'c1', 'a2', undefined]);
    expect(all.size).toBe(0);
  });

  it('is taken likewise of each source, however many others come', () => {
    const all = filled('a1', 'a2', 'b1', 'b2');
    const taken = [1, 2, 3, 4].map((round) => {
      const next = all.takeNext();
      all.add('b', `b${round + 2}`);
      return next;
    });
    expect(taken).toEqual(['a2', 'b3', 'a1', 'b1']);
  });

  it('is let go of where it has gone', () => {
    const all = filled('a1', 'a2', 'b1');
    all.retain((one) => one === 'a2');
    expect([all.size, all.takeNext(), all.takeNext()]).toEqual([1, 'a2', undefined]);
  });

  it('makes room where there is most, and the oldest first', () => {
    const all = filled('a1', 'b1', 'b2', 'b3', 'c1');
    expect(all.oldestOfCrowd()).toBe('b1');
    all.delete('b', 'b1');
    all.delete('b', 'b1');
    expect(all.oldestOfCrowd()).toBe('b2');
    expect(all.size).toBe(4);
  });

  it.each([
    ['of 24 bits', (n: number) => `10.0.0.${n}`, '10.0.9.1'],
    ['of 16 bits', (n: number) => `10.0.${n}.1`, '10.9.0.1'],
    ['of 48 bits', (n: number) => `2001:db8:1:${(n * 256).toString(16)}::/64`, '2001:db8:2:0::/64'],
    ['of 56 bits', (n: number) => `2001:db8:1:1${n.toString(16).padStart(2, '0')}::/64`, '2001:db8:1:0::/64'],
  ])('of one that has a whole network %s costs others one turn, and no room', (_, crowd, other) => {
    const all = new BySource<string>();
    for (let n = 0; n < 200; n += 1) all.add(crowd(n), `crowd ${n}`);
    all.add(other, 'other');
    expect(all.oldestOfCrowd()).toBe('crowd 0');
    expect([all.takeNext(), all.takeNext()]).toContain('other');
    expect(all.size).toBe(199);
    all.delete(crowd(5), 'crowd 5');
    expect(all.size).toBe(198);
  });
});
