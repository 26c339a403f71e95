import * as fc from 'fast-check';
import { pack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import type { Entry, Vote } from '../../multipaxos/types/entries.ts';
import type { Configuration, Member } from '../../multipaxos/types/members.ts';
import type { Message } from '../../multipaxos/types/messages.ts';
import type { GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { ControlMessage, DataDigest } from '../../ports/control.ts';
import { controlBytesMax } from './control-codec.ts';
import { FrameError } from './fields.ts';
import { membersMax } from './member-codec.ts';
import { decodeFrame, encodeControl, encodeMessage } from './message-codec.ts';

function decodeMessage(frame: Uint8Array, of: GroupId): Message {
  const decoded = decodeFrame(frame, of);
  if (decoded.of !== 'consensus') throw new Error('a control message');
  return decoded.message;
}

const group = 'main' as GroupId;
const slot = fc.nat({ max: Number.MAX_SAFE_INTEGER }).map((value) => value as Slot);
const ballot = fc.record({
  round: fc.nat({ max: Number.MAX_SAFE_INTEGER }),
  replica: fc.constantFrom('r1', 'r2', '').map((id) => id as ReplicaId),
});
const transactionId = fc.bigInt({ min: 0n, max: 2n ** 64n - 1n }).map(String);
const sentAtMs = fc.double({ noNaN: true, noDefaultInfinity: true });
const payload = fc.uint8Array({ maxLength: 300 });
const endpoint = {
  host: fc.constantFrom('127.0.0.1', '::1', 'db1.example.net'),
  port: fc.integer({ min: 1, max: 65_535 }),
};
const address = fc.record({ ...endpoint, pgwire: fc.record(endpoint) });
const member: fc.Arbitrary<Member> = fc.record({
  replica: fc.constantFrom('r1', 'r2', 'r3', 'r4').map((id) => id as ReplicaId),
  incarnation: fc.nat(),
  role: fc.constantFrom('voter' as const, 'learner' as const),
  nonce: fc.string({ maxLength: 64 }),
  address,
});
const members = fc.uniqueArray(member, { selector: ({ replica }) => replica });
const configuration: fc.Arbitrary<Configuration> = fc.record({ version: fc.nat(), slot, members });
const entry: fc.Arbitrary<Entry> = fc.oneof(
  fc.record({ kind: fc.constant('noop' as const), group: fc.constant(group) }),
  fc.record({ kind: fc.constant('leaderStart' as const), group: fc.constant(group), ballot }),
  fc.record({
    kind: fc.constant('configuration' as const),
    group: fc.constant(group),
    ballot,
    version: fc.nat(),
    members,
  }),
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
  fc.record({ kind: kind('PreVoteReply'), ...base, granted: fc.boolean(), configuration }),
  fc.record({ kind: kind('Prepare'), ...base, commitPoint: slot }),
  fc.record({
    kind: kind('Promise'),
    ...base,
    commitPoint: slot,
    configuration,
    votes: fc.array(vote, { maxLength: 5 }),
  }),
  fc.record({ kind: kind('Reject'), ...base, promised: ballot }),
  fc.record({
    kind: kind('Resigned'),
    ...base,
    successor: fc.constantFrom('r1', 'r2.3').map((id) => id as ReplicaId),
  }),
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
    configuration,
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
    configuration,
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

  it('spends few bytes on a vote, and reads one that is msgpack, too', () => {
    const vote: Message = {
      kind: 'Accepted',
      group,
      ballot: { round: 3, replica: 'r1' as ReplicaId },
      firstSlot: 7 as Slot,
      lastSlot: 8 as Slot,
      commitPoint: 6 as Slot,
      sentAtMs: 12.5,
    };
    expect(encodeMessage(vote).byteLength).toBeLessThan(60);
    expect(decodeMessage(pack(vote), group)).toEqual(vote);
  });

  it.each([1, 600])('refuses an Accept that is cut short or longer than it says, of %i bytes', (bytes) => {
    const accept: Message = {
      kind: 'Accept',
      group,
      ballot: { round: 3, replica: 'r1' as ReplicaId },
      firstSlot: 7 as Slot,
      entries: [
        {
          kind: 'command',
          group,
          proposal: { client: 'c', request: 1 },
          payload: new Uint8Array(bytes).fill(7),
        },
      ],
      commitPoint: 6 as Slot,
      sentAtMs: 12.5,
    };
    const frame = Buffer.from(encodeMessage(accept));
    expect(bytesOf(decodeMessage(frame, group))).toEqual(bytesOf(accept));
    // Of a larger buffer: what stands behind the frame is not the frame's.
    const within = Buffer.concat([frame, frame]);
    for (let length = 1; length < frame.length; length++)
      expect(() => decodeFrame(within.subarray(0, length), group)).toThrow(FrameError);
    expect(() => decodeFrame(within.subarray(0, frame.length + 1), group)).toThrow(FrameError);
    expect(() => decodeFrame(frame, 'other' as GroupId)).toThrow(/of another group/);
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
        configuration: { version: 1, slot: 0 as Slot, members: [] },
      }),
    );
    const decoded = decodeMessage(frame, group);
    const back = decoded.kind === 'CatchUpReply' ? decoded.entries[0] : undefined;
    expect(back?.kind === 'command' && back.payload.buffer === frame.buffer).toBe(true);
  });
});

