/**
 * What the library's protocol reads a whole message from, and writes one to. Pure.
 *
 * Beyond the library's own: it writes into one buffer that grows, so that an answer of many rows is not an object for each of its values.
 */
import type { TTransport } from 'thrift';

const firstBytes = 512;

export class BytesTransport implements TTransport {
  private readonly input: Buffer;
  private at = 0;
  private output = Buffer.allocUnsafe(firstBytes);
  private length = 0;

  constructor(input: Buffer = Buffer.alloc(0)) {
    this.input = input;
  }

  /** What has been written; `headroom` bytes in front of it are free. */
  written(headroom = 0): Buffer {
    const bytes = Buffer.allocUnsafe(headroom + this.length);
    this.output.copy(bytes, headroom, 0, this.length);
    return bytes;
  }

  /** @throws RangeError: the message is shorter than it says */
  read(length: number): Buffer {
    this.ensureAvailable(length);
    this.at += length;
    return this.input.subarray(this.at - length, this.at);
  }

  ensureAvailable(length: number): void {
    if (length < 0 || this.at + length > this.input.length)
      throw new RangeError('the message is shorter than it says');
  }

  readByte(): number {
    return this.read(1).readInt8(0);
  }

  readI16(): number {
    return this.read(2).readInt16BE(0);
  }

  readI32(): number {
    return this.read(4).readInt32BE(0);
  }

  readDouble(): number {
    return this.read(8).readDoubleBE(0);
  }

  readString(length = 0): string {
    return this.read(length).toString('utf8');
  }

  write(bytes: Buffer | string): void {
    const more = typeof bytes === 'string' ? Buffer.from(bytes, 'utf8') : bytes;
    const needed = this.length + more.length;
    if (needed > this.output.length) {
      const grown = Buffer.allocUnsafe(Math.max(needed, this.output.length * 2));
      this.output.copy(grown, 0, 0, this.length);
      this.output = grown;
    }
    more.copy(this.output, this.length);
    this.length = needed;
  }

  isOpen(): boolean {
    return true;
  }

  open(): boolean {
    return true;
  }

  close(): boolean {
    return true;
  }

  commitPosition(): void {}
  rollbackPosition(): void {}
  setCurrSeqId(): void {}
  flush(): void {}
}
