/**
 * Cuts a transaction's effects into parts of bounded size.
 *
 * Pure. Invariant: no part is above `partBytesMax`, unless it holds a single effect that cannot be cut (a large row), which has a part of its
 * own of at most `largeParts` times that; effects and rows keep their order.
 */
import { unreachable } from '../unreachable.ts';
import type { Effect, TransactionPayload } from '../../../apply/effects.ts';

/** What the encoding of a value, an effect and a payload adds at most to its text. */
const rowOverhead = 8;
const effectOverhead = 96;
const payloadOverhead = 256;
/** The client's name for the transaction: role, id, tag. */
const requestOverhead = 1024;
/** The last part names the slots of all others. */
const slotBytes = 9;
/** How many times the usual size a part may have that holds nothing but one large row or statement. */
const largeParts = 24;
const sqlTextsMax = 16;
const sqlCharsMax = 400;

export class RowTooLarge extends Error {
  override readonly name = 'RowTooLarge';
  readonly bytes: number;
  readonly limit: number;
  constructor(bytes: number, limit: number) {
    super(`a row of ${bytes} bytes is above the limit of ${limit}`);
    this.bytes = bytes;
    this.limit = limit;
  }
}

export interface PartBuilder {
  /** Returns the parts that are full now. @throws RowTooLarge */
  add(effect: Effect): TransactionPayload[];
  /** What was run, for people to read; bounded. */
  addSql(sql: string): void;
  /** The last part. */
  finish(): TransactionPayload;
  readonly isEmpty: boolean;
}

export const createPartBuilder = (options: {
  readonly transaction: string;
  readonly partBytesMax: number;
}): PartBuilder => {
  const room = options.partBytesMax - payloadOverhead - requestOverhead - sqlTextsMax * sqlCharsMax * 4;
  const bytesMax = Math.max(room, 1024);
  const sql: string[] = [];
  let effects: Effect[] = [];
  let bytes = 0;
  let part = 0;

  const cut = (full: TransactionPayload[]): void => {
    if (effects.length === 0) return;
    full.push({ transaction: options.transaction, part, last: false, partSlots: [], effects, sql: [] });
    part += 1;
    effects = [];
    bytes = 0;
  };

  const put = (effect: Effect, size: number, full: TransactionPayload[]): void => {
    const largeMax = bytesMax * largeParts;
    if (size > largeMax) throw new RowTooLarge(size, largeMax);
    if (bytes + size + part * slotBytes > bytesMax) cut(full);
    effects.push(effect);
    bytes += size;
    if (bytes > bytesMax) cut(full);
  };

  return {
    add(effect) {
      const full: TransactionPayload[] = [];
      for (const piece of split(effect, bytesMax)) put(piece, effectBytes(piece), full);
      return full;
    },
    addSql(text) {
      const short = text.length > sqlCharsMax ? `${text.slice(0, sqlCharsMax - 1)}…` : text;
      if (sql.length < sqlTextsMax && sql.at(-1) !== short) sql.push(short);
    },
    finish: () => ({ transaction: options.transaction, part, last: true, partSlots: [], effects, sql }),
    get isEmpty() {
      return part === 0 && effects.length === 0;
    },
  };
};

const textBytes = (text: string): number => Buffer.byteLength(text, 'utf8') + rowOverhead;

const effectBytes = (effect: Effect): number => {
  switch (effect.kind) {
    case 'insert':
    case 'delete':
      return effectOverhead + textBytes(effect.relation) + sum(effect.rows);
    case 'update':
      return effectOverhead + textBytes(effect.relation) + sum(effect.before) + sum(effect.after);
    case 'truncate':
      return effectOverhead + textBytes(effect.relation);
    case 'ddl':
      return (
        effectOverhead +
        textBytes(effect.sql) +
        textBytes(effect.role) +
        sum(Object.entries(effect.settings).flat())
      );
    case 'sequence':
      return effectOverhead + textBytes(effect.relation) + textBytes(effect.lastValue);
    default:
      return unreachable(effect);
  }
};

const sum = (texts: readonly string[]): number => texts.reduce((total, text) => total + textBytes(text), 0);

/** Row effects that are too large for one part, cut between rows. */
const split = (effect: Effect, bytesMax: number): readonly Effect[] => {
  if (effectBytes(effect) <= bytesMax) return [effect];
  switch (effect.kind) {
    case 'insert':
    case 'delete':
      return ranges(effect.rows.map(textBytes), bytesMax).map(([from, to]) => ({
        kind: effect.kind,
        relation: effect.relation,
        rows: effect.rows.slice(from, to),
      }));
    case 'update': {
      const sizes = effect.before.map((row, index) => textBytes(row) + textBytes(effect.after[index] ?? ''));
      return ranges(sizes, bytesMax).map(([from, to]) => ({
        kind: 'update',
        relation: effect.relation,
        before: effect.before.slice(from, to),
        after: effect.after.slice(from, to),
      }));
    }
    case 'truncate':
    case 'ddl':
    case 'sequence':
      return [effect];
    default:
      return unreachable(effect);
  }
};

/** Runs of neighbours whose sizes add up to half a part at most, so that relation and overhead fit in as well. */
const ranges = (sizes: readonly number[], bytesMax: number): [number, number][] => {
  const cuts: [number, number][] = [];
  let from = 0;
  let total = 0;
  for (const [index, size] of sizes.entries()) {
    if (index > from && total + size > bytesMax / 2) {
      cuts.push([from, index]);
      from = index;
      total = 0;
    }
    total += size;
  }
  cuts.push([from, sizes.length]);
  return cuts;
};
