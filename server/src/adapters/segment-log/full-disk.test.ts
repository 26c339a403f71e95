/** A real file system without space. */
import { rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { slotOf } from '../../ports/testing/log-store-contract.ts';
import { mountSmallDisk } from '../testing/small-disk.ts';
import { createSegmentLog, openSegmentLog } from './segment-log.ts';
import { commandOf, group, newLog, voteOf } from './testing/records.ts';

const disk = mountSmallDisk();
afterAll(disk.remove);

describe.skipIf(!disk.isMounted)('a full file system', () => {
  it('fails appends with logFull and keeps what it has; they work again when there is space', async () => {
    const ballast = join(disk.path, 'ballast');
    await writeFile(ballast, Buffer.alloc(600 * 1024));
    const directory = join(disk.path, 'log');
    const store = await createSegmentLog({ directory, group, segmentBytes: 128 * 1024 }, newLog);
    let slot = 0;
    const appendNext = () => store.append([voteOf(slot + 1, 1, commandOf(slot + 1, new Uint8Array(5000)))]);
    const fill = async (): Promise<never> => {
      for (;;) {
        await appendNext();
        slot++;
      }
    };
    const full = { name: 'LogStoreError', code: 'logFull', cause: { code: 'ENOSPC' } };
    await expect(fill()).rejects.toMatchObject(full);
    expect(slot).toBeGreaterThan(40);
    await expect(appendNext()).rejects.toMatchObject(full);
    expect(await store.read(slotOf(1), slotOf(slot + 1), 1e9)).toHaveLength(slot);
    await rm(ballast);
    await appendNext();
    await store.close();
    const again = await openSegmentLog({ directory, group });
    expect(again.recovered.tail).toHaveLength(slot + 1);
    await again.close();
  });
});
