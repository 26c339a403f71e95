/**
 * The little that the segment log needs of a file system, as a port of its own, so that tests can tear, slow and fail writes.
 *
 * Invariants of an implementation:
 * - `write` resolves only when all its bytes are on stable storage; if it rejects, any part of them may be there.
 * - No call blocks the event loop.
 */
import { constants, write } from 'node:fs';
import { mkdir, open, readdir, rename, unlink } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { syncPath } from '../file-system.ts';

export interface SegmentFile {
  size(): Promise<number>;
  write(data: Uint8Array, position: number): Promise<void>;
  /** Reads into `into` from `position`; returns the bytes read, fewer only at the end of the file. */
  read(into: Uint8Array, position: number): Promise<number>;
  /** Makes durable what an earlier process may have left in the system's cache. */
  sync(): Promise<void>;
  close(): Promise<void>;
}

export interface SegmentDirectory {
  readonly path: string;
  list(): Promise<string[]>;
  create(name: string): Promise<SegmentFile>;
  open(name: string): Promise<SegmentFile>;
  rename(from: string, to: string): Promise<void>;
  remove(name: string): Promise<void>;
  /** Makes created, renamed and removed names durable. */
  sync(): Promise<void>;
}

// macOS keeps O_DSYNC data in the drive's cache; there only fdatasync, which Node turns into F_FULLFSYNC, is enough.
const SYNC_AFTER_WRITE = process.platform === 'darwin';

/** Makes `path`, durably, with the directories above it that are missing. */
export async function makeDirectory(path: string): Promise<void> {
  const first = await mkdir(path, { recursive: true, mode: 0o700 });
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
  const openFile = async (name: string, flags: number): Promise<SegmentFile> =>
    nodeSegmentFile(await open(join(path, name), flags | (constants.O_DSYNC ?? 0), 0o600));
  return {
    path,
    list: () => readdir(path),
    create: (name) => openFile(name, constants.O_RDWR | constants.O_CREAT | constants.O_TRUNC),
    open: (name) => openFile(name, constants.O_RDWR),
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
