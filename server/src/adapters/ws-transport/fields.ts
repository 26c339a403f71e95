/**
 * Checks of single fields of what a peer sent.
 *
 * Responsible for: turning an unknown value into one of a known type and within bounds, or a FrameError. Knows no message.
 */
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';

export class FrameError extends Error {
  override readonly name = 'FrameError';
  readonly code = 'malformedFrame';
}

export type Fields = Readonly<Record<string, unknown>>;

export const nameCharsMax = 64;
export const clientCharsMax = 256;
/** More entries than any window or catch-up may hold. */
export const entriesMax = 131_072;

export function object(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FrameError(`${what} is not a map`);
  return value as Fields;
}

export function list(value: unknown, itemsMax: number, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new FrameError(`${what} is not a list`);
  if (value.length > itemsMax) throw new FrameError(`${what} has more than ${itemsMax} items`);
  return value as readonly unknown[];
}

export function integer(value: unknown, what: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw new FrameError(`${what} is not a whole number`);
  return value as number;
}

/** PostgreSQL's full one, of 64 bits, in decimal. */
export function transactionId(value: unknown, what: string): string {
  if (typeof value !== 'string' || !/^\d{1,20}$/.test(value))
    throw new FrameError(`${what} is not the id of a transaction`);
  return value;
}

export function slot(value: unknown, what: string): Slot {
  return integer(value, what) as Slot;
}

export function time(value: unknown, what: string): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new FrameError(`${what} is not a time`);
  return value;
}

export function text(value: unknown, charsMax: number, what: string): string {
  if (typeof value !== 'string' || value.length > charsMax)
    throw new FrameError(`${what} is not a short text`);
  return value;
}

export function bytes(value: unknown, what: string): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new FrameError(`${what} is no bytes`);
  return value;
}

/** The name of a replica or of an incarnation. */
export function name(value: unknown, what: string): ReplicaId {
  const read = text(value, nameCharsMax, what);
  if (read === '') throw new FrameError(`${what} is empty`);
  return read as ReplicaId;
}

export function bool(value: unknown, what: string): boolean {
  if (typeof value !== 'boolean') throw new FrameError(`${what} is not true or false`);
  return value;
}

/** One of a few words. */
export function word<Word extends string>(value: unknown, words: readonly Word[], what: string): Word {
  const read = words.find((known) => known === value);
  if (read === undefined) throw new FrameError(`${what} is none of ${words.join(', ')}`);
  return read;
}
