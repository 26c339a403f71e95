/** Files of pages, read from their beginning to their end in pieces of a megabyte. */
import { open } from '../account-files.ts';
import { pageBytes, segmentPages } from '../copy/page.ts';

const chunkBytes = 128 * pageBytes;

export interface PageChunk {
  /** Valid until the next one is asked for. */
  readonly chunk: Buffer;
  /** So many of them are of the file; fewer than a full chunk only in its last one. */
  readonly bytes: number;
  /** Where in the file it begins. */
  readonly from: number;
}

/** @throws the file system's error, or the signal's reason */
export async function* chunksOf(path: string, signal?: AbortSignal): AsyncGenerator<PageChunk, void> {
  const chunk = Buffer.alloc(chunkBytes);
  const handle = await open(path, 'r');
  try {
    for (let from = 0; ; ) {
      signal?.throwIfAborted();
      const bytes = await readFully(handle, chunk, from);
      yield { chunk, bytes, from };
      if (bytes < chunkBytes) return;
      from += bytes;
    }
  } finally {
    await handle.close();
  }
}

/**
 * Calls `visit` for each whole page of a relation, with its number, as PostgreSQL counts them: a file that is not full is the last one. Returns how many there are; 0 where there is no file.
 * @throws the file system's error, or the signal's reason
 */
export async function eachPage(
  path: string,
  visit: (bytes: Buffer, at: number, block: number) => void,
  signal?: AbortSignal,
): Promise<number> {
  let block = 0;
  for (let segment = 0; block === segment * segmentPages; segment += 1) {
    try {
      for await (const { chunk, bytes } of chunksOf(segment === 0 ? path : `${path}.${segment}`, signal))
        for (let at = 0; at + pageBytes <= bytes; at += pageBytes, block += 1) visit(chunk, at, block);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      break;
    }
  }
  return block;
}

type Readable = Pick<Awaited<ReturnType<typeof open>>, 'read'>;

/** As much as there is room for, or there is. */
async function readFully(handle: Readable, chunk: Buffer, from: number): Promise<number> {
  let bytes = 0;
  while (bytes < chunk.length) {
    const { bytesRead } = await handle.read(chunk, bytes, chunk.length - bytes, from + bytes);
    if (bytesRead === 0) break;
    bytes += bytesRead;
  }
  return bytes;
}
