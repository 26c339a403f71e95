/**
 * The texts around the bytes of a copy's channel:
 *
 *   listener -> dialler   Begin { begin: true }, when the copy may begin; or Failure { failure: { code, message } }, and nothing more
 *   either                then binary pieces, and End { end: { bytes } } after the last one
 *
 * Responsible for: reading and writing them. Opens no socket.
 */
import type { CopyError, CopyErrorCode } from '../../ports/copy.ts';

export type CopyText =
  | { readonly begin: true }
  | { readonly end: { readonly bytes: number } }
  | { readonly failure: { readonly code: CopyErrorCode; readonly message: string } };

const codes = {
  sourceUnavailable: true,
  sourceBusy: true,
  sourceDamaged: true,
  unlike: true,
  transferFailed: true,
  copyInvalid: true,
  tooOld: true,
  noSpace: true,
} as const satisfies Record<CopyErrorCode, true>;
const messageCharsMax = 1000;

export function failureOf({ code, message }: CopyError): CopyText {
  return { failure: { code, message: message.slice(0, messageCharsMax) } };
}

/** Null if it is none of them. */
export function readCopyText(text: string): CopyText | null {
  let value: unknown = null;
  try {
    if (text.length <= messageCharsMax * 8) value = JSON.parse(text);
  } catch {
    return null;
  }
  const { begin, end, failure } = asObject(value);
  if (begin === true) return { begin };
  if (end !== undefined) {
    const { bytes } = asObject(end);
    return Number.isSafeInteger(bytes) && (bytes as number) >= 0 ? { end: { bytes: bytes as number } } : null;
  }
  const { code, message } = asObject(failure);
  return isCode(code) && typeof message === 'string' ? { failure: { code, message } } : null;
}

function isCode(code: unknown): code is CopyErrorCode {
  return typeof code === 'string' && Object.hasOwn(codes, code);
}

function asObject(value: unknown): Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
