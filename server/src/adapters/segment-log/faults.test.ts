import { describe, expect, it } from 'vitest';
import { commandOf, group, newLogOf, slotOf, voteOf } from '../../ports/testing/log-store-contract.ts';
import {
  FRAME_HEADER_BYTES,
  HEADER_BLOCK_BYTES as SEGMENT_HEADER_BYTES,
  SECTOR_BYTES,
  segmentName,
} from './layout.ts';
import { createSegmentLogOn, openSegmentLogOn } from './segment-log-on.ts';
import { createFaultyDirectory, type FaultyDirectory } from './testing/faulty-directory.ts';
import { create, open, segmentBytes } from './testing/small-segments.ts';

function bytesOf(directory: FaultyDirectory, segment: number): Buffer {
  return directory.files.get(segmentName(segment))?.bytes ?? Buffer.alloc(0);
}

function flipBit(directory: FaultyDirectory, segment: number, offset: number): void {
  const bytes = bytesOf(directory, segment);
  bytes.writeUInt8(bytes.readUInt8(offset) ^ 4, offset);
}

const slotsOf = (store: Awaited<ReturnType<typeof open>>): number[] =>
  store.recovered.tail.map((kept) => kept.slot);
const firstRecord = SEGMENT_HEADER_BYTES + FRAME_HEADER_BYTES;

/** A log of slots 1, 2, 3, one frame of one sector each, whose process has just died. `sealed`: it was idle first. */
async function logOfThree(sealed: boolean): Promise<FaultyDirectory> {
  const directory = createFaultyDirectory();
  const store = await create(directory, sealed ? 1 : 3_600_000);
  for (const slot of [1, 2, 3]) await store.append([voteOf(slot)]);
  if (sealed) {
    const writes = directory.writes;
    while (directory.writes === writes) await new Promise((resolve) => setTimeout(resolve, 2));
  }
  return directory.crashed(() => false);
}

describe('group commit', () => {
  it('writes all that waits together, one write at a time', async () => {
    const directory = createFaultyDirectory();
    const options = { group, segmentBytes: 1024 * 1024, sealAfterMs: 60_000 };
    const store = await createSegmentLogOn(directory, options, newLogOf());
    const before = directory.writes;
    let letGo = (): void => undefined;
    const held = new Promise<void>((resolve) => (letGo = resolve));
    directory.delay = () => held;
    const first = store.append([voteOf(1)]);
    while (directory.writes === before) await new Promise(setImmediate);
    const rest = Array.from({ length: 100 }, (_, i) => store.append([voteOf(i + 2)]));
    letGo();
    await Promise.all([first, ...rest]);
    expect(directory.writes - before).toBeLessThanOrEqual(2);
    await store.close();
    expect(directory.concurrentWritesMax).toBe(1);
  });

  it('resolves nothing before its write is on the disk', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    let letGo = (): void => undefined;
    directory.delay = () => new Promise((resolve) => (letGo = resolve));
    let done = false;
    const append = store.append([voteOf(1)]).then(() => (done = true));
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(done).toBe(false);
    expect(await store.read(slotOf(1), slotOf(1), 1000)).toEqual([]);
    letGo();
    await append;
    expect(await store.read(slotOf(1), slotOf(1), 1000)).toHaveLength(1);
  });

  it('an append larger than a segment gets a segment of its own size', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    await store.append([voteOf(1)]);
    await store.append([voteOf(2, 1, commandOf(2, new Uint8Array(100_000).fill(7)))]);
    await store.append([voteOf(3)]);
    const again = await open(directory.crashed(() => false));
    expect(slotsOf(again)).toEqual([1, 2, 3]);
  });
});

describe('a torn tail is cut', () => {
  it.each([
    ['nothing of the write', () => false],
    ['only its first sector', (sector: number) => sector === 0],
    ['all but its first sector', (sector: number) => sector !== 0],
    ['every second sector', (sector: number) => sector % 2 === 1],
  ])('if %s reached the disk', async (_, survives) => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    await store.append([voteOf(1)]);
    directory.delay = () => new Promise(() => undefined);
    void store.append([voteOf(2, 1, commandOf(2, new Uint8Array(5000).fill(7)))]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const survivor = directory.crashed(survives);
    const again = await open(survivor);
    expect(slotsOf(again)).toEqual([1]);
    await again.append([voteOf(2, 3)]);
    expect(slotsOf(await open(survivor.crashed(() => false)))).toEqual([1, 2]);
  });

  it('and its remains are erased, so that a later write cannot complete them', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    directory.delay = () => new Promise(() => undefined);
    void store.append([voteOf(1, 1, commandOf(1, new Uint8Array(5000).fill(7)))]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const survivor = directory.crashed((sector) => sector > 2);
    const isClean = (): boolean =>
      bytesOf(survivor, 1)
        .subarray(SEGMENT_HEADER_BYTES + SECTOR_BYTES)
        .every((byte) => byte === 0);
    expect(isClean()).toBe(false);
    await open(survivor);
    expect(isClean()).toBe(true);
  });

  it('a write that reached the disk whole, but was not acknowledged, may count', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    directory.delay = () => new Promise(() => undefined);
    void store.append([voteOf(1)]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(slotsOf(await open(directory.crashed(() => true)))).toEqual([1]);
  });
});

