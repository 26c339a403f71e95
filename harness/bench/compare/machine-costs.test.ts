import { expect, test } from 'vitest';
import { costsOfEach, parseDisks, parseNetwork } from './machine-costs.ts';

test('only the loopback interface counts, and what it received', () => {
  const text = 'face |bytes packets\n  lo:  3193      29    0 0 0 0 0 0 3193 29\neth0: 9 9 9 9 9 9 9 9 9 9\n';
  expect(parseNetwork(text)).toEqual({ loopbackBytes: 3193, loopbackPackets: 29 });
});

test('only whole disks count, not their partitions, nor what lies on others', () => {
  const disk = (name: string): string => ` 254 0 ${name} 1 2 3 4 50 6 70 8 9 10 11 12 13 14 15 160 17`;
  const text = ['vda', 'vda1', 'dm-0', 'loop0'].map(disk).join('\n');
  expect(parseDisks(text, new Set(['vda', 'dm-0', 'loop0']))).toEqual({
    diskWrites: 50,
    diskBytes: 70 * 512,
    diskFlushes: 160,
  });
});

test('what was not told has no costs', () => {
  const look = { loopbackBytes: 0, loopbackPackets: 0, diskWrites: 0, diskBytes: 0, diskFlushes: 0 };
  expect(costsOfEach(null, look, 10)).toBeNull();
  expect(costsOfEach(look, { ...look, loopbackBytes: 500 }, 10)?.loopbackBytes).toBe(50);
});
