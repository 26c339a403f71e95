/**
 * The memory that a stream of messages is read into: blocks, each filled by many reads.
 *
 * Responsible for: room for the next read, and for keeping what is incomplete in one piece. A buffer for each read, and another for each message that comes in two, is several times the stream, and V8 marks its whole heap for them
 * (main/heap-growth.ts).
 * Invariant: what was handed out stays as it is. No byte of a block is written twice, and a block lives as long as somebody has a view of it.
 */
const blockBytes = 1024 * 1024;
/** A read is given at least so much. */
const roomBytesMin = 64 * 1024;

export class ReadBlocks {
  /** None before the first read: a connection may end before it says anything. */
  private block: Buffer = Buffer.alloc(0);
  /** What was read and not used lies between. */
  private from = 0;
  private to = 0;

  /** Where the next read goes. */
  room(): Buffer {
    if (this.block.length - this.to < roomBytesMin) this.begin();
    return this.block.subarray(this.to);
  }

  private begin(): void {
    const rest = this.unused;
    const bytes = rest.length + roomBytesMin > blockBytes ? 2 * rest.length + roomBytesMin : blockBytes;
    this.block = Buffer.allocUnsafeSlow(bytes);
    rest.copy(this.block);
    this.from = 0;
    this.to = rest.length;
  }

  /** So many bytes have been read into `room()`. */
  filled(bytes: number): void {
    this.to += bytes;
  }

  /** What was read and not used, in one piece. */
  get unused(): Buffer {
    return this.block.subarray(this.from, this.to);
  }

  use(bytes: number): void {
    this.from += bytes;
  }
}