const reason = fc.string({ maxLength: 100 });
const digest: fc.Arbitrary<DataDigest> = fc.record({
  slot,
  objects: fc.array(
    fc.record({
      database: fc.string({ maxLength: 63 }),
      kind: fc.constantFrom('table' as const, 'sequence' as const),
      name: fc.string({ maxLength: 80 }),
      rows: fc.nat(),
      digest: fc.string({ maxLength: 64 }),
    }),
    { maxLength: 4 },
  ),
  skipped: fc.array(fc.record({ database: reason, name: reason, reason }), { maxLength: 3 }),
  hasSequences: fc.boolean(),
});
const nonce = fc.string({ maxLength: 64 });
const replica = fc.constantFrom('r1', 'r2').map((id) => id as ReplicaId);
const join = { kind: fc.constant('JoinReply' as const), nonce, reason, leader: fc.option(replica) };
const control: fc.Arbitrary<ControlMessage> = fc.oneof(
  fc.record({ kind: fc.constant('JoinRequest' as const), replica, nonce, address }),
  fc.record({
    ...join,
    code: fc.constantFrom('notLeader' as const, 'waiting' as const, 'refused' as const),
    admission: fc.constant(null),
  }),
  fc.record({
    ...join,
    code: fc.constant('admitted' as const),
    admission: fc.record({
      cluster: nonce,
      member: replica,
      configuration,
      purgedTo: slot,
      isNew: fc.boolean(),
    }),
  }),
  fc.record({ kind: fc.constant('VerifyQuestion' as const), check: nonce, slot }),
  fc.record({ kind: fc.constant('ReadIndexQuestion' as const), run: nonce, number: fc.nat() }),
  fc.record({ kind: fc.constant('ReadIndexAnswer' as const), run: nonce, number: fc.nat(), index: slot }),
  fc.record({
    kind: fc.constant('ShownQuestion' as const),
    run: nonce,
    number: fc.nat(),
    end: transactionId,
    committed: fc.array(transactionId, { maxLength: 4 }),
  }),
  fc.record({
    kind: fc.constant('ShownAnswer' as const),
    run: nonce,
    number: fc.nat(),
    end: transactionId,
    running: fc.array(transactionId, { maxLength: 4 }),
  }),
  fc.record({
    kind: fc.constant('VerifyReport' as const),
    check: nonce,
    digest: fc.option(digest),
    reason,
    isFenced: fc.boolean(),
  }),
  fc.record({
    kind: fc.constant('VerifyVerdict' as const),
    check: nonce,
    slot,
    differing: fc.array(fc.string({ maxLength: 80 }), { maxLength: 4 }),
    repair: fc.boolean(),
    equal: fc.array(replica, { maxLength: 5 }),
  }),
);

function decodeControl(frame: Uint8Array): ControlMessage {
  const decoded = decodeFrame(frame, group);
  if (decoded.of !== 'control') throw new Error('a consensus message');
  return decoded.message;
}

function encoded(message: ControlMessage): Uint8Array {
  const frame = encodeControl(message, group);
  if (frame === null) throw new Error('too large');
  return frame;
}

