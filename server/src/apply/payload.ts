/**
 * The binary form of what log entries carry: two bytes for version and kind, then MessagePack arrays.
 *
 * Two kinds: a transaction's effects (a head that says whose they are, with its length before it, so that the effects need not be read, then the
 * effects), and a check: the order to compare the replicas' data at this slot. Compact (no field names, relations named once), versioned
 * and checked: what does not have exactly this form is refused, never half understood. Pure; knows nothing of PostgreSQL.
 */
import { Packr } from 'msgpackr';
import type { Ballot, ReplicaId, Slot } from '../multipaxos/types.ts';
import type { CommittedRequest, Effect, ProposedTransaction, TransactionHead } from './effects.ts';

const version = 2;
const kindTransaction = 0x54;
const kindVerify = 0x56;
/** Version, kind, length of the head. */
const prefixBytes = 6;
const checkCharsMax = 200;
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
  const { round, replica } = payload.leadership;
  const { transaction, part, last, partSlots, request } = payload;
  const head = packr.pack([transaction, part, last, partSlots, round, replica]) as Uint8Array;
  const named = request === undefined ? [] : [request.role, request.id, request.tag];
  const body = packr.pack([relations, effects, payload.sql, named]) as Uint8Array;
  const bytes = new Uint8Array(prefixBytes + head.byteLength + body.byteLength);
  if (bytes.byteLength > payloadBytesMax) {
    throw new PayloadError(`A payload of ${bytes.byteLength} bytes is larger than ${payloadBytesMax}`);
  }
  bytes[0] = version;
  bytes[1] = kindTransaction;
  new DataView(bytes.buffer).setUint32(2, head.byteLength);
  bytes.set(head, prefixBytes);
  bytes.set(body, prefixBytes + head.byteLength);
  return bytes;
}

/** The order to compare the data of all replicas at the slot that this entry gets. `check` names the comparison. @throws PayloadError */
export function encodeVerify(check: string): Uint8Array {
  if (check === '' || check.length > checkCharsMax) {
    throw new PayloadError(`A check is named by 1 to ${checkCharsMax} characters`);
  }
  return Uint8Array.from([version, kindVerify, ...(packr.pack([check]) as Uint8Array)]);
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

/** What a payload is, without the effects. */
export type PayloadHead =
  | { readonly kind: 'transaction'; readonly head: TransactionHead }
  | { readonly kind: 'verify'; readonly check: string };

/** @throws PayloadError */
export function decodeHead(bytes: Uint8Array): PayloadHead {
  if (bytes.byteLength > payloadBytesMax) throw new PayloadError('The payload is too large');
  if (bytes[0] !== version) throw new PayloadError(`Unknown payload version ${bytes[0] ?? 'none'}`);
  if (bytes[1] === kindTransaction) return { kind: 'transaction', head: splitTransaction(bytes).head };
  if (bytes[1] !== kindVerify) throw new PayloadError(`Unknown kind of payload ${bytes[1] ?? 'none'}`);
  const [check] = list(unpack(bytes.subarray(2)), 1);
  return { kind: 'verify', check: text(check) };
}

/** @throws PayloadError if the bytes are not a transaction of this version */
export function decodePayload(bytes: Uint8Array): ProposedTransaction {
  if (decodeHead(bytes).kind !== 'transaction') throw new PayloadError('The payload is no transaction');
  const { head, body } = splitTransaction(bytes);
  const [names, effects, sql, named] = list(unpack(body), 4);
  const relations = strings(names);
  const request = requestOf(strings(named));
  return {
    ...head,
    effects: list(effects).map((effect) => decodeEffect(list(effect), relations)),
    sql: strings(sql),
    ...(request === null ? {} : { request }),
  };
}

function splitTransaction(bytes: Uint8Array): { readonly head: TransactionHead; readonly body: Uint8Array } {
  if (bytes.byteLength < prefixBytes) throw new PayloadError('The payload is too short');
  const headBytes = new DataView(bytes.buffer, bytes.byteOffset).getUint32(2);
  const bodyAt = prefixBytes + headBytes;
  if (bodyAt > bytes.byteLength) throw new PayloadError('The payload is shorter than its head');
  const fields = list(unpack(bytes.subarray(prefixBytes, bodyAt)), 6);
  const [transaction, part, last, partSlots, round, leader] = fields;
  const head = {
    transaction: text(transaction),
    part: count(part),
    last: flag(last),
    partSlots: list(partSlots).map((slot) => count(slot) as Slot),
    leadership: { round: count(round), replica: text(leader) as ReplicaId } satisfies Ballot,
  };
  return { head, body: bytes.subarray(bodyAt) };
}

function requestOf(named: readonly string[]): CommittedRequest | null {
  const [role, id, tag] = named;
  if (named.length === 0) return null;
  if (role === undefined || id === undefined || tag === undefined || named.length > 3) {
    throw new PayloadError('A request is named by role, id and tag');
  }
  return { role, id, tag };
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
