/**
 * What is recorded with a name: the words in which success is told again, and, where something has failed under the name before, a few letters of what took it (attempt.ts).
 *
 * Pure. The letters are kept behind the words, which are one line.
 */
import { createHash } from 'node:crypto';

export const digestChars = 16;

/** Of a transaction that is not known in full. No other one counts as its repetition. */
export const unknownDigest = 'unknown';

export function digestOf(...parts: readonly (Buffer | string)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex').slice(0, digestChars);
}

/** `tag`: how success will be told; null if that cannot be kept. `digest`: null if nothing has failed under the name. */
export function recordOf(tag: string | null, digest: string | null): string | null {
  return digest === null ? tag : `${tag ?? ''}\n${digest}`;
}

/** What was recorded. `tag`: '' if it was not kept. */
export function readRecord(text: string): { readonly tag: string; readonly digest: string | null } {
  const [tag = '', digest = null] = text.split('\n');
  return { tag, digest };
}

/** Whether a transaction with this digest is the one that was recorded so, as far as can be told. */
export function isSame(recorded: string | null, digest: string): boolean {
  return recorded === null || (recorded === digest && digest !== unknownDigest);
}
