import { describe, expect, it } from 'vitest';
import { ballotNone } from '../../multipaxos/ballot.ts';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { FrameError } from './frames.ts';
import { decodePrimary, encodePrimary, type PrimaryMessage } from './primary-codec.ts';

const group = 'g' as GroupId;
const epoch: Ballot = { round: 3, replica: 'r2.1' as ReplicaId };
const [slot, other] = [7 as Slot, 5 as Slot];
const command: Entry = {
  kind: 'command',
  group,
  proposal: { client: 'r1.é', request: 9 },
  payload: new Uint8Array([1, 2, 3]),
};
const begins: Entry = { kind: 'leaderStart', group, ballot: epoch };
const base = { group, epoch };
const operations = {
  kind: 'Operations',
  ...base,
  prevSlot: 0 as Slot,
  prevEpoch: ballotNone,
  beginsAt: slot,
  settled: other,
  isStandby: true,
  sentAtMs: 1234.5,
} as const;
const messages: readonly PrimaryMessage[] = [
  { kind: 'AskWord', ...base, lastEpoch: epoch, lastSlot: slot },
  { kind: 'AskWord', ...base, lastEpoch: ballotNone, lastSlot: 0 as Slot },
  { kind: 'Word', ...base },
  { kind: 'Refuse', ...base, promised: epoch, hasMore: true },
  { ...operations, entries: [] },
  {
    ...operations,
    entries: [
      { epoch, entry: begins },
      { epoch, entry: command },
    ],
  },
  {
    kind: 'Received',
    ...base,
    received: slot,
    executed: other,
    goOnFrom: null,
    needsCopy: false,
    sentAtMs: 0.25,
  },
  {
    kind: 'Received',
    ...base,
    received: slot,
    executed: other,
    goOnFrom: other,
    needsCopy: true,
    sentAtMs: 7,
  },
  { kind: 'Told', ...base, acknowledged: [slot, other], unacknowledged: [] },
];

/** Views of longer bytes are the same payload. */
function plain(message: PrimaryMessage): string {
  return JSON.stringify(message, (_key, value: unknown) => {
    if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return value;
    const isBuffer = 'type' in value && value.type === 'Buffer' && 'data' in value;
    if (isBuffer) return Buffer.from(value.data as number[]).toString('hex');
    return Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
  });
}

describe('messages of a primary and its copies', () => {
  it.each(messages.map((message) => [message.kind, message] as const))(
    '%s come back as they were',
    (_kind, message) => {
      expect(plain(decodePrimary(encodePrimary(message), group))).toBe(plain(message));
    },
  );

  it('are refused where they are cut short, or followed by something', () => {
    for (const message of messages) {
      const bytes = encodePrimary(message);
      for (let length = 0; length < bytes.length; length += 1)
        expect(() => decodePrimary(bytes.subarray(0, length), group)).toThrow(FrameError);
      expect(() => decodePrimary(Buffer.concat([bytes, Buffer.from([0])]), group)).toThrow(FrameError);
    }
  });

  it('throw nothing else, whatever bytes they are', () => {
    let seed = 1;
    const next = (below: number): number => {
      seed = (Math.imul(seed, 1_664_525) + 1_013_904_223) >>> 0;
      return Math.floor((seed / 2 ** 32) * below);
    };
    let refused = 0;
    for (let n = 0; n < 20_000; n += 1) {
      const bytes = Buffer.from(encodePrimary(messages[next(messages.length)]!));
      for (let changes = next(4) + 1; changes > 0; changes -= 1) bytes[next(bytes.length)] = next(256);
      try {
        decodePrimary(bytes, group);
      } catch (error) {
        if (!(error instanceof FrameError)) throw error;
        refused += 1;
      }
    }
    expect(refused).toBeGreaterThan(5_000);
  });
});
