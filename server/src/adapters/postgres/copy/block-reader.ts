/**
 * Reads a file from its beginning in chunks of whole pages, the next one while the one before is being looked at.
 *
 * Responsible for: that. A file that gets shorter meanwhile ends earlier; what is added to it beyond `bytes` is not read.
 */
import type { FileHandle } from 'node:fs/promises';
import { pageBytes } from './page.ts';

/** Half a megabyte: to look at it takes less than two milliseconds. */
export const chunkPages = 64;
const chunkBytes = chunkPages * pageBytes;

export class BlockReader {
  private readonly handle: FileHandle;
  private readonly bytes: number;
  private at = 0;
  private next: Promise<Buffer> | null = null;

  /** `handle` stays the caller's. */
  constructor(handle: FileHandle, bytes: number) {
    this.handle = handle;
    this.bytes = bytes;
  }

  /** Begins to read the first chunk. */
  prefetch(): void {
    if (this.next !== null || this.at >= this.bytes) return;
    this.next = this.fill(this.at, Math.min(chunkBytes, this.bytes - this.at));
    // Whoever takes the chunk is told.
    this.next.catch(() => undefined);
  }

  /** Null: there is no more. Only the last chunk is less than a multiple of a page. @throws the file system's error */
  async read(): Promise<Buffer | null> {
    this.prefetch();
    if (this.next === null) return null;
    const chunk = await this.next;
    this.next = null;
    if (chunk.length === 0) {
      this.at = this.bytes;
      return null;
    }
    this.at = chunk.length < chunkBytes ? this.bytes : this.at + chunk.length;
    this.prefetch();
    return chunk;
  }

  /** Lets go of the file: resolves when it is not read any more. */
  async stop(): Promise<void> {
    await this.next?.catch(() => undefined);
  }

  private async fill(from: number, bytes: number): Promise<Buffer> {
    const chunk = Buffer.allocUnsafe(bytes);
    let filled = 0;
    while (filled < bytes) {
      const { bytesRead } = await this.handle.read(chunk, filled, bytes - filled, from + filled);
      if (bytesRead === 0) break;
      filled += bytesRead;
    }
    return chunk.subarray(0, filled);
  }
}
