import { describe, expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../../multipaxos/types.ts';
import { doubtFrame, readDoubt } from './doubt-frame.ts';
import { createFrameSplitter } from './frame-splitter.ts';
import { ProtocolViolation } from './protocol-violation.ts';

const mark = {
  transaction: 'a1b2/7',
  leadership: { round: 12, replica: 'r2.3' as ReplicaId },
  above: 4711 as Slot,
};

describe('the message about a transaction in doubt', () => {
  it.each([null, Buffer.alloc(0), Buffer.from('C\0\0\0\u000bCOMMIT\0')])(
    'is read as it was written: %j',
    (answer) => {
      expect(readDoubt(doubtFrame({ mark, answer }))).toEqual({ mark, answer });
    },
  );

  it('is one message of the protocol', () => {
    const frames: number[] = [];
    const splitter = createFrameSplitter({
      wholeBytesMax: 1000,
      streamedBytesMax: 0,
      pieceBytesMin: 0,
      streams: () => false,
    });
    const frame = doubtFrame({ mark, answer: Buffer.from('x') });
    splitter.push(Buffer.concat([frame, frame]), { frame: (type) => frames.push(type), piece: () => {} });
    expect(frames).toEqual([0x62, 0x62]);
  });

  it('that is cut short or holds no numbers is refused', () => {
    const frame = doubtFrame({ mark, answer: null });
    for (let length = 5; length < frame.length; length += 1) {
      expect(() => readDoubt(frame.subarray(0, length))).toThrow(ProtocolViolation);
    }
    const wrong = { ...mark, above: -1 as Slot };
    expect(() => readDoubt(doubtFrame({ mark: wrong, answer: null }))).toThrow(ProtocolViolation);
  });
});
