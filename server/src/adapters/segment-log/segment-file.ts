/** The file system of the machine, as the segment log uses it (segment-directory.ts). */
import { constants, write } from 'node:fs';
import { readdir, rename, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { makeDirectories, openFile, syncPath } from '../file-system.ts';
import type { SegmentDirectory, SegmentFile } from './segment-directory.ts';

// macOS keeps O_DSYNC data in the drive's cache; there only fdatasync, which Node turns into F_FULLFSYNC, is enough.
const SYNC_AFTER_WRITE = process.platform === 'darwin';

/** Makes `path`, durably, with the directories above it that are missing. */
export async function makeDirectory(path: string): Promise<void> {
  const first = await makeDirectories(path, 0o700);
  if (first === undefined) return;
  // A new name is durable when the directory that holds it is.
  const top = dirname(resolve(first));
  for (let at = dirname(resolve(path)); ; at = dirname(at)) {
    await syncPath(at);
    if (at === top || at === dirname(at)) return;
  }
}

/** The real file system. The directory is there already. */
export async function nodeSegmentDirectory(path: string): Promise<SegmentDirectory> {
  const openSegment = async (name: string, flags: number): Promise<SegmentFile> =>
    nodeSegmentFile(await openFile(join(path, name), flags | (constants.O_DSYNC ?? 0)));
  return {
    path,
    list: () => readdir(path),
    create: (name) => openSegment(name, constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC),
    open: (name) => openSegment(name, constants.O_RDWR),
    rename: (from, to) => rename(join(path, from), join(path, to)),
    remove: (name) => unlink(join(path, name)),
    sync: () => syncPath(path),
  };
}

/** Each vote passes here, and the file handle's own `write` costs twice as much. */
function writeOnce(fd: number, data: Uint8Array, from: number, position: number): Promise<number> {
  return new Promise((done, failed) => {
    write(fd, data, from, data.length - from, position, (error, bytesWritten) => {
      if (error === null) done(bytesWritten);
      else failed(error);
    });
  });
}

function nodeSegmentFile(handle: FileHandle): SegmentFile {
  return {
    size: async () => (await handle.stat()).size,
    async write(data, position) {
      let done = 0;
      while (done < data.length) {
        done += await writeOnce(handle.fd, data, done, position + done);
      }
      if (SYNC_AFTER_WRITE) await handle.datasync();
    },
    async read(into, position) {
      let done = 0;
      while (done < into.length) {
        const { bytesRead } = await handle.read(into, done, into.length - done, position + done);
        if (bytesRead === 0) break;
        done += bytesRead;
      }
      return done;
    },
    sync: () => handle.datasync(),
    close: () => handle.close(),
  };
}
