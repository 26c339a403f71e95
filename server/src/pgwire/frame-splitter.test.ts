import { describe, expect, it } from 'vitest';
import { cuts, frame } from '../gateways/pgwire/testing/frames.ts';
import { FrameGatherer } from './frame-gatherer.ts';
import { FrameSplitter } from './frame-splitter.ts';
import { ProtocolViolation } from './protocol-violation.ts';

const stream = Buffer.concat([
  frame('Q', 'one'),
  frame('S'),
  frame('P', 'x'.repeat(300)),
  frame('X'),
  frame('d', 'y'),
]);
const expected = ['Q:one', 'S:', `P:${'x'.repeat(300)}`, 'X:', 'd:y'];

function messages(chunks: readonly Buffer[], frameBytesMax = 1000): string[] {
  const splitter = new FrameSplitter(frameBytesMax);
  const gatherer = new FrameGatherer(frameBytesMax);
  const seen: string[] = [];
  for (const chunk of chunks) {
    splitter.feed(chunk);
    while (splitter.next()) {
      const message = gatherer.add(splitter, chunk);
      if (message !== null)
        seen.push(`${String.fromCharCode(splitter.type)}:${message.toString('latin1', 5)}`);
    }
  }
  return seen;
}

function parts(chunks: readonly Buffer[]): string[] {
  const splitter = new FrameSplitter(1000);
  return chunks.flatMap((chunk) => {
    const seen: string[] = [];
    splitter.feed(chunk);
    while (splitter.next()) {
      const { first, last, start, payload, end, type } = splitter;
      const borders = `${first ? '<' : ''}${end - start}/${end - payload}${last ? '>' : ''}`;
      seen.push(`${String.fromCharCode(type)} ${borders}`);
    }
    return seen;
  });
}

describe('the frame splitter', () => {
  it('finds the same messages however the stream is cut', () => {
    for (const chunks of cuts(stream)) expect(messages(chunks)).toEqual(expected);
  });

  it('tells where a part begins, where its payload, and whether it is the first or the last', () => {
    const bytes = Buffer.concat([frame('Q', 'abcdef'), frame('S')]);
    expect(parts([bytes])).toEqual(['Q <11/6>', 'S <5/0>']);
    expect(parts([bytes.subarray(0, 3), bytes.subarray(3)])).toEqual(['Q <3/0', 'Q 8/6>', 'S <5/0>']);
    expect(parts([bytes.subarray(0, 5), bytes.subarray(5, 8), bytes.subarray(8)])).toEqual([
      'Q <5/0',
      'Q 3/3',
      'Q 3/3>',
      'S <5/0>',
    ]);
  });

  it('every byte belongs to exactly one part', () => {
    for (const chunks of cuts(stream)) {
      const splitter = new FrameSplitter(1000);
      for (const chunk of chunks) {
        let at = 0;
        splitter.feed(chunk);
        while (splitter.next()) {
          expect(splitter.start).toBe(at);
          expect(splitter.payload).toBeGreaterThanOrEqual(splitter.start);
          at = splitter.end;
        }
        expect(at).toBe(chunk.length);
      }
    }
  });

  it('knows when it is between messages', () => {
    const ends = new Set<number>();
    let end = 0;
    for (const text of expected) ends.add((end += 5 + text.length - 2));
    const splitter = new FrameSplitter(1000);
    expect(splitter.atBoundary).toBe(true);
    for (let at = 0; at < stream.length; at += 1) {
      splitter.feed(stream.subarray(at, at + 1));
      while (splitter.next());
      expect(splitter.atBoundary).toBe(ends.has(at + 1));
    }
  });

  it('takes a message of exactly the limit and not one byte more, as soon as its length is known', () => {
    expect(messages([frame('Q', 'x'.repeat(995))])).toHaveLength(1);
    expect(() => messages([frame('Q', 'x'.repeat(996)).subarray(0, 5)])).toThrow(/above the limit of 1000/);
    const eachByte = [...frame('Q', 'x'.repeat(996)).subarray(0, 5)].map((byte) => Buffer.from([byte]));
    expect(() => messages(eachByte)).toThrow(/message "Q" of 1001 bytes is above the limit of 1000/);
    expect(() => messages([frame('\u0001', 'x'.repeat(996))])).toThrow(/message 0x01/);
  });

  it.each([0, 3, -1, -2_147_483_648])('refuses a length of %i', (length) => {
    const bytes = Buffer.alloc(5, 'Q');
    bytes.writeInt32BE(length, 1);
    expect(() => messages([bytes])).toThrow(ProtocolViolation);
    expect(() => messages([...bytes].map((byte) => Buffer.from([byte])))).toThrow(ProtocolViolation);
  });
});

describe('the frame gatherer', () => {
  it('gives a view of the chunk where the message lies within it', () => {
    const splitter = new FrameSplitter(1000);
    splitter.feed(stream);
    splitter.next();
    const message = new FrameGatherer(1000).add(splitter, stream);
    expect(message?.buffer).toBe(stream.buffer);
  });

  it('keeps no more than the beginning of a long message that comes in pieces', () => {
    const splitter = new FrameSplitter(1000);
    const gatherer = new FrameGatherer(8);
    const whole = frame('E', 'abcdefgh');
    const seen: (string | undefined)[] = [];
    for (const chunk of [whole.subarray(0, 6), whole.subarray(6), frame('E', 'x')]) {
      splitter.feed(chunk);
      while (splitter.next()) seen.push(gatherer.add(splitter, chunk)?.toString('latin1', 5));
    }
    expect(seen).toEqual([undefined, 'abc', 'x']);
  });
});
