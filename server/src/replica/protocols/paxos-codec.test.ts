import { describe, expect, it } from 'vitest';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { PaxosMessage } from '../../paxos/types/messages.ts';
import { FrameError } from './frames.ts';
import { decodePaxos, encodePaxos } from './paxos-codec.ts';

const group = 'g' as GroupId;
const ballot: Ballot = { round: 3, replica: 'r2' as ReplicaId };
const [slot, done] = [7 as Slot, 5 as Slot];
const noop: Entry = { kind: 'noop', group };
const command: Entry = {
  kind: 'command',
  group,
  proposal: { client: 'r1.é', request: 9 },
  payload: new Uint8Array([1, 2, 3]),
};
const base = { group, done };
const messages: readonly PaxosMessage[] = [
  { kind: 'SlotPrepare', ...base, slot, ballot },
  { kind: 'SlotPromise', ...base, slot, ballot, vote: null },
  { kind: 'SlotPromise', ...base, slot, ballot, vote: { ballot, entry: command } },
  { kind: 'SlotAccept', ...base, slot, ballot, entry: command },
  { kind: 'SlotAccepted', ...base, slot, ballot },
  { kind: 'SlotReject', ...base, slot, ballot, promised: { round: 4, replica: 'r3' as ReplicaId } },
  { kind: 'Learn', ...base, slot, ballot },
  { kind: 'LearnRequest', ...base, fromSlot: slot, toSlot: 9 as Slot },
  { kind: 'LearnReply', ...base, firstSlot: slot, entries: [noop, command], purgedTo: done },
  { kind: 'Status', ...base, commitPoint: slot },
];

function plain(message: PaxosMessage): unknown {
  return JSON.parse(
    JSON.stringify(message, (_key, value: unknown) =>
      value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value,
    ).replaceAll(/\{"type":"Buffer","data":\[1,2,3\]\}/g, '"010203"'),
  );
}

describe('messages of single-decree Paxos', () => {
  it.each(messages.map((message) => [message.kind, message] as const))(
    '%s come back as they were',
    (_kind, message) => {
      expect(plain(decodePaxos(encodePaxos(message), group))).toEqual(plain(message));
    },
  );

  it('are refused where they are cut short, or followed by something', () => {
    for (const message of messages) {
      const bytes = encodePaxos(message);
      for (let length = 0; length < bytes.length; length += 1)
        expect(() => decodePaxos(bytes.subarray(0, length), group)).toThrow(FrameError);
      expect(() => decodePaxos(Buffer.concat([bytes, Buffer.from([0])]), group)).toThrow(FrameError);
    }
  });

  it('throw nothing else, whatever bytes they are', () => {
    let seed = 1;
    const next = (below: number): number => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return seed % below;
    };
    let refused = 0;
    for (let n = 0; n < 20_000; n += 1) {
      const bytes = Buffer.from(encodePaxos(messages[next(messages.length)]!));
      for (let changes = next(4) + 1; changes > 0; changes -= 1) bytes[next(bytes.length)] = next(256);
      try {
        decodePaxos(bytes, group);
      } catch (error) {
        if (!(error instanceof FrameError)) throw error;
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(5_000);
  });
});
