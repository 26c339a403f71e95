import { expect, it } from 'vitest';
import { AnswerReader } from './answer-reader.ts';
import type { Told } from './outbox.ts';
import { WholeMessages } from './whole-messages.ts';

const nothing = (): void => undefined;
const listener = { authenticated: nothing, backendKey: nothing, parameter: nothing, copyBegan: nothing };

function message(type: string, payloadBytes: number): Buffer {
  const bytes = Buffer.alloc(5 + payloadBytes, 'x');
  bytes.write(type, 0, 'latin1');
  bytes.writeInt32BE(4 + payloadBytes, 1);
  return bytes;
}

function setUp() {
  const told: (readonly [bytes: string, atBoundary: boolean, readies: number])[] = [];
  const reader = new AnswerReader(1_000_000, { ...listener, failed: nothing, ready: nothing });
  const whole = new WholeMessages((bytes: Buffer, { atBoundary, readies }: Told) =>
    told.push([bytes.toString('latin1'), atBoundary, readies]),
  );
  const come = (chunk: Buffer): void => {
    reader.read(chunk);
    whole.pass(chunk, reader, reader.begunAt);
  };
  return { told, whole, come };
}

const ready = Buffer.from('Z\0\0\0\x05I', 'latin1');

it('all that was passed on ends between two messages, wherever the stream is cut', () => {
  const stream = Buffer.concat([message('D', 6), message('D', 0), ready, message('D', 9), ready]);
  const ends = [11, 16, 22, 36, 42];
  for (let first = 0; first <= stream.length; first += 1) {
    for (let second = first; second <= stream.length; second += 1) {
      const { told, come } = setUp();
      const pieces = [stream.subarray(0, first), stream.subarray(first, second), stream.subarray(second)];
      for (const piece of pieces.filter(({ length }) => length > 0)) {
        come(piece);
        const sent = told.map(([bytes]) => bytes).join('').length;
        expect([0, ...ends]).toContain(sent);
      }
      expect(told.map(([bytes]) => bytes).join('')).toBe(stream.toString('latin1'));
      expect(told.reduce((sum, [, , readies]) => sum + readies, 0)).toBe(2);
    }
  }
});

it('a long message goes on in parts, and what is held is told ahead of what others tell', () => {
  const { told, whole, come } = setUp();
  const long = message('D', 40_000);
  come(long.subarray(0, 10_000));
  expect(told).toEqual([]);
  come(long.subarray(10_000, 20_000));
  come(long.subarray(20_000, 30_000));
  expect(told.map(([bytes, atBoundary]) => [bytes.length, atBoundary])).toEqual([
    [10_000, false],
    [10_000, false],
    [10_000, false],
  ]);
  come(Buffer.concat([long.subarray(30_000), ready.subarray(0, 3)]));
  expect(told.at(-1)?.[1]).toBe(true);
  whole.flush();
  whole.flush();
  expect(told.slice(-1)).toEqual([['Z\0\0', false, 0]]);
});
