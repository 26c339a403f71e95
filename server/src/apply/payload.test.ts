import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../multipaxos/types.ts';
import type { Effect, ProposedTransaction } from './effects.ts';
import {
  decodeHead,
  decodePayload,
  effectBytes,
  encodePayload,
  encodeVerify,
  PayloadError,
} from './payload.ts';

const rows = fc.array(fc.string({ unit: 'binary' }));
const effect: fc.Arbitrary<Effect> = fc.oneof(
  fc.record({ kind: fc.constantFrom('insert', 'delete'), relation: fc.string(), rows }),
  fc
    .record({ relation: fc.string(), pairs: fc.array(fc.tuple(fc.string(), fc.string())) })
    .map(({ relation, pairs }) => ({
      kind: 'update' as const,
      relation,
      before: pairs.map(([before]) => before),
      after: pairs.map(([, after]) => after),
    })),
  fc.record({ kind: fc.constant('truncate' as const), relation: fc.string() }),
  fc.record({
    kind: fc.constant('ddl' as const),
    sql: fc.string(),
    role: fc.string(),
    settings: fc.dictionary(
      fc.string().filter((name) => name !== '__proto__'),
      fc.string(),
      { noNullPrototype: true },
    ),
  }),
  fc.record({
    kind: fc.constant('sequence' as const),
    relation: fc.string(),
    lastValue: fc.bigInt().map(String),
    isCalled: fc.boolean(),
    exact: fc.boolean(),
  }),
);
const request = fc.record({ role: fc.string(), id: fc.string(), tag: fc.string() });
const whole = fc.record({
  transaction: fc.string(),
  part: fc.nat(),
  last: fc.boolean(),
  partSlots: fc.array(fc.nat().map((slot) => slot as Slot)),
  leadership: fc.record({ round: fc.nat(), replica: fc.string().map((id) => id as ReplicaId) }),
  effects: fc.array(effect),
  sql: fc.array(fc.string()),
});
const payload: fc.Arbitrary<ProposedTransaction> = fc.oneof(
  whole,
  fc.tuple(whole, request).map(([value, named]) => Object.assign(value, { request: named })),
);

const sample: ProposedTransaction = {
  transaction: 't/1',
  part: 0,
  last: true,
  partSlots: [],
  leadership: { round: 3, replica: 'r1' as ReplicaId },
  effects: [
    { kind: 'insert', relation: '"public"."t"', rows: ['(1,"ä ""quoted""")', '()'] },
    { kind: 'update', relation: '"public"."t"', before: ['(1,)'], after: ['(2,)'] },
  ],
  sql: ['INSERT ...'],
};

it('what is encoded is decoded again', () => {
  fc.assert(
    fc.property(payload, (value) => {
      expect(decodePayload(encodePayload(value))).toEqual(value);
    }),
  );
});

it('the head is told without the effects, and is the same', () => {
  fc.assert(
    fc.property(payload, (value) => {
      const { effects: _effects, sql: _sql, request: _request, ...head } = value;
      expect(decodeHead(encodePayload(value))).toEqual({ kind: 'transaction', head });
    }),
  );
  const bytes = encodePayload(sample);
  // Whatever stands where the effects begin: the head does not read it.
  expect(decodeHead(Uint8Array.from([...bytes.subarray(0, -10), 0xc1])).kind).toBe('transaction');
});

it('a check is told from a transaction, and must have a name of bounded length', () => {
  const bytes = encodeVerify('nightly/1');
  expect(decodeHead(bytes)).toEqual({ kind: 'verify', check: 'nightly/1' });
  expect(() => decodePayload(bytes)).toThrow('no transaction');
  expect(() => decodeHead(bytes.subarray(0, -1))).toThrow(PayloadError);
  for (const name of ['', 'x'.repeat(201)]) expect(() => encodeVerify(name)).toThrow(PayloadError);
});

it('every truncation and every other version is refused', () => {
  const bytes = encodePayload(sample);
  for (let length = 0; length < bytes.length; length += 1) {
    expect(() => decodePayload(bytes.subarray(0, length))).toThrow(PayloadError);
  }
  expect(() => decodePayload(Uint8Array.from([9, ...bytes.subarray(1)]))).toThrow(
    'Unknown payload version 9',
  );
});

it('bytes that are no payload never decode to something else than a payload', () => {
  fc.assert(
    fc.property(fc.constantFrom(0x54, 0x56, 0x57), fc.uint8Array({ maxLength: 200 }), (kind, bytes) => {
      let decoded: ProposedTransaction;
      try {
        decoded = decodePayload(Uint8Array.from([2, kind, ...bytes]));
      } catch (error) {
        return error instanceof PayloadError;
      }
      expect(decodePayload(encodePayload(decoded))).toEqual(decoded);
      return true;
    }),
    { numRuns: 2_000 },
  );
});

it('an update whose rows do not pair is refused', () => {
  const [first] = sample.effects;
  const odd = { ...sample, effects: [{ kind: 'update', relation: 'r', before: ['a'], after: [] } as Effect] };
  expect(first).toBeDefined();
  expect(() => decodePayload(encodePayload(odd))).toThrow('unequal numbers');
});

it('the size of an effect is told within a factor of two', () => {
  const big: Effect = {
    kind: 'insert',
    relation: 'r',
    rows: Array.from({ length: 100 }, (_, i) => `(${i},abcdefghij)`),
  };
  const size = encodePayload({ ...sample, effects: [big] }).byteLength;
  expect(effectBytes(big)).toBeGreaterThan(size / 2);
  expect(effectBytes(big)).toBeLessThan(size * 2);
});
