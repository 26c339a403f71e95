/** Bytes that are no start of an SQL client's connection, and messages that are none once it has logged in. Pure. */
import { frame } from '../../server/src/gateways/pgwire/testing/frames.ts';
import { startup } from '../../server/src/gateways/pgwire/testing/startup.ts';
import type { Random } from '../workload/seeded-random.ts';

export function randomBytes(random: Random, bytesMax: number): Buffer {
  return Buffer.from(Array.from({ length: 1 + random.below(bytesMax) }, () => random.below(256)));
}

const lengths = [0, -1, 3, 2 ** 31 - 1, -(2 ** 31)];

/** A message that says that it is so long, and is not. */
function ofLength(type: string, length: number): Buffer {
  const bytes = frame(type, 'x'.repeat(100));
  bytes.writeInt32BE(length, 1);
  return bytes;
}

const asBarista = startup({ user: 'barista', database: 'barista' });

/** What a server ends by itself: no more need come. */
export function brokenStarts(random: Random): readonly Buffer[] {
  return [
    ...lengths.map((length) => ofLength('\0', length).subarray(1)),
    ...lengths.map((length) => Buffer.concat([asBarista, ofLength('p', length)])),
    Buffer.concat([asBarista, frame('Q', 'SELECT 1\0')]),
    Buffer.concat([asBarista, frame('p', 'no mechanism')]),
    ...Array.from({ length: 40 }, () => {
      const bytes = Buffer.concat([Buffer.alloc(8), randomBytes(random, 200)]);
      bytes.writeUInt32BE(random.below(2 ** 32), 4);
      bytes.writeUInt32BE(8 + random.below(Math.max(1, bytes.length - 8)), 0);
      return bytes;
    }),
  ];
}

export function brokenMessages(random: Random): readonly Buffer[] {
  const types = ['Q', 'P', 'B', 'E', 'C', 'D', 'F', 'd', 'S', 'X'];
  return types.map((type) => ofLength(type, random.pick(lengths)));
}

/** Messages that are cut short: the client goes away in the middle. */
export function cutMessages(random: Random): readonly Buffer[] {
  const whole = [
    frame('Q', 'SELECT pg_sleep(0.01)\0'),
    frame('P', 'a\0SELECT $1\0\0\0'),
    frame('Q', 'x'.repeat(9000)),
  ];
  return whole.map((bytes) => bytes.subarray(0, 1 + random.below(bytes.length - 1)));
}

/** The beginning of a message that says that it is as long as one may be: a gibibyte. */
export const longestMessage = ((): Buffer => {
  const bytes = frame('Q', 'SELECT 1');
  bytes.writeInt32BE(2 ** 30 - 2, 1);
  return bytes;
})();
