import { describe, expect, it } from 'vitest';
import fc from 'fast-check';
import type { Slot } from '../multipaxos/types.ts';
import type { Effect, TransactionPayload } from './effects.ts';
import { decodePayload, encodePayload, PayloadError } from './payload.ts';

const rows = fc.array(fc.string({ unit: 'binary' }), { maxLength: 5 });
const effect: fc.Arbitrary<Effect> = fc.oneof(
  fc.record({ kind: fc.constant('insert' as const), relation: fc.string(), rows }),
  fc.record({ kind: fc.constant('delete' as const), relation: fc.string(), rows }),
  fc.record({ kind: fc.constant('update' as const), relation: fc.string(), before: rows, after: rows }),
  fc.record({ kind: fc.constant('truncate' as const), relation: fc.string() }),
  fc.record({
    kind: fc.constant('ddl' as const),
    sql: fc.string({ unit: 'binary' }),
    role: fc.string(),
    settings: fc.constant({ search_path: '"$user", public' }),
  }),
  fc.record({
    kind: fc.constant('sequence' as const),
    relation: fc.string(),
    lastValue: fc.bigInt().map(String),
    isCalled: fc.boolean(),
    exact: fc.boolean(),
  }),
);
const payload: fc.Arbitrary<TransactionPayload> = fc.record({
  transaction: fc.string(),
  part: fc.nat(),
  last: fc.boolean(),
  partSlots: fc.array(fc.nat().map((slot) => slot as Slot)),
  effects: fc.array(effect, { maxLength: 6 }),
  sql: fc.array(fc.string()),
});

describe('the payload codec', () => {
  it('returns what it was given, whatever the text', () => {
    fc.assert(
      fc.property(payload, (value) => {
        expect(decodePayload(encodePayload(value))).toEqual(value);
      }),
    );
  });

  it('refuses bytes that it did not make', () => {
    const good = encodePayload({
      transaction: 't',
      part: 0,
      last: true,
      partSlots: [],
      effects: [],
      sql: [],
    });
    expect(() => decodePayload(new Uint8Array())).toThrow(PayloadError);
    expect(() => decodePayload(Uint8Array.of(9, ...good.subarray(1)))).toThrow(/version 9/);
    expect(() => decodePayload(good.subarray(0, good.length - 2))).toThrow(PayloadError);
    expect(() => decodePayload(Uint8Array.of(1, 0x90))).toThrow(PayloadError);
  });
});
