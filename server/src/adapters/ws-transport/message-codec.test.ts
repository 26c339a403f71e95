import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Entry, GroupId, Message, ReplicaId, Slot, Vote } from '../../multipaxos/types.ts';
import { decodeMessage, encodeMessage, FrameError } from './message-codec.ts';

const group = 'main' as GroupId;
const slot = fc.nat({ max: Number.MAX_SAFE_INTEGER }).map((value) => value as Slot);
const ballot = fc.record({
  round: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  replica: fc.constantFrom('r1', 'r2', '').map((id) => id as ReplicaId),
});
const sentAtMs = fc.double({ noNaN: true, noDefaultInfinity: true });
const payload = fc.uint8Array({ maxLength: 300 });
const entry: fc.Arbitrary<Entry> = fc.oneof(
  fc.record({ kind: fc.constant('noop' as const), group: fc.constant(group) }),
  fc.record({ kind: fc.constant('leaderStart' as const), group: fc.constant(group), ballot }),
  fc.record({
    kind: fc.constant('command' as const),
    group: fc.constant(group),
    proposal: fc.record({ client: fc.string({ maxLength: 40 }), request: fc.nat() }),
    payload,
  }),
);
const vote: fc.Arbitrary<Vote> = fc.record({ slot, ballot, entry });
const entries = fc.array(entry, { maxLength: 5 });
const base = { group: fc.constant(group), ballot };
const kind = <Kind extends Message['kind']>(name: Kind) => fc.constant(name);
const message: fc.Arbitrary<Message> = fc.oneof(
  fc.record({ kind: kind('PreVote'), ...base }),
  fc.record({ kind: kind('PreVoteReply'), ...base, granted: fc.boolean() }),
  fc.record({ kind: kind('Prepare'), ...base, commitPoint: slot }),
  fc.record({ kind: kind('Promise'), ...base, commitPoint: slot, votes: fc.array(vote, { maxLength: 5 }) }),
  fc.record({ kind: kind('Reject'), ...base, promised: ballot }),
  fc.record({ kind: kind('Accept'), ...base, firstSlot: slot, entries, commitPoint: slot, sentAtMs }),
  fc.record({
    kind: kind('Accepted'),
    ...base,
    firstSlot: slot,
    lastSlot: slot,
    commitPoint: slot,
    sentAtMs,
  }),
  fc.record({
    kind: kind('Heartbeat'),
    ...base,
    commitPoint: slot,
    sentAtMs,
    globalApplicationPointer: slot,
  }),
  fc.record({
    kind: kind('HeartbeatAck'),
    ...base,
    commitPoint: slot,
    sentAtMs,
    durableApplicationPointer: slot,
  }),
  fc.record({ kind: kind('CatchUpRequest'), ...base, fromSlot: slot, toSlot: slot }),
  fc.record({
    kind: kind('CatchUpReply'),
    ...base,
    firstSlot: slot,
    entries,
    commitPoint: slot,
    purgedTo: slot,
  }),
);

/** Payloads come back as views of the frame, which are Buffers in Node: compare bytes, not classes. */
const plain = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value, (_key, item) => (item instanceof Uint8Array ? [...item] : item)));
const bytesOf = (value: Message): unknown =>
  plain(
    value.kind === 'Accept' || value.kind === 'CatchUpReply'
      ? { ...value, entries: value.entries.map(flat) }
      : value.kind === 'Promise'
        ? { ...value, votes: value.votes.map((item) => ({ ...item, entry: flat(item.entry) })) }
        : value,
  );
const flat = (item: Entry): unknown =>
  item.kind === 'command' ? { ...item, payload: [...item.payload] } : item;

describe('the codec of peer messages', () => {
  it('gives back every message as it was', () => {
    fc.assert(
      fc.property(message, (original) => {
        expect(bytesOf(decodeMessage(encodeMessage(original), group))).toEqual(bytesOf(original));
      }),
      { numRuns: 500 },
    );
  });

  it('turns a damaged frame into a well-formed message or a FrameError, never anything else', () => {
    fc.assert(
      fc.property(message, fc.nat(), fc.nat({ max: 255 }), fc.nat(), (original, at, value, cut) => {
        const frame = Buffer.from(encodeMessage(original));
        frame[at % frame.length] = value;
        const damaged = frame.subarray(0, frame.length - (cut % 3));
        try {
          const decoded = decodeMessage(damaged, group);
          expect(decodeMessage(encodeMessage(decoded), group).kind).toBe(decoded.kind);
        } catch (error) {
          if (!(error instanceof FrameError)) throw error;
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('drops keys that the message does not have', () => {
    const extra = {
      kind: 'PreVote',
      group,
      ballot: { round: 1, replica: 'r1' },
      leader: true,
    } as unknown as Message;
    expect(Object.keys(decodeMessage(encodeMessage(extra), group))).toEqual(['kind', 'group', 'ballot']);
  });

  it('does not copy a payload', () => {
    const original = fc.sample(payload, 1)[0] ?? new Uint8Array();
    const entryOf: Entry = {
      kind: 'command',
      group,
      proposal: { client: 'c', request: 1 },
      payload: original,
    };
    const frame = Buffer.from(
      encodeMessage({
        kind: 'CatchUpReply',
        group,
        ballot: { round: 1, replica: 'r1' as ReplicaId },
        firstSlot: 1 as Slot,
        entries: [entryOf],
        commitPoint: 1 as Slot,
        purgedTo: 0 as Slot,
      }),
    );
    const decoded = decodeMessage(frame, group);
    const back = decoded.kind === 'CatchUpReply' ? decoded.entries[0] : undefined;
    expect(back?.kind === 'command' && back.payload.buffer === frame.buffer).toBe(true);
  });
});
