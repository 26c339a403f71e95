/**
 * Finds the frames in a byte stream of the PostgreSQL protocol (after start-up): type byte, 32-bit length, payload.
 *
 * Responsible for: where frames begin and end. Pure, and made for speed: it copies nothing and makes no objects. It is fed a chunk and then walks
 * over the parts of frames in it; a part is the bytes of the chunk from `start` to `end`, and a frame that lies within one chunk is one part.
 * Invariant: a length that cannot be right throws as soon as it is known.
 */
import { ProtocolViolation } from './protocol-violation.ts';

export const headerBytes = 5;

const noBytes = Buffer.alloc(0);

export class FrameSplitter {
  /** Of the frame that the current part belongs to. */
  type = 0;
  /** The current part, in the chunk that was fed. */
  start = 0;
  end = 0;
  /** Where in the chunk the part's share of the payload begins. */
  payload = 0;
  /** Whether the part has the frame's first byte, and its last one. */
  first = false;
  last = true;

  private readonly frameBytesMax: number;
  private readonly header = Buffer.alloc(headerBytes);
  private headerFilled = 0;
  private chunk: Buffer = noBytes;
  /** Bytes of the current frame behind the current part. Not known while the header is incomplete. */
  private left = 0;

  /** `frameBytesMax`: longest frame that is let through, header included. */
  constructor(frameBytesMax: number) {
    this.frameBytesMax = frameBytesMax;
  }

  /** The chunk before it must have been walked over. */
  feed(chunk: Buffer): void {
    this.chunk = chunk;
    this.end = 0;
  }

  /** Goes to the next part; false at the end of the chunk. @throws ProtocolViolation when a length cannot be right */
  next(): boolean {
    const chunk = this.chunk;
    const at = this.end;
    if (at >= chunk.length) {
      this.chunk = noBytes;
      this.end = 0;
      return false;
    }
    this.start = at;
    if (this.left > 0) this.goOn(at);
    else if (this.headerFilled === 0 && chunk.length - at >= headerBytes) {
      this.type = chunk[at]!;
      this.first = true;
      this.payload = at + headerBytes;
      const length = (chunk[at + 1]! << 24) | (chunk[at + 2]! << 16) | (chunk[at + 3]! << 8) | chunk[at + 4]!;
      this.left = this.payloadBytes(length);
      this.takePayload();
    } else this.gatherHeader(at);
    return true;
  }

  /** True between frames: a message of one's own may be put into the stream here. */
  get atBoundary(): boolean {
    return this.last;
  }

  private goOn(at: number): void {
    this.first = false;
    this.payload = at;
    this.takePayload();
  }

  private takePayload(): void {
    this.end = Math.min(this.payload + this.left, this.chunk.length);
    this.left -= this.end - this.payload;
    this.last = this.left === 0;
  }

  /** The header is spread over chunks. */
  private gatherHeader(at: number): void {
    const chunk = this.chunk;
    const take = Math.min(headerBytes - this.headerFilled, chunk.length - at);
    this.first = this.headerFilled === 0;
    chunk.copy(this.header, this.headerFilled, at, at + take);
    this.headerFilled += take;
    this.type = this.header[0]!;
    this.payload = at + take;
    if (this.headerFilled < headerBytes) {
      this.end = chunk.length;
      this.last = false;
      return;
    }
    this.headerFilled = 0;
    this.left = this.payloadBytes(this.header.readInt32BE(1));
    this.takePayload();
  }

  private payloadBytes(length: number): number {
    if (length < 4) throw new ProtocolViolation(`message ${describeType(this.type)} has length ${length}`);
    if (length + 1 > this.frameBytesMax) {
      throw new ProtocolViolation(
        `message ${describeType(this.type)} of ${length + 1} bytes is above the limit of ${this.frameBytesMax}`,
      );
    }
    return length - 4;
  }
}

function describeType(type: number): string {
  return type >= 0x21 && type <= 0x7e
    ? `"${String.fromCharCode(type)}"`
    : `0x${type.toString(16).padStart(2, '0')}`;
}
