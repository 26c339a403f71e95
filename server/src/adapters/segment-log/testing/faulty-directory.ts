/**
 * A segment directory in memory whose disk can tear, refuse, slow and rot. For tests.
 *
 * A write is on the disk when it resolves. `crashed` keeps of an unfinished one whichever sectors the caller picks, as a power cut does.
 */
import type { SegmentDirectory, SegmentFile } from '../segment-directory.ts';

const SECTOR_BYTES = 512;

interface Stored {
  bytes: Buffer;
}

interface Unfinished {
  readonly stored: Stored;
  readonly data: Buffer;
  readonly position: number;
}

export interface FaultyDirectory extends SegmentDirectory {
  readonly files: Map<string, Stored>;
  /** Bytes that may still be allocated. */
  freeBytes: number;
  /** If set, the next write fails with this code after `part` of its bytes. */
  nextWriteError: { readonly code: string; readonly part: number } | null;
  /** Awaited before each write becomes durable. */
  delay: () => Promise<void>;
  readonly writes: number;
  /** Number of writes in flight at the same time, at most. */
  readonly concurrentWritesMax: number;
  /** A copy as a power cut leaves it. Each sector of an unfinished write survives if `survives` says so. */
  crashed(survives: (sector: number) => boolean): FaultyDirectory;
}

function ioError(code: string): Error {
  return Object.assign(new Error(`${code}: injected`), { code });
}

export function createFaultyDirectory(files = new Map<string, Stored>()): FaultyDirectory {
  const unfinished = new Set<Unfinished>();
  let writes = 0;
  let concurrentWritesMax = 0;

  const grow = (stored: Stored, bytes: number): void => {
    if (bytes <= stored.bytes.length) return;
    directory.freeBytes -= bytes - stored.bytes.length;
    stored.bytes = Buffer.concat([stored.bytes, Buffer.alloc(bytes - stored.bytes.length)]);
  };

  const file = (stored: Stored): SegmentFile => ({
    size: () => Promise.resolve(stored.bytes.length),
    async write(data, position) {
      const one: Unfinished = { stored, data: Buffer.from(data), position };
      unfinished.add(one);
      writes++;
      concurrentWritesMax = Math.max(concurrentWritesMax, unfinished.size);
      await directory.delay();
      unfinished.delete(one);
      const error = directory.nextWriteError;
      if (error !== null) {
        directory.nextWriteError = null;
        grow(stored, position + error.part);
        one.data.copy(stored.bytes, position, 0, error.part);
        throw ioError(error.code);
      }
      const needed = position + data.length - stored.bytes.length;
      if (needed > directory.freeBytes) throw ioError('ENOSPC');
      grow(stored, position + data.length);
      one.data.copy(stored.bytes, position);
    },
    async read(into, position) {
      return stored.bytes.subarray(position, position + into.length).copy(into);
    },
    sync: () => Promise.resolve(),
    close: () => Promise.resolve(),
  });

  const must = (name: string): Stored => {
    const stored = files.get(name);
    if (stored === undefined) throw ioError('ENOENT');
    return stored;
  };

  const directory: FaultyDirectory = {
    path: '/memory',
    files,
    freeBytes: Number.POSITIVE_INFINITY,
    nextWriteError: null,
    delay: () => Promise.resolve(),
    get writes() {
      return writes;
    },
    get concurrentWritesMax() {
      return concurrentWritesMax;
    },
    list: () => Promise.resolve([...files.keys()]),
    async create(name) {
      const stored = { bytes: Buffer.alloc(0) };
      files.set(name, stored);
      return file(stored);
    },
    open: async (name) => file(must(name)),
    async rename(from, to) {
      files.set(to, must(from));
      files.delete(from);
    },
    async remove(name) {
      directory.freeBytes += must(name).bytes.length;
      files.delete(name);
    },
    sync: () => Promise.resolve(),
    crashed(survives) {
      const copies = new Map([...files].map(([name, { bytes }]) => [name, { bytes: Buffer.from(bytes) }]));
      for (const [name, stored] of files) {
        const copy = copies.get(name)?.bytes ?? Buffer.alloc(0);
        for (const one of unfinished) if (one.stored === stored) copySectors(one, copy, survives);
      }
      return createFaultyDirectory(copies);
    },
  };
  return directory;
}

/** Only where the file reaches: space that was never allocated does not survive. */
function copySectors(
  { data, position }: Unfinished,
  into: Buffer,
  survives: (sector: number) => boolean,
): void {
  for (let at = 0; at < data.length; at += SECTOR_BYTES) {
    const end = Math.min(at + SECTOR_BYTES, data.length);
    if (survives(at / SECTOR_BYTES) && position + end <= into.length) data.copy(into, position + at, at, end);
  }
}
