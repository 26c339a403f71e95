import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { expect, test } from 'vitest';
import { clientPrograms } from './client-program.ts';
import { placesOf } from './programs/rotating-pool.ts';
import { changes, transfers } from './programs/transfers.ts';

test('every client has a name and a folder of its own', () => {
  const names = clientPrograms.map(({ name }) => name);
  expect(new Set(names).size).toBe(names.length);
  const isThere = (name: string): boolean =>
    existsSync(fileURLToPath(new URL(`programs/${name}`, import.meta.url)));
  expect(names.filter((name) => !isThere(name))).toEqual([]);
});

test('hosts and ports are read as libpq reads them', () => {
  expect(placesOf({ PGHOST: 'a,b', PGPORT: '1,2' })).toEqual([
    { host: 'a', port: 1 },
    { host: 'b', port: 2 },
  ]);
});

test('a transfer takes from one account what it gives to another, in an order that all share', () => {
  for (const transfer of transfers) {
    const [first, second] = changes(transfer);
    expect(first![0]).toBeLessThan(second![0]);
    expect(first![1] + second![1]).toBe(0);
  }
});
