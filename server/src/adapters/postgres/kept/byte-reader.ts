/** Lines and counted bytes from a stream, as they come. */
import type { Readable } from 'node:stream';
import { CopyError } from '../../../ports/copy.ts';

const lineBytesMax = 64 * 1024 * 1024;
const newline = 0x0a;

export class ByteReader {
  private readonly chunks: AsyncIterator<Buffer>;
  private readonly onTaken: (part: Buffer) => void;
  private left: Buffer = Buffer.alloc(0);

  /** `onTaken`: all of it, in order. */
  constructor(stream: Readable, onTaken: (part: Buffer) => void = () => undefined) {
    this.chunks = stream.iterator({ destroyOnReturn: false }) as AsyncIterator<Buffer>;
    this.onTaken = onTaken;
  }

  /** Without its end. @throws CopyError if the stream ends first */
  async line(): Promise<string> {
    const parts: Buffer[] = [];
    for (let bytes = 0; ; ) {
      const end = this.left.indexOf(newline);
      const part = end < 0 ? this.left : this.left.subarray(0, end + 1);
      this.left = this.left.subarray(part.length);
      bytes += part.length;
      if (bytes > lineBytesMax) throw new CopyError('copyInvalid', 'a line is too long');
      parts.push(part);
      this.onTaken(part);
      if (end >= 0) return Buffer.concat(parts).toString('utf8');
      await this.more();
    }
  }

  async bytes(count: number, take: (part: Buffer) => Promise<void>): Promise<void> {
    for (let missing = count; missing > 0; ) {
      if (this.left.length === 0) await this.more();
      const part = this.left.subarray(0, missing);
      this.left = this.left.subarray(part.length);
      missing -= part.length;
      this.onTaken(part);
      await take(part);
    }
  }

  private async more(): Promise<void> {
    const next = await this.chunks.next();
    if (next.done === true) throw new CopyError('transferFailed', 'the copy was cut off');
    this.left = next.value;
  }
}
