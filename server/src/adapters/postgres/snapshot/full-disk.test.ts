/** A real file system without space. Mounting one takes root on Linux. */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, describe, expect, it } from 'vitest';
import { receiveSnapshot } from './receive-snapshot.ts';
import { inPieces, sent, soundEntries, tarOf } from './testing/small-copy.ts';

const mountPoint = mkdtempSync(join(tmpdir(), 'barista-no-space-'));
const mounted = mountSmallDisk();

function mountSmallDisk(): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', mountPoint], { stdio: 'pipe' });
    return true;
  } catch (error) {
    console.warn(`skipped: cannot mount a small file system here (it takes root on Linux): ${String(error)}`);
    return false;
  }
}

afterAll(() => {
  if (mounted) execFileSync('umount', [mountPoint]);
  rmdirSync(mountPoint);
});

describe.skipIf(!mounted)('a disk without space for the copy', () => {
  it('is told as noSpace, keeps nothing of the copy and takes in one that fits', async () => {
    const directory = join(mountPoint, 'incoming');
    const receive = async (tar: Buffer): Promise<void> => {
      const stream = Readable.from(inPieces(await sent(tar), 32_768));
      await receiveSnapshot({ stream, directory, majorVersion: 18 });
    };
    const large = tarOf([...soundEntries, ['base/1/large', Buffer.alloc(2_000_000, 1)]]);
    await expect(receive(large)).rejects.toMatchObject({
      name: 'SnapshotError',
      code: 'noSpace',
      cause: { code: 'ENOSPC' },
    });
    expect(await readdir(mountPoint)).toEqual([]);
    await receive(tarOf(soundEntries));
    expect(await readdir(mountPoint)).toEqual(['incoming']);
  });
});
