/**
 * Cuts what a client sends into messages: unframed ones (buffered transport), or frames with a length in front of them (framed transport), whichever the client began with.
 *
 * Pure. Invariants: a frame holds exactly one message; nothing is set aside for bytes that are not there yet.
 */
import { BrokenMessage, MessageScanner, type ScanBounds, version } from './message-scanner.ts';

const lengthBytes = 4;
const looseMax = 256;

export class MessageReader {
  /** Null: nothing has come yet. */
  isFramed: boolean | null = null;
  /** May be made wider in between. */
  bounds: ScanBounds;
  private parts: Buffer[] = [];
  /** Of them, at the end, that are as they came. */
  private loose = 0;
  private held = 0;
  private scanner: MessageScanner | null = null;
  private frameLeft = 0;
  private readonly length = Buffer.alloc(lengthBytes);
  private lengthFilled = 0;
  /** Came behind the last message. */
  private rest: Buffer = Buffer.alloc(0);

  constructor(bounds: ScanBounds) {
    this.bounds = bounds;
  }

  /** Bytes that are kept here. */
  get bytes(): number {
    return this.held + this.rest.length;
  }

  /** A message has begun, and is not whole. */
  get isWithin(): boolean {
    return this.held > 0 || this.lengthFilled > 0;
  }

  feed(chunk: Buffer): void {
    this.rest = this.rest.length === 0 ? chunk : Buffer.concat([this.rest, chunk]);
  }

  /** The next message that is whole, or null. @throws BrokenMessage */
  next(): Buffer | null {
    if (this.rest.length === 0) return null;
    this.isFramed ??= this.rest[0] !== version[0];
    return this.isFramed ? this.nextFrame() : this.nextMessage();
  }

  private nextMessage(): Buffer | null {
    const chunk = this.rest;
    this.scanner ??= new MessageScanner(this.bounds);
    const end = this.scanner.scan(chunk, 0);
    this.keep(chunk.subarray(0, end));
    this.rest = chunk.subarray(end);
    return this.scanner.isWhole ? this.taken() : null;
  }

  private nextFrame(): Buffer | null {
    if (this.lengthFilled < lengthBytes) {
      const take = Math.min(lengthBytes - this.lengthFilled, this.rest.length);
      this.rest.copy(this.length, this.lengthFilled, 0, take);
      this.lengthFilled += take;
      this.rest = this.rest.subarray(take);
      if (this.lengthFilled < lengthBytes) return null;
      this.frameLeft = this.length.readInt32BE(0);
      if (this.frameLeft <= 0 || this.frameLeft > this.bounds.bytesMax)
        throw new BrokenMessage(`a frame has ${this.frameLeft} bytes, and may have ${this.bounds.bytesMax}`);
    }
    const chunk = this.rest.subarray(0, this.frameLeft);
    this.scanner ??= new MessageScanner(this.bounds);
    const end = this.scanner.scan(chunk, 0);
    this.keep(chunk);
    this.rest = this.rest.subarray(chunk.length);
    this.frameLeft -= chunk.length;
    if (end < chunk.length || (this.scanner.isWhole && this.frameLeft > 0))
      throw new BrokenMessage('a frame is longer than its message');
    if (this.frameLeft > 0) return null;
    if (!this.scanner.isWhole) throw new BrokenMessage('a frame is shorter than its message');
    this.lengthFilled = 0;
    return this.taken();
  }

  private keep(part: Buffer): void {
    if (part.length === 0) return;
    this.parts.push(part);
    this.held += part.length;
    this.loose += 1;
    // A message that comes byte by byte does not cost an object for each of them. Each byte is copied once.
    if (this.loose < looseMax) return;
    this.parts.push(Buffer.concat(this.parts.splice(-looseMax)));
    this.loose = 0;
  }

  private taken(): Buffer {
    const message = this.parts.length === 1 ? (this.parts[0] ?? Buffer.alloc(0)) : Buffer.concat(this.parts);
    this.parts = [];
    this.loose = 0;
    this.held = 0;
    this.scanner = null;
    return message;
  }
}
