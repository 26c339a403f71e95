/** What purging gives back, and that no crash gets in its way. */
import { describe, expect, it } from 'vitest';
import {
  ballotOf,
  commandOf,
  configurationOf,
  group,
  newLogOf,
  slotOf,
  voteOf,
} from '../../ports/testing/log-store-contract.ts';
import { HEADER_BLOCK_BYTES, SECTOR_BYTES } from './layout.ts';
import { createSegmentLogOn } from './segment-log-on.ts';
import { createFaultyDirectory } from './testing/faulty-directory.ts';
import { create, open, segmentBytes } from './testing/small-segments.ts';

describe('purging', () => {
  it('a crash between the note of a purge and the unlinking is made up for when the log is opened', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    await store.append([{ kind: 'promise', ballot: ballotOf(8, 'r3') }]);
    for (let slot = 1; slot <= 100; slot++) await store.append([voteOf(slot)]);
    directory.remove = () => new Promise(() => undefined);
    void store.purge(slotOf(90));
    await new Promise((resolve) => setTimeout(resolve, 20));
    const crashed = directory.crashed(() => false);
    const before = crashed.files.size;
    const again = await open(crashed);
    expect(crashed.files.size).toBeLessThan(before);
    expect(again.recovered).toMatchObject({ promised: ballotOf(8, 'r3'), purgedTo: again.stats().purgedTo });
    expect(again.recovered.purgedTo).toBeGreaterThan(40);
  });

  it('works again and again though the disk is full and the segment is written to its end', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    let slot = 1;
    const fill = async (): Promise<never> => {
      for (; ; slot++) await store.append([voteOf(slot)]);
    };
    while (store.stats().segments < 4) await store.append([voteOf(slot++)]);
    directory.freeBytes = 0;
    await expect(fill()).rejects.toMatchObject({ code: 'logFull' });
    for (let round = 0; round < 3; round++) {
      const { purgedTo, segments } = store.stats();
      await store.purge(slotOf(purgedTo + 30));
      expect(store.stats().segments).toBeLessThan(segments);
      // The space that came free is taken by others at once, but for one segment.
      directory.freeBytes = Math.min(directory.freeBytes, segmentBytes);
      await expect(fill()).rejects.toMatchObject({ code: 'logFull' });
    }
    const again = await open(directory.crashed(() => false));
    expect(again.recovered.purgedTo).toBe(store.stats().purgedTo);
    expect(again.recovered.tail.at(-1)?.slot).toBe(slot - 1);
  });

  it('gives the space back', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    for (let slot = 1; slot <= 200; slot++) await store.append([voteOf(slot)]);
    const before = store.stats();
    await store.purge(slotOf(200));
    const after = store.stats();
    expect(before.segments).toBeGreaterThan(8);
    expect(after.segments).toBe(1);
    expect(after.bytes).toBeLessThanOrEqual(2 * segmentBytes);
    expect(directory.files.size).toBeLessThanOrEqual(2);
  });
});

describe('purging under a steady load', () => {
  it('keeps the size flat', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    const recordBytes = SECTOR_BYTES * 3;
    const keptSlots = 20;
    const usable = segmentBytes - HEADER_BLOCK_BYTES;
    // Those that what is kept fills, one that it shares with what went, and the next one.
    const bytesMax = (Math.ceil((keptSlots * recordBytes) / usable) + 2) * segmentBytes;
    let largest = 0;
    for (let slot = 1; slot <= 600; slot++) {
      await store.append([voteOf(slot, 1, commandOf(slot, new Uint8Array(1300)))]);
      if (slot > keptSlots) await store.purge(slotOf(slot - keptSlots));
      largest = Math.max(largest, store.stats().bytes);
    }
    expect(largest).toBeLessThanOrEqual(bytesMax);
    const onDisk = [...directory.files.values()].reduce((sum, { bytes }) => sum + bytes.length, 0);
    expect(store.stats().bytes).toBe(onDisk);
    expect(store.stats().purgedTo).toBeGreaterThan(600 - keptSlots - segmentBytes / SECTOR_BYTES);
  });

  it('segments are a sixteenth of what the log is held to, so that a purge can get well below it', async () => {
    const directory = createFaultyDirectory();
    const logBytesMax = 512 * 1024;
    const store = await createSegmentLogOn(directory, { group, logBytesMax }, newLogOf());
    let slot = 0;
    while (store.stats().bytes < logBytesMax) await store.append([voteOf(++slot)]);
    await store.purge(slotOf(slot));
    expect(store.stats().bytes).toBeLessThanOrEqual(logBytesMax / 8);
  });

  it('a base gives the space below it back', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    for (let slot = 1; slot <= 200; slot++) await store.append([voteOf(slot)]);
    expect(store.stats().segments).toBeGreaterThan(8);
    await store.append([{ kind: 'base', slot: slotOf(200), configuration: configurationOf(2) }]);
    await store.close();
    expect(directory.files.size).toBe(1);
    expect((await open(directory)).recovered).toMatchObject({ purgedTo: 200, tail: [] });
  });
});
