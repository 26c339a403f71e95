/** How the fields of an operation are written and read (operation.ts). Pure. Invariant: a field that is read is within its bounds, and within the bytes that there are. */

import type { RunName } from './run-name.ts';

/** The bytes of an operation are not what this version writes, or beyond its bounds. */
export class OperationError extends Error {
  override readonly name = 'OperationError';
}

const textBytesMax = 10_000;
const sessionBytes = 16;
const sessionText = /^[0-9a-f]{32}$/;

export function sessionOf(session: string): Buffer {
  if (!sessionText.test(session)) throw new OperationError('a session, or a name, is 32 hexadecimal digits');
  return Buffer.from(session, 'hex');
}

export function text(value: string, encoding: 'utf8' | 'latin1' = 'utf8'): Buffer {
  const bytes = Buffer.from(value, encoding);
  if (bytes.length > textBytesMax) throw new OperationError(`a text of ${bytes.length} bytes`);
  return Buffer.concat([number(bytes.length, 2), bytes]);
}

/** Safe until the year 2255. */
export function clockOf(clockUs: number): Buffer {
  if (!Number.isSafeInteger(clockUs) || clockUs < 0) throw new OperationError(`a clock of ${clockUs}`);
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(clockUs));
  return bytes;
}

export function number(value: number, bytes: 1 | 2 | 6): Buffer {
  if (!Number.isSafeInteger(value) || value < 0 || value >= 2 ** (8 * bytes))
    throw new OperationError(`a number of ${value}`);
  const out = Buffer.alloc(bytes);
  out.writeUIntBE(value, 0, bytes);
  return out;
}

export function runOf({ slot, turn, round }: RunName): Buffer {
  return Buffer.concat([number(slot, 6), number(turn, 2), number(round, 1)]);
}

export class FieldReader {
  private readonly all: Buffer;
  private at = 0;

  constructor(all: Buffer) {
    this.all = all;
  }

  bytes(count: number): Buffer {
    const end = this.at + count;
    if (end > this.all.length)
      throw new OperationError(`an operation of ${this.all.length} bytes is cut short`);
    const taken = this.all.subarray(this.at, end);
    this.at = end;
    return taken;
  }

  number(bytes: 1 | 2 | 6): number {
    return this.bytes(bytes).readUIntBE(0, bytes);
  }

  clock(): number {
    const value = this.bytes(8).readBigUInt64BE();
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw new OperationError(`a clock of ${value}`);
    return Number(value);
  }

  run(): RunName {
    return { slot: this.number(6), turn: this.number(2), round: this.number(1) };
  }

  session(): string {
    return this.bytes(sessionBytes).toString('hex');
  }

  text(encoding: 'utf8' | 'latin1' = 'utf8'): string {
    const length = this.number(2);
    if (length > textBytesMax) throw new OperationError(`a text of ${length} bytes`);
    return this.bytes(length).toString(encoding);
  }

  rest(): Buffer {
    return this.bytes(this.all.length - this.at);
  }

  expectEnd(): void {
    if (this.at !== this.all.length) throw new OperationError('an operation is followed by something');
  }
}
