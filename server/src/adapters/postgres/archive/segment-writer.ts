/**
 * One segment file of an archive while it is written: `<name>.partial` of its full size, which gets its final name when it is complete.
 *
 * Invariant: what lies beyond the end is zeros, which PostgreSQL takes for the end of the WAL.
 */
import { type FileHandle, open, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { type Lsn, segmentBytes, segmentName, segmentStart, type Timeline } from '../../../wal/lsn.ts';
import { syncPath } from '../../file-system.ts';
import { partialSuffix } from './archive-contents.ts';

export class SegmentWriter {
  private readonly directory: string;
  private readonly name: string;
  private readonly handle: FileHandle;

  private constructor(directory: string, name: string, handle: FileHandle) {
    this.directory = directory;
    this.name = name;
    this.handle = handle;
  }

  /** What is there by its name is replaced. @throws the file system's error */
  static async begin(directory: string, timeline: Timeline, start: Lsn): Promise<SegmentWriter> {
    const name = segmentName(timeline, start);
    const handle = await open(join(directory, name + partialSuffix), 'w', 0o600);
    const writer = new SegmentWriter(directory, name, handle);
    await writer.cutAt(0);
    await syncPath(directory);
    return writer;
  }

  /** Goes on with one that ends at `end`. @throws the file system's error */
  static async reopen(directory: string, timeline: Timeline, end: Lsn): Promise<SegmentWriter> {
    const name = segmentName(timeline, end);
    const handle = await open(join(directory, name + partialSuffix), 'r+');
    const writer = new SegmentWriter(directory, name, handle);
    await writer.cutAt(end - segmentStart(end));
    return writer;
  }

  private async cutAt(offset: number): Promise<void> {
    try {
      await this.handle.truncate(offset);
      await this.handle.truncate(segmentBytes);
    } catch (error) {
      await this.handle.close();
      throw error;
    }
  }

  /** `at`: a position in this segment. */
  async write(at: Lsn, data: Uint8Array): Promise<void> {
    const offset = at - segmentStart(at);
    for (let done = 0; done < data.byteLength; ) {
      done += (await this.handle.write(data, done, data.byteLength - done, offset + done)).bytesWritten;
    }
  }

  sync(): Promise<void> {
    return this.handle.datasync();
  }

  /** All of it is written. */
  async complete(): Promise<void> {
    await this.handle.sync();
    await this.handle.close();
    const path = join(this.directory, this.name);
    await rename(path + partialSuffix, path);
    await syncPath(this.directory);
  }

  close(): Promise<void> {
    return this.handle.close();
  }
}
