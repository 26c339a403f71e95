/** What strangers may send: whole, cut, and broken. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { callMessage, type Fields, frameOf } from '../testing/thrift-client.ts';
import { readCall } from './barista-api.ts';
import { MessageReader } from './message-reader.ts';
import { BrokenMessage, MessageScanner } from './message-scanner.ts';
import { wireType } from './wire-types.ts';

const bounds = { bytesMax: 10_000, elementsMax: 1_000, depthMax: 16 };
const con: Fields = { 1: 'me:secret', 2: '1', 3: 'u', 4: 'd' };
const call = callMessage('execute_sql', { 1: con, 2: 'SELECT $1', 3: ['a', '\\N'] });

function whole(bytes: Buffer, isFramed = false): readonly Buffer[] {
  const reader = new MessageReader(bounds);
  reader.feed(isFramed ? frameOf(bytes) : bytes);
  return all(reader);
}

function all(reader: MessageReader): readonly Buffer[] {
  const found: Buffer[] = [];
  for (let next = reader.next(); next !== null; next = reader.next()) found.push(next);
  return found;
}

/** A call whose arguments are these bytes. */
const callWith = (...args: readonly number[]): Buffer =>
  Buffer.concat([callMessage('get_version', {}).subarray(0, -1), Buffer.from(args)]);
const int = (value: number): number[] => {
  const bytes = Buffer.alloc(4);
  bytes.writeInt32BE(value, 0);
  return [...bytes];
};

describe('a message', () => {
  it.each([false, true])('is found however it is cut, and those behind it, too; framed: %s', (isFramed) => {
    const version = callMessage('get_version', {});
    const stream = Buffer.concat([call, version, call].map((each) => (isFramed ? frameOf(each) : each)));
    for (let size = 1; size <= stream.length; size += 1) {
      const reader = new MessageReader(bounds);
      const found: Buffer[] = [];
      for (let at = 0; at < stream.length; at += size) {
        reader.feed(stream.subarray(at, at + size));
        found.push(...all(reader));
      }
      expect(found).toEqual([call, version, call]);
      expect([reader.bytes, reader.isWithin]).toEqual([0, false]);
    }
  });

  it('is read as it was written, and what is not known in it is passed over', () => {
    const { name, sequence, call: read } = readCall(call);
    expect([name, sequence]).toEqual(['execute_sql', 1]);
    expect(read).toEqual({
      method: 'execute_sql',
      con: { clientId: 'me:secret', seqId: '1', user: 'u', database: 'd' },
      query: Buffer.from('SELECT $1'),
      params: [Buffer.from('a'), Buffer.from('\\N')],
    });
    const odd = callMessage('begin_txn', { 1: { 1: 5, 4: 'd', 9: { 1: ['x'] } }, 7: 'y' });
    expect(readCall(whole(odd)[0] ?? odd).call).toEqual({ method: 'begin_txn', con: { database: 'd' } });
  });

  it('may have every type of the protocol', () => {
    const fields = [
      [wireType.bool, 0, 1, 1],
      [wireType.byte, 0, 2, 1],
      [wireType.double, 0, 3, 0, 0, 0, 0, 0, 0, 0, 0],
      [wireType.i16, 0, 4, 0, 0],
      [wireType.i32, 0, 5, ...int(0)],
      [wireType.i64, 0, 6, ...int(0), ...int(0)],
      [wireType.string, 0, 7, ...int(1), 65],
      [wireType.struct, 0, 8, 0],
      [wireType.map, 0, 9, wireType.string, wireType.byte, ...int(2), ...int(1), 65, 1, ...int(0), 2],
      [wireType.map, 0, 10, 0, 0, ...int(0)],
      [wireType.set, 0, 11, wireType.i16, ...int(2), 0, 1, 0, 2],
      [
        wireType.list,
        0,
        12,
        wireType.list,
        ...int(2),
        wireType.struct,
        ...int(1),
        0,
        wireType.i64,
        ...int(0),
      ],
    ];
    const message = callWith(...fields.flat(), 0);
    expect(whole(message)).toEqual([message]);
    expect(readCall(message).call).toEqual({ method: 'get_version' });
  });
});

