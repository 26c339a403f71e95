import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { setDatabaseAside } from './set-aside.ts';

let root: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-aside-'));
});
afterAll(() => rm(root, { recursive: true, force: true }));

it('a database is set aside whole; the newest two of those are kept', async () => {
  const place = join(root, 'replica');
  const directory = join(place, 'postgres');
  const olds: string[] = [];
  for (let i = 1; i <= 4; i += 1) {
    await mkdir(directory, { recursive: true });
    await writeFile(join(directory, 'which'), String(i));
    const { setAside, removed } = await setDatabaseAside(directory);
    olds.push(setAside ?? '');
    expect(setAside).toMatch(/postgres\.lost-\d{8}T\d{6}\.\d{3}Z/);
    expect(removed).toEqual(i <= 2 ? [] : [olds[i - 3]]);
    expect(await readFile(join(setAside ?? '', 'which'), 'utf8')).toBe(String(i));
  }
  expect(await readdir(place)).toHaveLength(2);
  expect(await setDatabaseAside(join(place, 'nothing'))).toEqual({ setAside: null, removed: [] });
});

it('two databases set aside within the same moment get different names', async () => {
  const place = join(root, 'hasty');
  const now = new Date('2026-11-20T19:00:00.000Z');
  const names: (string | null)[] = [];
  for (let i = 0; i < 2; i += 1) {
    await mkdir(join(place, 'postgres'), { recursive: true });
    names.push((await setDatabaseAside(join(place, 'postgres'), now)).setAside);
  }
  expect(names).toEqual([
    join(place, 'postgres.lost-20261120T190000.000Z'),
    join(place, 'postgres.lost-20261120T190000.000Z.2'),
  ]);
});
