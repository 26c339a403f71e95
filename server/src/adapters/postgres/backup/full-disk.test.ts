/** A real file system without space. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { mountSmallDisk } from '../../testing/small-disk.ts';
import { inPieces, sealed, soundEntries, tarOf } from './testing/small-backup.ts';
import { unpackBackup } from './unpack.ts';

const disk = mountSmallDisk();
afterAll(disk.remove);

describe.skipIf(!disk.isMounted)('a disk without space for a backup', () => {
  it('is told as noSpace, keeps nothing of it and takes in one that fits', async () => {
    const directory = join(disk.path, 'unpacked');
    const receive = async (tar: Buffer): Promise<void> => {
      const stream = Readable.from(inPieces(await sealed(tar), 32_768));
      await unpackBackup({ stream, directory, majorVersion: 18 });
    };
    const large = tarOf([...soundEntries, ['base/1/large', Buffer.alloc(2_000_000, 1)]]);
    await expect(receive(large)).rejects.toMatchObject({
      name: 'CopyError',
      code: 'noSpace',
      cause: { code: 'ENOSPC' },
    });
    expect(await readdir(disk.path)).toEqual([]);
    await receive(tarOf(soundEntries));
    expect(await readdir(disk.path)).toEqual(['unpacked']);
  });
});