describe('corruption is named, never read as data', () => {
  it.each([
    ['in a record', firstRecord + SECTOR_BYTES + 40, `offset ${firstRecord + SECTOR_BYTES}, slot 2`],
    [
      'in a frame header',
      SEGMENT_HEADER_BYTES + SECTOR_BYTES + 9,
      `offset ${SEGMENT_HEADER_BYTES + SECTOR_BYTES}`,
    ],
    ['in the last record of an idle log', firstRecord + 2 * SECTOR_BYTES + 40, 'slot 3'],
    ['in the segment header', 40, 'offset 0'],
  ])('a flipped bit %s', async (_, offset, named) => {
    const directory = await logOfThree(true);
    flipBit(directory, 1, offset);
    const opening = open(directory);
    await expect(opening).rejects.toMatchObject({ code: 'logCorrupt' });
    await expect(opening).rejects.toThrow(segmentName(1));
    await expect(opening).rejects.toThrow(named);
  });

  it('a flipped bit in a segment that is not the last', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    for (let slot = 1; slot <= 40; slot++) await store.append([voteOf(slot)]);
    expect(store.stats().segments).toBeGreaterThan(1);
    const lastFrame = Math.floor(segmentBytes / SECTOR_BYTES - 1) * SECTOR_BYTES;
    flipBit(directory, 1, lastFrame + 60);
    await expect(open(directory.crashed(() => false))).rejects.toMatchObject({ code: 'logCorrupt' });
  });

  it('a record that rots while the log is open', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    await store.append([voteOf(1), voteOf(2)]);
    flipBit(directory, 1, firstRecord + 40);
    await expect(store.read(slotOf(1), slotOf(2), 1e6)).rejects.toThrow(`offset ${firstRecord}, slot 1`);
    expect(await store.read(slotOf(2), slotOf(2), 1e6)).toHaveLength(1);
  });

  it('a segment cut off inside its records', async () => {
    const directory = await logOfThree(true);
    const stored = directory.files.get(segmentName(1));
    if (stored === undefined) throw new Error('no segment');
    const whole = stored.bytes;
    for (let bytes = SEGMENT_HEADER_BYTES; bytes <= SEGMENT_HEADER_BYTES + 4 * SECTOR_BYTES; bytes += 100) {
      stored.bytes = whole.subarray(0, bytes);
      await expect(open(directory)).rejects.toMatchObject({ code: 'logCorrupt' });
    }
    stored.bytes = Buffer.from(whole.subarray(0, SEGMENT_HEADER_BYTES + 6 * SECTOR_BYTES));
    expect(slotsOf(await open(directory))).toEqual([1, 2, 3]);
    expect(bytesOf(directory, 1)).toHaveLength(segmentBytes);
  });

  it('a missing segment', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    for (let slot = 1; slot <= 80; slot++) await store.append([voteOf(slot)]);
    const crashed = directory.crashed(() => false);
    crashed.files.delete(segmentName(2));
    await expect(open(crashed)).rejects.toThrow(`${segmentName(2)}, offset 0: the segment is missing`);
  });

  it('a segment of another log, or of another group', async () => {
    const [ours, theirs] = [createFaultyDirectory(), createFaultyDirectory()];
    for (const directory of [ours, theirs]) {
      const store = await create(directory);
      for (let slot = 1; slot <= 40; slot++) await store.append([voteOf(slot)]);
    }
    ours.files.set(segmentName(2), { bytes: bytesOf(theirs, 2) });
    await expect(open(ours.crashed(() => false))).rejects.toMatchObject({ code: 'logCorrupt' });
    const other = openSegmentLogOn(
      theirs.crashed(() => false),
      { group: 'g2' as typeof group },
    );
    await expect(other).rejects.toThrow('belongs to group g1, not to g2');
  });
});

describe('a disk that fails', () => {
  it('no space in the middle of a write: nothing of it is visible, what waits behind it fails too, and a retry works', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    await store.append([voteOf(1)]);
    let letGo = (): void => undefined;
    directory.delay = () => new Promise((resolve) => (letGo = resolve));
    directory.nextWriteError = { code: 'ENOSPC', part: 1400 };
    const failed = store.append([voteOf(2, 1, commandOf(2, new Uint8Array(1500).fill(7)))]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    const behind = store.append([voteOf(3)]);
    directory.delay = () => Promise.resolve();
    letGo();
    const full = { status: 'rejected', reason: { code: 'logFull' } };
    expect(await Promise.allSettled([failed, behind])).toMatchObject([full, full]);
    expect(slotsOf(await open(directory.crashed(() => false)))).toEqual([1]);
    await store.append([voteOf(2, 2)]);
    const rest = bytesOf(directory, 1).subarray(SEGMENT_HEADER_BYTES + 2 * SECTOR_BYTES);
    expect(rest.every((byte) => byte === 0)).toBe(true);
    expect(slotsOf(await open(directory.crashed(() => false)))).toEqual([1, 2]);
  });

  it('no space for the next segment: appends fail until there is some, and the half-made one is given back', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    directory.freeBytes = 1000;
    let stored = 0;
    const fill = async (): Promise<never> => {
      for (;;) {
        await store.append([voteOf(stored + 1)]);
        stored++;
      }
    };
    await expect(fill()).rejects.toMatchObject({ code: 'logFull' });
    expect([...directory.files.keys()]).toEqual([segmentName(1)]);
    directory.freeBytes = 1e9;
    await store.append([voteOf(stored + 1)]);
    expect(slotsOf(await open(directory.crashed(() => false)))).toHaveLength(stored + 1);
  });

  it('after an I/O error nothing is written any more: only opening again can tell what is there', async () => {
    const directory = createFaultyDirectory();
    const store = await create(directory);
    await store.append([voteOf(1)]);
    directory.nextWriteError = { code: 'EIO', part: 512 };
    await expect(store.append([voteOf(2)])).rejects.toMatchObject({
      code: 'logFailed',
      cause: { code: 'EIO' },
    });
    const writes = directory.writes;
    await expect(store.append([voteOf(2)])).rejects.toMatchObject({ code: 'logFailed' });
    expect(directory.writes).toBe(writes);
    await store.close();
    expect(slotsOf(await open(directory))).toContain(1);
  });
});
