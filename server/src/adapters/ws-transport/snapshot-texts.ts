/**
 * The texts around the bytes of a snapshot:
 *
 *   source -> fetcher   Begin { begin: { bytesTotal, pointer? } }, then binary pieces, then End { end: { bytes } }
 *                       or, at any time, Failure { failure: { code, message } } and nothing more
 *
 * Responsible for: reading and writing them. Opens no socket.
 */
import type { Slot } from '../../multipaxos/types.ts';
import { type SnapshotErrorCode, SnapshotError } from '../../ports/snapshot.ts';

export type SnapshotText =
  | { readonly begin: { readonly bytesTotal: number | null; readonly pointer?: Slot } }
  | { readonly end: { readonly bytes: number } }
  | { readonly failure: { readonly code: SnapshotErrorCode; readonly message: string } };

const codes = {
  sourceUnavailable: true,
  sourceBusy: true,
  sourceDamaged: true,
  transferFailed: true,
  snapshotInvalid: true,
  noSpace: true,
} as const satisfies Record<SnapshotErrorCode, true>;
const messageCharsMax = 1000;

export function failureOf(error: unknown): SnapshotText {
  const code = error instanceof SnapshotError ? error.code : 'transferFailed';
  const message = error instanceof Error ? error.message : String(error);
  return { failure: { code, message: message.slice(0, messageCharsMax) } };
}

/** Null if it is none of them. */
export function readSnapshotText(text: string): SnapshotText | null {
  let value: unknown = null;
  try {
    if (text.length <= messageCharsMax * 8) value = JSON.parse(text);
  } catch {
    return null;
  }
  const { begin, end, failure } = asObject(value);
  const isCount = (count: unknown): count is number => Number.isSafeInteger(count) && (count as number) >= 0;
  if (begin !== undefined) {
    const { bytesTotal, pointer } = asObject(begin);
    if (bytesTotal !== null && !isCount(bytesTotal)) return null;
    if (pointer === undefined) return { begin: { bytesTotal } };
    return isCount(pointer) ? { begin: { bytesTotal, pointer: pointer as Slot } } : null;
  }
  if (end !== undefined) {
    const { bytes } = asObject(end);
    return isCount(bytes) ? { end: { bytes } } : null;
  }
  const { code, message } = asObject(failure);
  return isCode(code) && typeof message === 'string' ? { failure: { code, message } } : null;
}

function isCode(code: unknown): code is SnapshotErrorCode {
  return typeof code === 'string' && Object.hasOwn(codes, code);
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
