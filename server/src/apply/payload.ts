/**
 * The binary form of a transaction's effects, as log entries carry it: one version byte, then MessagePack arrays.
 *
 * Compact (no field names, relations named once), versioned and checked: what does not have exactly this form is refused, never
 * half understood. Pure; knows nothing of PostgreSQL.
 */
import { Packr } from 'msgpackr';
import type { Ballot, ReplicaId, Slot } from '../multipaxos/types.ts';
import type { Effect, ProposedTransaction } from './effects.ts';

const version = 1;
/** A decoder refuses more; the gateway cuts transactions into much smaller parts. */
export const payloadBytesMax = 64 * 1024 * 1024;

export class PayloadError extends Error {
  override readonly name = 'PayloadError';
  readonly code = 'payloadInvalid';
}

const packr = new Packr({ useRecords: false, moreTypes: false, encodeUndefinedAsNil: false });

/** An effect's share of a payload, near enough to decide where to cut. */
export function effectBytes(effect: Effect): number {
  const lines = (rows: readonly string[]): number => rows.reduce((sum, row) => sum + row.length + 5, 0);
  switch (effect.kind) {
    case 'insert':
    case 'delete':
      return effect.relation.length + lines(effect.rows) + 8;
    case 'update':
      return effect.relation.length + lines(effect.before) + lines(effect.after) + 8;
    case 'ddl':
      return effect.sql.length + effect.role.length + JSON.stringify(effect.settings).length + 8;
    case 'truncate':
    case 'sequence':
      break;
  }
  return effect.relation.length + 40;
}

/** @throws PayloadError if it is larger than a decoder takes */
export function encodePayload(payload: ProposedTransaction): Uint8Array {
  const relations: string[] = [];
  const numbers = new Map<string, number>();
  const number = (relation: string): number => {
    const known = numbers.get(relation);
    if (known !== undefined) return known;
    numbers.set(relation, relations.length);
    relations.push(relation);
    return relations.length - 1;
  };
  const effects = payload.effects.map((effect) => encodeEffect(effect, number));
  const body = packr.pack([
    payload.transaction,
    payload.part,
    payload.last,
    payload.partSlots,
    payload.leadership.round,
    payload.leadership.replica,
    relations,
    effects,
    payload.sql,
  ]) as Uint8Array;
  if (body.byteLength + 1 > payloadBytesMax) {
    throw new PayloadError(`A payload of ${body.byteLength + 1} bytes is larger than ${payloadBytesMax}`);
  }
  const bytes = new Uint8Array(body.byteLength + 1);
  bytes[0] = version;
  bytes.set(body, 1);
  return bytes;
}

function encodeEffect(effect: Effect, number: (relation: string) => number): unknown[] {
  switch (effect.kind) {
    case 'insert':
      return ['i', number(effect.relation), effect.rows];
    case 'delete':
      return ['d', number(effect.relation), effect.rows];
    case 'update':
      return ['u', number(effect.relation), effect.before, effect.after];
    case 'truncate':
      return ['t', number(effect.relation)];
    case 'ddl':
      return ['x', effect.sql, effect.role, Object.entries(effect.settings).flat()];
    case 'sequence':
      break;
  }
  return ['s', number(effect.relation), effect.lastValue, effect.isCalled, effect.exact];
}

/** @throws PayloadError if the bytes are not a payload of this version */
export function decodePayload(bytes: Uint8Array): ProposedTransaction {
  if (bytes.byteLength > payloadBytesMax) throw new PayloadError('The payload is too large');
  if (bytes[0] !== version) throw new PayloadError(`Unknown payload version ${bytes[0] ?? 'none'}`);
  const fields = list(unpack(bytes.subarray(1)), 9);
  const [transaction, part, last, partSlots, round, leader, names, effects, sql] = fields;
  const relations = strings(names);
  return {
    transaction: text(transaction),
    part: count(part),
    last: flag(last),
    partSlots: list(partSlots).map((slot) => count(slot) as Slot),
    leadership: { round: count(round), replica: text(leader) as ReplicaId } satisfies Ballot,
    effects: list(effects).map((effect) => decodeEffect(list(effect), relations)),
    sql: strings(sql),
  };
}

function unpack(bytes: Uint8Array): unknown {
  try {
    return packr.unpack(bytes);
  } catch (cause) {
    throw new PayloadError('The payload is not MessagePack', { cause });
  }
}

function decodeEffect(fields: readonly unknown[], relations: readonly string[]): Effect {
  const relation = (): string => {
    const name = relations[count(fields[1])];
    if (name === undefined) throw new PayloadError('The payload names no such relation');
    return name;
  };
  const length = (expected: number): void => void list(fields, expected);
  switch (fields[0]) {
    case 'i':
      length(3);
      return { kind: 'insert', relation: relation(), rows: strings(fields[2]) };
    case 'd':
      length(3);
      return { kind: 'delete', relation: relation(), rows: strings(fields[2]) };
    case 'u': {
      length(4);
      const before = strings(fields[2]);
      const after = strings(fields[3]);
      if (before.length !== after.length) throw new PayloadError('An update with unequal numbers of rows');
      return { kind: 'update', relation: relation(), before, after };
    }
    case 't':
      length(2);
      return { kind: 'truncate', relation: relation() };
    case 'x':
      length(4);
      return {
        kind: 'ddl',
        sql: text(fields[1]),
        role: text(fields[2]),
        settings: pairs(strings(fields[3])),
      };
    case 's':
      length(5);
      return {
        kind: 'sequence',
        relation: relation(),
        lastValue: text(fields[2]),
        isCalled: flag(fields[3]),
        exact: flag(fields[4]),
      };
    default:
      throw new PayloadError('An effect of an unknown kind');
  }
}

function list(value: unknown, length?: number): readonly unknown[] {
  if (!Array.isArray(value) || (length !== undefined && value.length !== length)) {
    throw new PayloadError('The payload does not have the form of this version');
  }
  return value;
}

function text(value: unknown): string {
  if (typeof value !== 'string') throw new PayloadError('The payload holds no text where text belongs');
  return value;
}

function strings(value: unknown): readonly string[] {
  return list(value).map(text);
}

function count(value: unknown): number {
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) {
    throw new PayloadError('The payload holds no number where a number belongs');
  }
  return value;
}

function flag(value: unknown): boolean {
  if (typeof value !== 'boolean') throw new PayloadError('The payload holds no flag where a flag belongs');
  return value;
}

function pairs(values: readonly string[]): Record<string, string> {
  if (values.length % 2 !== 0) throw new PayloadError('A setting without a value');
  const settings: Record<string, string> = Object.create(null) as Record<string, string>;
  for (let i = 0; i < values.length; i += 2) settings[values[i] ?? ''] = values[i + 1] ?? '';
  return { ...settings };
}
