/**
 * Finds the end of one message of Thrift's binary protocol in a stream of bytes, without a length in front of it.
 *
 * Responsible for: structure and bounds; what the values are is read by the library once the message is whole. Holds none of the bytes.
 * Invariants: a message that cannot be right is refused at the first byte that shows it; what a message claims to have (a length, a number of elements) costs neither memory nor time before it is there;
 * the time for a message is linear in its bytes, however they are cut.
 */

import { messageType, wireType } from './wire-types.ts';

/** What came is no request of this protocol, or is beyond a bound. The connection is over, and no other. */
export class BrokenMessage extends Error {
  override readonly name = 'BrokenMessage';
}

export interface ScanBounds {
  readonly bytesMax: number;
  readonly elementsMax: number;
  readonly depthMax: number;
}

const nameBytesMax = 64;
/** The first two bytes of a message. */
export const version = [0x80, 0x01] as const;

/** Bytes of the types whose values are all of one length. */
const widths: ReadonlyMap<number, number> = new Map([
  [wireType.bool, 1],
  [wireType.byte, 1],
  [wireType.double, 8],
  [wireType.i16, 2],
  [wireType.i32, 4],
  [wireType.i64, 8],
]);

type Expected = 'version' | 'nameLength' | 'sequence' | 'fieldType' | 'fieldId' | 'length' | 'list' | 'map';
const headerBytes: Readonly<Record<Expected, number>> = {
  version: 4,
  nameLength: 4,
  sequence: 4,
  fieldType: 1,
  fieldId: 2,
  length: 4,
  list: 5,
  map: 6,
};

/** Null: a struct, which ends with a byte. */
type Open = { readonly types: readonly number[]; left: number } | null;

export class MessageScanner {
  isWhole = false;
  private readonly bounds: ScanBounds;
  private bytes = 0;
  private elements = 0;
  private readonly open: Open[] = [];
  private expected: Expected = 'version';
  private readonly header = Buffer.alloc(8);
  private filled = 0;
  private fieldType = 0;
  /** Bytes of a value that need not be looked at. */
  private skipping = 0;

  constructor(bounds: ScanBounds) {
    this.bounds = bounds;
  }

  /** Goes over the bytes from `from` on. Returns where it stopped: at the end of the chunk, or behind the message. @throws BrokenMessage */
  scan(chunk: Buffer, from: number): number {
    let at = from;
    while (!this.isWhole && at < chunk.length) {
      const wanted = this.skipping > 0 ? this.skipping : headerBytes[this.expected] - this.filled;
      const take = Math.min(wanted, chunk.length - at);
      if (this.skipping > 0) this.skipping -= take;
      else {
        chunk.copy(this.header, this.filled, at, at + take);
        this.filled += take;
      }
      at += take;
      this.bytes += take;
      if (this.skipping > 0) continue;
      if (this.filled === headerBytes[this.expected]) {
        this.filled = 0;
        this.take();
      }
    }
    return at;
  }

  private take(): void {
    const { header } = this;
    switch (this.expected) {
      case 'version':
        if (header[0] !== version[0] || header[1] !== version[1] || header[2] !== 0)
          throw new BrokenMessage('it is no message of the binary protocol');
        if (header[3] !== messageType.call) throw new BrokenMessage('it is no call');
        this.expected = 'nameLength';
        return;
      case 'nameLength':
        this.skip(header.readInt32BE(0), nameBytesMax);
        this.expected = 'sequence';
        return;
      case 'sequence':
        this.enter(null);
        return;
      case 'fieldType':
        this.fieldType = header[0] ?? 0;
        if (this.fieldType === 0) {
          this.open.pop();
          this.goOn();
        } else {
          this.count(1);
          this.expected = 'fieldId';
        }
        return;
      case 'fieldId':
        this.value(this.fieldType);
        return;
      case 'length':
        this.skip(header.readInt32BE(0), this.bounds.bytesMax);
        this.goOn();
        return;
      case 'list':
        this.elementsOf([header[0] ?? 0], header.readInt32BE(1));
        return;
      case 'map':
        this.elementsOf([header[0] ?? 0, header[1] ?? 0], header.readInt32BE(2));
        return;
      default:
        this.expected satisfies never;
    }
  }

  private value(type: number): void {
    const width = widths.get(type);
    if (width !== undefined) {
      this.skip(width, width);
      this.goOn();
    } else if (type === wireType.string) this.expected = 'length';
    else if (type === wireType.struct) this.enter(null);
    else if (type === wireType.list || type === wireType.set) this.expected = 'list';
    else if (type === wireType.map) this.expected = 'map';
    else throw new BrokenMessage(`there is no type ${type}`);
  }

  private elementsOf(types: readonly number[], size: number): void {
    if (size < 0) throw new BrokenMessage(`something has ${size} elements`);
    this.count(size * types.length);
    this.enter({ types, left: size * types.length });
  }

  private enter(open: Open): void {
    this.open.push(open);
    if (this.open.length > this.bounds.depthMax)
      throw new BrokenMessage(`it is nested deeper than ${this.bounds.depthMax}`);
    this.goOn();
  }

  /** To what comes behind a value, without going deeper into the stack of calls than one value of a fixed length. */
  private goOn(): void {
    for (;;) {
      const top = this.open.at(-1);
      if (top === undefined) {
        this.isWhole = this.skipping === 0;
        return;
      }
      if (top === null) {
        this.expected = 'fieldType';
        return;
      }
      if (top.left === 0) {
        this.open.pop();
        continue;
      }
      const type = top.types[top.types.length - 1 - ((top.left - 1) % top.types.length)] ?? 0;
      const width = widths.get(type);
      if (width === undefined) {
        top.left -= 1;
        this.value(type);
        return;
      }
      // All that are alike at once.
      const alike = top.types.length === 1 ? top.left : 1;
      top.left -= alike;
      this.skip(width * alike, this.bounds.bytesMax);
    }
  }

  private count(more: number): void {
    this.elements += more;
    if (this.elements > this.bounds.elementsMax)
      throw new BrokenMessage(`it has more than ${this.bounds.elementsMax} fields and elements`);
  }

  private skip(bytes: number, max: number): void {
    if (bytes < 0) throw new BrokenMessage(`something has ${bytes} bytes`);
    this.skipping += bytes;
    if (bytes > max || this.bytes + this.skipping > this.bounds.bytesMax)
      throw new BrokenMessage(`it is longer than ${Math.min(max, this.bounds.bytesMax)} bytes`);
  }
}
