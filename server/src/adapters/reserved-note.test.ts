import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { exists } from './file-system.ts';
import { reserveNote, writeReserved } from './reserved-note.ts';
import { mountSmallDisk } from './testing/small-disk.ts';

function fill(path: string): void {
  const file = openSync(path, 'w');
  try {
    for (;;) writeSync(file, Buffer.alloc(4096));
  } catch {
    // It is full.
  } finally {
    closeSync(file);
  }
}

const disk = mountSmallDisk();

it.runIf(disk.isMounted)('a note whose room was reserved is written on a full disk', async () => {
  const note = join(disk.path, 'note');
  try {
    await reserveNote(note, 'reserved');
    fill(join(disk.path, 'filler'));
    await expect(writeReserved(join(disk.path, 'other'), 'why')).rejects.toThrow('ENOSPC');
    await writeReserved(note, 'why');
    expect(await readFile(note, 'utf8')).toBe('reserved');
    expect(await exists(`${note}.reserve`)).toBe(false);
    // Written again, as by one that does not know.
    await expect(writeReserved(note, 'why')).rejects.toThrow('ENOSPC');
    rmSync(join(disk.path, 'filler'));
    await writeReserved(note, 'why');
    expect(await readFile(note, 'utf8')).toBe('why');
  } finally {
    disk.remove();
  }
});
