/**
 * The binary form of a transaction's effects: what a log entry carries. One version byte, then MessagePack.
 *
 * Does no I/O. Invariant: what `encodePayload` made, `decodePayload` returns unchanged; anything else is refused with a
 * PayloadError, never half understood.
 */
import { Packr } from 'msgpackr';
import type { Slot } from '../multipaxos/types.ts';
import type { Effect, TransactionPayload } from './effects.ts';

const version = 1;
const packr = new Packr({ useRecords: false, variableMapSize: true });

export class PayloadError extends Error {
  override readonly name = 'PayloadError';
  readonly code = 'payloadInvalid';
}

/** Arrays in place of objects: field names would double the size of a small transaction. */
type WireEffect =
  | readonly ['i' | 'd', string, readonly string[]]
  | readonly ['u', string, readonly string[], readonly string[]]
  | readonly ['t', string]
  | readonly ['x', string, string, Readonly<Record<string, string>>]
  | readonly ['s', string, string, boolean, boolean];
type Wire = readonly [
  transaction: string,
  part: number,
  last: boolean,
  partSlots: readonly number[],
  effects: readonly WireEffect[],
  sql: readonly string[],
];

export function encodePayload(payload: TransactionPayload): Uint8Array {
  const { transaction, part, last, partSlots, effects, sql } = payload;
  const body = packr.pack([transaction, part, last, partSlots, effects.map(toWire), sql] satisfies Wire);
  const bytes = new Uint8Array(body.byteLength + 1);
  bytes[0] = version;
  bytes.set(body, 1);
  return bytes;
}

/** @throws PayloadError */
export function decodePayload(bytes: Uint8Array): TransactionPayload {
  if (bytes[0] !== version) throw new PayloadError(`payload version ${bytes[0]}, this is version ${version}`);
  let wire: unknown;
  try {
    wire = packr.unpack(bytes.subarray(1));
  } catch (cause) {
    throw new PayloadError('payload is not MessagePack', { cause });
  }
  if (!isWire(wire)) throw new PayloadError('payload does not have the shape of a transaction');
  const [transaction, part, last, partSlots, effects, sql] = wire;
  return {
    transaction,
    part,
    last,
    partSlots: partSlots as readonly Slot[],
    effects: effects.map(fromWire),
    sql,
  };
}

function isWire(wire: unknown): wire is Wire {
  if (!Array.isArray(wire) || wire.length !== 6) return false;
  const [transaction, part, last, partSlots, effects, sql] = wire as unknown[];
  return (
    typeof transaction === 'string' &&
    typeof part === 'number' &&
    typeof last === 'boolean' &&
    Array.isArray(partSlots) &&
    Array.isArray(effects) &&
    Array.isArray(sql)
  );
}

function toWire(effect: Effect): WireEffect {
  switch (effect.kind) {
    case 'insert':
      return ['i', effect.relation, effect.rows];
    case 'delete':
      return ['d', effect.relation, effect.rows];
    case 'update':
      return ['u', effect.relation, effect.before, effect.after];
    case 'truncate':
      return ['t', effect.relation];
    case 'ddl':
      return ['x', effect.sql, effect.role, effect.settings];
    case 'sequence':
      return ['s', effect.relation, effect.lastValue, effect.isCalled, effect.exact];
    default:
      return effect satisfies never;
  }
}

function fromWire(wire: WireEffect): Effect {
  switch (wire[0]) {
    case 'i':
      return { kind: 'insert', relation: wire[1], rows: wire[2] };
    case 'd':
      return { kind: 'delete', relation: wire[1], rows: wire[2] };
    case 'u':
      return { kind: 'update', relation: wire[1], before: wire[2], after: wire[3] };
    case 't':
      return { kind: 'truncate', relation: wire[1] };
    case 'x':
      return { kind: 'ddl', sql: wire[1], role: wire[2], settings: wire[3] };
    case 's':
      return { kind: 'sequence', relation: wire[1], lastValue: wire[2], isCalled: wire[3], exact: wire[4] };
    default:
      throw new PayloadError(`unknown effect ${String(wire[0])}`);
  }
}