describe('the codec of control messages', () => {
  it('gives back every message as it was', () => {
    fc.assert(
      fc.property(control, (original) => {
        expect(decodeControl(encoded(original))).toEqual(original);
      }),
      { numRuns: 500 },
    );
  });

  it('turns a damaged frame into a well-formed message or a FrameError, never anything else', () => {
    fc.assert(
      fc.property(control, fc.nat(), fc.nat({ max: 255 }), (original, at, value) => {
        const frame = Buffer.from(encoded(original));
        frame[at % frame.length] = value;
        try {
          decodeFrame(frame, group);
        } catch (error) {
          if (!(error instanceof FrameError)) throw error;
        }
      }),
      { numRuns: 2000 },
    );
  });

  const reportOf = (objects: number): ControlMessage => ({
    kind: 'VerifyReport',
    check: 'c',
    reason: '',
    isFenced: false,
    digest: {
      slot: 7 as Slot,
      skipped: [],
      hasSequences: true,
      objects: Array.from({ length: objects }, (_, index) => ({
        database: 'barista',
        kind: 'table' as const,
        name: `public.table_${index}`,
        rows: index,
        digest: 'f'.repeat(64),
      })),
    },
  });

  it('carries the digest of 20,000 tables', () => {
    expect(decodeControl(encoded(reportOf(20_000)))).toEqual(reportOf(20_000));
  });

  it('sends a report whose digest is too large without it, and with the reason', () => {
    const frame = encoded(reportOf(60_000));
    expect(frame.byteLength).toBeLessThan(1000);
    expect(decodeControl(frame)).toMatchObject({
      digest: null,
      reason: expect.stringMatching(/^the digest of 60000 objects takes \d+ bytes, and at most 4194304 can/),
    });
  });

  it('does not send or read what is larger than a control message may be', () => {
    const differing = Array.from({ length: 4000 }, () => 'x'.repeat(2000));
    const verdict: ControlMessage = {
      kind: 'VerifyVerdict',
      check: 'c',
      slot: 1 as Slot,
      differing,
      repair: false,
      equal: [],
    };
    expect(encodeControl(verdict, group)).toBe(null);
    const frame = encodeMessage({ group, ...verdict } as unknown as Message);
    expect(frame.byteLength).toBeGreaterThan(controlBytesMax);
    expect(() => decodeFrame(frame, group)).toThrow(/a control message of more than 4194304 bytes/);
  });

  it('cuts a long reason to what the other side reads', () => {
    const long: ControlMessage = {
      kind: 'VerifyReport',
      check: 'c',
      digest: null,
      reason: 'y'.repeat(100_000),
      isFenced: false,
    };
    expect(decodeControl(encoded(long))).toMatchObject({ reason: 'y'.repeat(4096) });
  });

  it('refuses an admission that does not say what is admitted', () => {
    const reply = {
      kind: 'JoinReply',
      nonce: 'n',
      code: 'admitted',
      reason: '',
      leader: null,
      admission: null,
    };
    expect(() => decodeFrame(encoded(reply as ControlMessage), group)).toThrow(FrameError);
  });
});

describe('a configuration from a peer', () => {
  const one = fc.sample(member, { numRuns: 1, seed: 1 })[0] as Member;
  const of = (list: readonly unknown[]): Uint8Array =>
    encodeMessage({
      kind: 'PreVoteReply',
      group,
      ballot: { round: 1, replica: 'r1' as ReplicaId },
      granted: true,
      configuration: { version: 1, slot: 0 as Slot, members: list as Member[] },
    });
  const many = (count: number): Member[] =>
    Array.from({ length: count }, (_, index) => ({ ...one, replica: `r${index}` as ReplicaId }));

  it('has at most 31 members', () => {
    expect(decodeMessage(of(many(membersMax)), group)).toMatchObject({ granted: true });
    expect(() => decodeMessage(of(many(membersMax + 1)), group)).toThrow('members has more than 31 items');
  });

  const bad: [string, unknown][] = [
    ['a role that is none', { ...one, role: 'leader' }],
    ['an incarnation below 0', { ...one, incarnation: -1 }],
    ['a name that is empty', { ...one, replica: '' }],
    ['a nonce that is no text', { ...one, nonce: 7 }],
    ['port 0', { ...one, address: { ...one.address, port: 0 } }],
    ['no address for SQL clients', { ...one, address: { host: 'h', port: 1 } }],
    ['no address at all', { ...one, address: null }],
  ];
  it.each(bad)('is refused for %s', (_what, member_) => {
    expect(() => decodeMessage(of([member_]), group)).toThrow(FrameError);
  });

  it('names a replica once', () => {
    expect(() => decodeMessage(of([one, { ...one, incarnation: 9 }]), group)).toThrow('twice');
  });
});