describe('what is refused at the first byte that shows it', () => {
  const nested = (depth: number): Buffer =>
    callWith(...Array.from({ length: depth }, () => [wireType.struct, 0, 1]).flat());
  it.each([
    ['HTTP', Buffer.from('GET / HTTP/1.1\r\n')],
    ['TLS where there is none', Buffer.from([0x16, 3, 1, 2, 0, 1])],
    ['the startup packet of PostgreSQL', Buffer.from([0, 0, 0, 9, 0, 3, 0, 0, 0])],
    ['the compact protocol', frameOf(Buffer.from([0x82, 0x21, 1, 11]))],
    ['JSON', Buffer.from('[1,"get_version",1,0,{}]')],
    ['another version', Buffer.from([0x80, 2, 0, 1])],
    ['a reply', callMessage('get_version', {}, { type: 2 })],
    ['a call that wants no answer', callMessage('get_version', {}, { type: 4 })],
    ['a name that is too long', callMessage('x'.repeat(65), {})],
    ['a name of less than no bytes', Buffer.from([0x80, 1, 0, 1, ...int(-1)])],
    ['a frame of no bytes', Buffer.from(int(0))],
    ['a frame of less', Buffer.from(int(-2))],
    ['a frame that is too long', Buffer.from(int(10_001))],
    ['a frame with something behind its message', frameOf(Buffer.concat([call, Buffer.from([0])]))],
    ['a frame that ends within its message', frameOf(call.subarray(0, -1))],
    ['a text of 2 GiB', callWith(wireType.string, 0, 2, ...int(2 ** 31 - 1))],
    ['a text of less than no bytes', callWith(wireType.string, 0, 2, ...int(-1))],
    ['a list of 2^31-1 elements', callWith(wireType.list, 0, 3, wireType.string, ...int(2 ** 31 - 1))],
    ['a list of 2^31-1 bytes', callWith(wireType.list, 0, 3, wireType.byte, ...int(2 ** 31 - 1))],
    ['a list of less than no elements', callWith(wireType.list, 0, 3, wireType.string, ...int(-5))],
    [
      'a map of 2^31-1 elements',
      callWith(wireType.map, 0, 3, wireType.i64, wireType.i64, ...int(2 ** 31 - 1)),
    ],
    ['elements of no type', callWith(wireType.list, 0, 3, 1, ...int(3))],
    ['a field of no type', callWith(9, 0, 1)],
    ['a type that the API does not have, and the library reads in its own way', callWith(16, 0, 1)],
    ['structures in structures', nested(16)],
    [
      'lists in lists',
      callWith(wireType.list, 0, 1, ...Array.from({ length: 20 }, () => [wireType.list, ...int(1)]).flat()),
    ],
    [
      'more fields than there may be',
      callWith(...Array.from({ length: 1001 }, () => [wireType.byte, 0, 1, 0]).flat()),
    ],
    ['more bytes than there may be', callMessage('x', { 1: 'y'.repeat(6000), 2: 'y'.repeat(6000) })],
  ])('%s', (_, bytes) => {
    expect(() => whole(bytes)).toThrow(BrokenMessage);
  });

  it('and what may still become a message is not', () => {
    expect(whole(nested(15))).toEqual([]);
    expect(whole(call.subarray(0, -1))).toEqual([]);
  });
});

describe('bytes at random', () => {
  const anyBytes = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
  const altered = fc
    .tuple(fc.nat({ max: call.length - 1 }), fc.nat({ max: 255 }), anyBytes)
    .map(([at, byte, more]) => {
      const bytes = Buffer.concat([call, more]);
      bytes[at] = byte;
      return bytes;
    });
  const runs = { numRuns: Number(process.env['BARISTA_FUZZ_SECONDS'] ?? 0) > 0 ? 200_000 : 3_000 };

  /** How many messages there are in it; -1: it is refused. Whatever is found is read. */
  function found(stream: Buffer, size: number): number {
    const reader = new MessageReader(bounds);
    let messages = 0;
    try {
      for (let at = 0; at < stream.length; at += size) {
        reader.feed(stream.subarray(at, at + size));
        for (const message of all(reader)) {
          readCall(message);
          messages += 1;
        }
      }
    } catch (error) {
      if (error instanceof BrokenMessage) return -1;
      throw error;
    }
    return messages;
  }

  it('are a message, the beginning of one, or refused, however they are cut; a message that was found can be read', () => {
    fc.assert(
      fc.property(
        fc.oneof(anyBytes, altered),
        fc.boolean(),
        fc.integer({ min: 1, max: 50 }),
        (bytes, isFramed, size) => {
          const stream = isFramed ? frameOf(bytes) : bytes;
          return found(stream, size) === found(stream, stream.length + 1);
        },
      ),
      runs,
    );
  });

  /** The library, too, needs every byte of what was found. */
  function endsTogether(bytes: Buffer): boolean {
    const scanner = new MessageScanner(bounds);
    let end = 0;
    try {
      end = scanner.scan(bytes, 0);
    } catch {
      return true;
    }
    if (!scanner.isWhole || readCall(bytes.subarray(0, end)).name !== 'execute_sql') return true;
    try {
      readCall(bytes.subarray(0, end - 1));
    } catch {
      return true;
    }
    return false;
  }

  it('end where the library ends, too', () => {
    fc.assert(fc.property(altered, endsTogether), runs);
  });
});
