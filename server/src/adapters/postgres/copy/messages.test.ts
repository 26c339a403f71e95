import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { CopyError } from '../../../ports/copy.ts';
import { noEvidence } from './evidence.ts';
import {
  blocksBytesMax,
  type CopyMessage,
  decodeMessage,
  encodeMessage,
  frameHeadBytes,
  readFrameHead,
} from './messages.ts';

const installation = { majorVersion: 18, architecture: 'x64', libc: '2.36', icu: null };
const control = {
  system: 7_710_888_988_100_568_922n,
  controlVersion: 1800,
  catalogVersion: 202506291,
  pageBytes: 8192,
  segmentPages: 131072,
  walPageBytes: 8192,
  walSegmentBytes: 16777216,
  checksums: true,
};
const examples: readonly CopyMessage[] = [
  { kind: 'alive', compared: 2 ** 40 },
  { kind: 'hello', protocol: 1, group: 'main', cluster: 'c1', installation },
  { kind: 'begin', installation, control, state: '{}' },
  { kind: 'go' },
  { kind: 'started', database: 'standby', bytesToCompare: 10 ** 12 },
  { kind: 'directory', path: 'base', directories: ['1', '4', '5'] },
  { kind: 'file', file: 2 ** 31, bytes: 2 ** 30, name: '16384.1' },
  { kind: 'directoryEnd' },
  { kind: 'have', file: 3, last: true, evidence: [noEvidence, { kind: 'hash', hash: Buffer.alloc(16, 5) }] },
  { kind: 'blocks', file: 3, block: 131071, data: Buffer.alloc(8192, 9) },
  { kind: 'fileEnd', file: 3, bytes: 8192 },
  { kind: 'history', timeline: 4, text: '1\t0/3000000\tno\n' },
  { kind: 'complete', state: '{}', label: 'START', control: 'AAAA', files: 3, blocks: 4, bytesTotal: 5 },
  { kind: 'failed', code: 'unlike', message: 'it is' },
];

/** As it goes over the channel. */
function framed(message: CopyMessage): Buffer {
  return Buffer.concat(encodeMessage(message));
}

function read(frame: Buffer): CopyMessage {
  const head = frame.subarray(0, frameHeadBytes);
  const { length } = readFrameHead(head);
  if (length !== frame.length - frameHeadBytes) throw new CopyError('copyInvalid', 'another length');
  return decodeMessage(head, frame.subarray(frameHeadBytes));
}

describe('a message', () => {
  it.each(examples.map((message) => [message.kind, message] as const))(
    '%s comes out as it went in',
    (_kind, message) => {
      expect(read(framed(message))).toEqual(message);
    },
  );

  it('that was altered anywhere is refused', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...examples),
        fc.nat(),
        fc.integer({ min: 1, max: 255 }),
        (message, at, change) => {
          const frame = framed(message);
          frame[at % frame.length] = (frame[at % frame.length] ?? 0) ^ change;
          expect(() => read(frame)).toThrow(CopyError);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  it('of more than its bound is neither sent nor read', () => {
    const data = Buffer.alloc(blocksBytesMax);
    expect(read(framed({ kind: 'blocks', file: 1, block: 0, data })).kind).toBe('blocks');
    expect(() => framed({ kind: 'history', timeline: 1, text: 'x'.repeat(2 * blocksBytesMax) })).toThrow(
      /cannot be sent/,
    );
    const head = Buffer.alloc(frameHeadBytes, 0xff);
    expect(() => readFrameHead(head)).toThrow(/no message of a copy/);
    head.writeUInt32LE(0, 0);
    expect(() => readFrameHead(head)).toThrow(/no message of a copy/);
  });

  it('of a right checksum and a wrong shape is refused', () => {
    const wrong = { kind: 'started', database: 'other', bytesToCompare: 1 } as unknown as CopyMessage;
    expect(() => read(framed(wrong))).toThrow(/started.*cannot be understood/);
    const cut = {
      kind: 'have',
      file: 1,
      last: false,
      evidence: [{ kind: 'hash', hash: Buffer.alloc(3) }],
    } as const;
    expect(() => read(framed(cut))).toThrow(/have.*cut short/);
  });
});
