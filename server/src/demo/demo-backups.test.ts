/** Which backups of a demo are begun, and under which names. What takes them is in memory. */
import { mkdir, mkdtemp, readdir, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { createDemoBackups, type DemoBackups, freeBytesOn } from './demo-backups.ts';

const GiB = 1024 ** 3;
let dataDir: string;
let atMs: number;
let free: number;
let backups: DemoBackups;

beforeEach(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'barista-backups-'));
  atMs = Date.UTC(2026, 4, 4, 10, 30);
  free = 10 * GiB;
  backups = createDemoBackups({
    dataDir,
    clusterSecret: 'a secret that nobody knows',
    port: 1,
    now: () => new Date(atMs),
    freeBytes: async () => free,
    backUp: async ({ file }) => {
      await writeFile(file, 'a backup', { flag: 'wx' });
      return { bytes: 8 };
    },
  });
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

async function taken() {
  expect(backups.take()).toBe(true);
  await expect.poll(() => backups.status().running).toBeNull();
  return backups.status();
}

it('two in one second have names of their own, and one is taken at a time', async () => {
  expect(backups.take()).toBe(true);
  expect(backups.take()).toBe(false);
  await expect.poll(() => backups.status().running).toBeNull();
  atMs += 300;
  expect((await taken()).problem).toBeNull();
  expect(await readdir(join(dataDir, 'backups'))).toEqual([
    '2026-05-04T10-30-00-000Z.barista',
    '2026-05-04T10-30-00-300Z.barista',
  ]);
});

it('there are at most ten, of which what an interrupted one left is none', async () => {
  const directory = join(dataDir, 'backups');
  await mkdir(directory);
  for (let n = 1; n <= 9; n += 1) await writeFile(join(directory, `${n}.barista`), 'one');
  for (let n = 1; n <= 9; n += 1) await writeFile(join(directory, `${n}.barista.part`), 'half of one');
  expect((await taken()).problem).toBeNull();
  atMs += 1;
  expect((await taken()).problem).toContain('10 backups already');
});

it('none is begun that may leave too little room, and it says how much is missing', async () => {
  free = GiB - 1;
  const { problem, last } = await taken();
  expect(problem).toContain('has 1023 MiB free, and a backup is begun with 1024 MiB');
  expect(last).toBeNull();
  expect(await freeBytesOn(dataDir)).toBeGreaterThan(0);
});
