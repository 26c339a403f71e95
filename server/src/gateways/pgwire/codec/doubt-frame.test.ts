import { describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import { type Doubt, doubtFrame, doubtType, readDoubt } from './doubt-frame.ts';
import { FrameSplitter } from '../../../pgwire/frame-splitter.ts';
import { back } from '../../../pgwire/message-types.ts';
import { ProtocolViolation } from '../../../pgwire/protocol-violation.ts';

const leadership = { round: 12, replica: 'r2.3' as ReplicaId };
const doubts: readonly Doubt[] = [
  { kind: 'transaction', transaction: { leadership, xid: 2n ** 63n + 1n } },
  { kind: 'request', leadership, request: { database: 'größe', owner: '', name: 'transfer 4711 €' } },
];

describe('what replicas tell each other of a transaction', () => {
  it.each(doubts)('is read as it was written: $kind', (doubt) => {
    expect(readDoubt(doubtFrame(doubt))).toEqual(doubt);
  });

  it('is one message of the protocol, of a type that PostgreSQL does not use', () => {
    const chunk = Buffer.concat(doubts.map(doubtFrame));
    const splitter = new FrameSplitter(1000);
    const types: number[] = [];
    splitter.feed(chunk);
    while (splitter.next()) types.push(splitter.type);
    expect(types).toEqual([doubtType, doubtType]);
    expect(Object.values(back)).not.toContain(doubtType);
  });

  it.each(doubts)('is refused if it is cut short: $kind', (doubt) => {
    const frame = doubtFrame(doubt);
    for (let length = 5; length < frame.length; length += 1) {
      expect(() => readDoubt(frame.subarray(0, length))).toThrow(ProtocolViolation);
    }
  });

  it.each([
    '',
    '1\0',
    '1\0r1\0x\0',
    'x\0r1\0x\u00007\0',
    '1\0\0x\u00007\0',
    '1\0r1\0x\0-7\0',
    '1\0r1\0n\0a\0b\0',
    '1\0r1\0q\u00007\0',
  ])('is refused if it is something else: %j', (payload) => {
    const frame = Buffer.concat([Buffer.from('b\0\0\0\0'), Buffer.from(payload)]);
    expect(() => readDoubt(frame)).toThrow(ProtocolViolation);
  });
});
