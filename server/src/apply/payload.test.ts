import fc from 'fast-check';
import { expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../multipaxos/types.ts';
import type { Effect, ProposedTransaction } from './effects.ts';
import { decodePayload, effectBytes, encodePayload, PayloadError } from './payload.ts';

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
const payload: fc.Arbitrary<ProposedTransaction> = fc.record({
  transaction: fc.string(),
  part: fc.nat(),
  last: fc.boolean(),
  partSlots: fc.array(fc.nat().map((slot) => slot as Slot)),
  leadership: fc.record({ round: fc.nat(), replica: fc.string().map((id) => id as ReplicaId) }),
  effects: fc.array(effect),
  sql: fc.array(fc.string()),
});

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
    fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
      let decoded: ProposedTransaction;
      try {
        decoded = decodePayload(Uint8Array.from([1, ...bytes]));
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
