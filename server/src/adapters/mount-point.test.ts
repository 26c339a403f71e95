import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { isMountPoint, mountPointsOf } from './mount-point.ts';
import { mountSmallDisk } from './testing/small-disk.ts';

const disk = mountSmallDisk();
const root = mkdtempSync(join(tmpdir(), 'barista-mount-point-'));
afterAll(() => {
  disk.remove();
  rmSync(root, { recursive: true });
});

it('an ordinary directory, and nothing, are no mount points', async () => {
  mkdirSync(join(root, 'plain'));
  expect(await isMountPoint(join(root, 'plain'))).toBe(false);
  expect(await isMountPoint(join(root, 'nothing'))).toBe(false);
});

it.skipIf(!disk.isMounted)(
  'a mounted directory is one; what is in it, and a link to it, are not',
  async () => {
    mkdirSync(join(disk.path, 'inside'));
    symlinkSync(disk.path, join(root, 'link'));
    expect(await isMountPoint(disk.path)).toBe(true);
    expect(await isMountPoint(join(disk.path, 'inside'))).toBe(false);
    expect(await isMountPoint(join(root, 'link'))).toBe(false);
    // By another name of the same place.
    mkdirSync(join(disk.path, 'inside', 'deep'));
    symlinkSync(tmpdir(), join(root, 'tmp'));
    expect(await isMountPoint(disk.path.replace(tmpdir(), join(root, 'tmp')))).toBe(true);
  },
);

it('the table of mounts is read, with blanks in names', () => {
  const table = [
    '22 28 0:20 / /proc rw,nosuid - proc proc rw',
    '31 28 8:1 /volumes/a /data\\040of\\040r1/postgres rw - ext4 /dev/sda1 rw',
    '',
  ].join('\n');
  expect(mountPointsOf(table)).toEqual(['/proc', '/data of r1/postgres', '']);
});
