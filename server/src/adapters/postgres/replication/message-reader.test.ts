import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../ws-transport/link-faults.ts';
import { message, MessageReader, type WireMessage } from './messages.ts';

const MIB = 1024 * 1024;

/** Reads `stream` as a socket would, at most `most(i)` bytes with the i-th read. */
function readAll(reader: MessageReader, stream: Buffer, most: (read: number) => number): WireMessage[] {
  const messages: WireMessage[] = [];
  for (let at = 0, read = 0; at < stream.length; read += 1) {
    const bytes = stream.copy(reader.room(), 0, at, Math.min(stream.length, at + most(read)));
    messages.push(...reader.read(bytes));
    at += bytes;
  }
  return messages;
}

function bodiesOf(sizes: readonly number[]): Buffer[] {
  return sizes.map((size, i) => Buffer.alloc(size, String.fromCharCode(97 + (i % 26))));
}

describe('messages of a stream', () => {
  it('are found wherever the reads cut it, and stay as they are while more is read', () => {
    const random = seededRandom(7);
    const sizes = Array.from({ length: 200 }, () => Math.floor(random() ** 6 * 300_000));
    const bodies = bodiesOf(sizes);
    const stream = Buffer.concat(bodies.map((body) => message('d', body)));
    expect(stream.length).toBeGreaterThan(3 * MIB);
    for (const most of [7_001, 64 * 1024, 2 * MIB]) {
      const found = readAll(new MessageReader(), stream, () => 1 + Math.floor(random() * most));
      expect(found.length).toBe(bodies.length);
      // All were kept until the end.
      expect(found.every(({ body }, i) => body.equals(bodies[i]!))).toBe(true);
    }
  });

  it('may be longer than what is set aside for many', () => {
    const [long, short] = bodiesOf([5 * MIB, 10]) as [Buffer, Buffer];
    const stream = Buffer.concat([message('d', long), message('d', short)]);
    const found = readAll(new MessageReader(), stream, () => 100_000);
    expect(found.map(({ body }) => body.length)).toEqual([long.length, short.length]);
    expect(found[0]?.body.equals(long)).toBe(true);
  });

  it('are found in one chunk, however long it is', () => {
    const bodies = bodiesOf([3 * MIB, 0, 40]);
    const found = new MessageReader().push(Buffer.concat(bodies.map((body) => message('d', body))));
    expect(found.map(({ body }) => body.length)).toEqual([3 * MIB, 0, 40]);
  });

  it('with a length that cannot be are refused', () => {
    const reader = new MessageReader();
    expect(() => reader.push(Buffer.from([100, 0, 0, 0, 3]))).toThrow('a message has the length 3');
  });
});
