/**
 * Messages of PostgreSQL's streaming replication protocol, as the two ends of it that a replica plays need them: the receiver of its primary's WAL, and the sender of chosen WAL to
 * its standby.
 *
 * Pure: bytes in, bytes out; knows no sockets. Positions and times are 64 bit big-endian; a time is microseconds since 2000-01-01, and nobody here looks at one.
 */
import { formatLsn, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import type { StandbyReport } from '../../../ports/database-server.ts';
import { ReadBlocks } from './read-blocks.ts';

/** One message: its letter and what follows its length, a view of what was read. */
export interface WireMessage {
  readonly type: number;
  readonly body: Buffer;
}

export function letter(text: string): number {
  return text.charCodeAt(0);
}

/** Longer ones are refused: nothing of either protocol comes near. */
const messageBytesMax = 16 * 1024 * 1024;

/** Cuts a stream into messages; what is incomplete waits until more comes. */
export class MessageReader {
  private readonly blocks = new ReadBlocks();

  /** Where the next read of the socket goes: for `onread`. */
  room(): Buffer {
    return this.blocks.room();
  }

  /** So many bytes have been read there. Messages are views, good for as long as they are kept. @throws Error if a length cannot be right: the stream is of no use any more */
  read(bytes: number): WireMessage[] {
    this.blocks.filled(bytes);
    const data = this.blocks.unused;
    const messages: WireMessage[] = [];
    let at = 0;
    while (data.length - at >= 5) {
      const length = data.readInt32BE(at + 1);
      if (length < 4 || length > messageBytesMax) throw new Error(`a message has the length ${length}`);
      if (data.length - at < length + 1) break;
      messages.push({ type: data[at]!, body: data.subarray(at + 5, at + 1 + length) });
      at += length + 1;
    }
    this.blocks.use(at);
    return messages;
  }

  /** Of a socket that is read in another way. @throws Error as `read` does */
  push(chunk: Buffer): WireMessage[] {
    const messages: WireMessage[] = [];
    for (let at = 0; at < chunk.length; ) {
      const bytes = chunk.copy(this.room(), 0, at);
      messages.push(...this.read(bytes));
      at += bytes;
    }
    return messages;
  }
}

export function message(type: string, ...parts: readonly Uint8Array[]): Buffer {
  let length = 4;
  for (const part of parts) length += part.byteLength;
  const head = Buffer.allocUnsafe(5);
  head.write(type, 0, 'latin1');
  head.writeInt32BE(length, 1);
  return Buffer.concat([head, ...parts]);
}

export function cString(text: string): Buffer {
  return Buffer.from(`${text}\0`, 'utf8');
}

/** Values are UTF-8, or bytes as they are. */
export function startupPacket(parameters: Readonly<Record<string, string | Uint8Array>>): Buffer {
  const text = Object.entries(parameters).flatMap(([name, value]) => [
    cString(name),
    typeof value === 'string' ? cString(value) : Buffer.concat([value, Buffer.from([0])]),
  ]);
  const body = Buffer.concat([...text, Buffer.from([0])]);
  const head = Buffer.allocUnsafe(8);
  head.writeInt32BE(body.length + 8, 0);
  head.writeInt32BE(3 << 16, 4);
  return Buffer.concat([head, body]);
}

/** The status of a standby: everything below `position` counts as written, flushed and applied. */
export function standbyStatus(position: Lsn, replyRequested: boolean): Buffer {
  const body = Buffer.alloc(34);
  body.write('r', 0, 'latin1');
  for (const at of [1, 9, 17]) body.writeBigUInt64BE(BigInt(position), at);
  body.writeUInt8(replyRequested ? 1 : 0, 33);
  return message('d', body);
}

/** The body of a CopyData message from a standby; null if it is something else, such as feedback about its queries. */
export function readStandbyStatus(
  body: Buffer,
): (StandbyReport & { readonly replyRequested: boolean }) | null {
  if (body[0] !== letter('r') || body.length < 34) return null;
  const at = (offset: number): Lsn => Number(body.readBigUInt64BE(offset)) as Lsn;
  return { written: at(1), flushed: at(9), replayed: at(17), replyRequested: body[33] === 1 };
}

export const walHeaderBytes = 25;

/** What a primary's walsender says within CopyData. `wal`: `data` is a view of the body. */
export type FromPrimary =
  | { readonly kind: 'wal'; readonly start: Lsn; readonly data: Buffer }
  | { readonly kind: 'keepalive'; readonly end: Lsn; readonly replyRequested: boolean };

/** @throws Error if it is neither */
export function readFromPrimary(body: Buffer): FromPrimary {
  if (body[0] === letter('w') && body.length >= walHeaderBytes) {
    return {
      kind: 'wal',
      start: Number(body.readBigUInt64BE(1)) as Lsn,
      data: body.subarray(walHeaderBytes),
    };
  }
  if (body[0] === letter('k') && body.length >= 18) {
    return { kind: 'keepalive', end: Number(body.readBigUInt64BE(1)) as Lsn, replyRequested: body[17] === 1 };
  }
  throw new Error('the primary sent something that is neither WAL nor a sign of life');
}

/** The head of a CopyData message with WAL; the `bytes` of WAL follow it on the wire. */
export function walHead(start: Lsn, end: Lsn, bytes: number): Buffer {
  const head = Buffer.alloc(5 + walHeaderBytes);
  head.write('d', 0, 'latin1');
  head.writeInt32BE(4 + walHeaderBytes + bytes, 1);
  head.write('w', 5, 'latin1');
  head.writeBigUInt64BE(BigInt(start), 6);
  head.writeBigUInt64BE(BigInt(end), 14);
  return head;
}

export function keepalive(end: Lsn, replyRequested: boolean): Buffer {
  const body = Buffer.alloc(18);
  body.write('k', 0, 'latin1');
  body.writeBigUInt64BE(BigInt(end), 1);
  body.writeUInt8(replyRequested ? 1 : 0, 17);
  return message('d', body);
}

export function startReplication(from: Lsn, timeline: Timeline, slot: string | null): string {
  const through = slot === null ? '' : `SLOT "${slot}" `;
  return `START_REPLICATION ${through}PHYSICAL ${formatLsn(from)} TIMELINE ${timeline}`;
}

const textOid = 25;

/** A result set of text columns, without its CommandComplete. */
export function resultSet(columns: readonly string[], row: readonly (string | Buffer | null)[]): Buffer {
  const description = columns.flatMap((name) => {
    const field = Buffer.alloc(18);
    field.writeInt32BE(textOid, 6);
    field.writeInt16BE(-1, 10);
    field.writeInt32BE(-1, 12);
    return [cString(name), field];
  });
  const values = row.flatMap((value) => {
    if (value === null) return [int32(-1)];
    const bytes = typeof value === 'string' ? Buffer.from(value, 'utf8') : value;
    return [int32(bytes.length), bytes];
  });
  return Buffer.concat([
    message('T', int16(columns.length), ...description),
    message('D', int16(row.length), ...values),
  ]);
}

export function commandComplete(tag: string): Buffer {
  return message('C', cString(tag));
}

export const readyForQuery = message('Z', Buffer.from('I'));
export const copyDone = message('c');
export const copyBothResponse = message('W', Buffer.from([0]), int16(0));
export const authenticationOk = message('R', int32(0));
export const authenticationCleartext = message('R', int32(3));

export function parameterStatus(name: string, value: string): Buffer {
  return message('S', cString(name), cString(value));
}

export function errorResponse(sqlState: string, text: string): Buffer {
  const fields = ['SFATAL', 'VFATAL', `C${sqlState}`, `M${text}`].map(cString);
  return message('E', ...fields, Buffer.from([0]));
}

export function int16(value: number): Buffer {
  const bytes = Buffer.alloc(2);
  bytes.writeInt16BE(value);
  return bytes;
}

export function int32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value);
  return bytes;
}
