/** The real file system and the two simulated ones, held against what the segment log relies on. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { Random } from '../../ports/testing/random.ts';
import { ProcessTime, SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { nodeSegmentDirectory } from './segment-file.ts';
import { describeSegmentDirectory } from './testing/directory-contract.ts';
import { createFaultyDirectory } from './testing/faulty-directory.ts';
import { SimulatedDisk } from './testing/simulated-disk.ts';

describeSegmentDirectory('the real file system', async () => {
  const path = await mkdtemp(join(tmpdir(), 'barista-segments-'));
  return { directory: await nodeSegmentDirectory(path), dispose: () => rm(path, { recursive: true }) };
});

describeSegmentDirectory('a directory whose writes fail', () =>
  Promise.resolve({ directory: createFaultyDirectory(), dispose: () => Promise.resolve() }),
);

function diskOf(seed: number): { disk: SimulatedDisk; timers: ProcessTime } {
  return {
    disk: new SimulatedDisk({ random: new Random(seed) }),
    timers: new ProcessTime(new SimulatedTime()),
  };
}

const inNoTime = (): boolean => false;

describeSegmentDirectory('a disk in simulated time', () => {
  const { disk, timers } = diskOf(1);
  return Promise.resolve({ directory: disk.open(timers, inNoTime), dispose: () => Promise.resolve() });
});

const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('latin1');

async function read(disk: SimulatedDisk, timers: ProcessTime, name: string): Promise<string> {
  const file = await disk.open(timers, inNoTime).open(name);
  const bytes = Buffer.alloc(await file.size());
  await file.read(bytes, 0);
  return text(bytes);
}

it('what has ended is there after any crash, and of what is under way any sectors are', async () => {
  const survivors = new Set<string>();
  for (let seed = 1; seed <= 60; seed++) {
    const { disk, timers } = diskOf(seed);
    let takesTime = false;
    const directory = disk.open(timers, () => takesTime);
    const file = await directory.create('one');
    await file.write(Buffer.alloc(3 * 512, 'a'), 0);
    await directory.sync();
    takesTime = true;
    void file.write(Buffer.alloc(3 * 512, 'b'), 0);
    disk.crashMachine();
    const found = await read(disk, timers, 'one');
    survivors.add([0, 512, 1024].map((at) => found[at]).join(''));
    expect(found).toMatch(/^(a{512}|b{512}){3}$/);
  }
  expect(survivors.size).toBe(8);
});

it('what a killed process had under way is in the cache, and is lost with the machine unless it is flushed', async () => {
  const isWritten = async (disk: SimulatedDisk, timers: ProcessTime): Promise<boolean> =>
    /^b{512}$/.test(await read(disk, timers, 'one'));
  const kept = { unflushed: 0, flushed: 0, lost: 0, lostThoughFlushed: 0 };
  for (let seed = 1; seed <= 60; seed++) {
    const { disk, timers } = diskOf(seed);
    let takesTime = false;
    const first = disk.open(timers, () => takesTime);
    const file = await first.create('one');
    await file.write(Buffer.alloc(512, 'a'), 0);
    await first.sync();
    takesTime = true;
    void file.write(Buffer.alloc(512, 'b'), 0);
    disk.crashProcess();
    if (!(await isWritten(disk, timers))) continue;
    const isFlushed = seed % 2 === 0;
    if (isFlushed) await (await disk.open(timers, inNoTime).open('one')).sync();
    disk.crashMachine();
    if (await isWritten(disk, timers)) kept[isFlushed ? 'flushed' : 'unflushed'] += 1;
    else kept[isFlushed ? 'lostThoughFlushed' : 'lost'] += 1;
  }
  expect(kept.lostThoughFlushed).toBe(0);
  expect(Math.min(kept.flushed, kept.unflushed, kept.lost)).toBeGreaterThan(1);
});

it('names that were not flushed are lost from some point on, in the order in which they were made', async () => {
  const survivors = new Set<string>();
  for (let seed = 1; seed <= 40; seed++) {
    const { disk, timers } = diskOf(seed);
    const directory = disk.open(timers, inNoTime);
    await directory.create('one');
    await directory.sync();
    await directory.create('two');
    await directory.rename('one', 'three');
    disk.crashMachine();
    survivors.add((await disk.open(timers, inNoTime).list()).toSorted().join());
  }
  expect([...survivors].toSorted()).toEqual(['one', 'one,two', 'three,two']);
});

it('a process that has died does nothing any more', async () => {
  const { disk, timers } = diskOf(1);
  const old = disk.open(timers, inNoTime);
  const file = await old.create('one');
  await old.sync();
  disk.crashProcess();
  let isOver = false;
  void file.write(Buffer.from('late'), 0).then(() => (isOver = true));
  await new Promise((resolve) => setImmediate(resolve));
  expect([isOver, await read(disk, timers, 'one')]).toEqual([false, '']);
});

it('a disk that is full takes a part of a write at most, and what is removed gives room', async () => {
  const { disk, timers } = diskOf(3);
  const directory = disk.open(timers, inNoTime);
  disk.freeBytes = 1000;
  const file = await directory.create('one');
  await file.write(Buffer.alloc(800, 'a'), 0);
  await expect(file.write(Buffer.alloc(800, 'b'), 800)).rejects.toMatchObject({ code: 'ENOSPC' });
  expect(await file.size()).toBeLessThanOrEqual(1000);
  await directory.remove('one');
  expect(disk.freeBytes).toBe(1000);
});
