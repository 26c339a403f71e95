/**
 * What a request outside of a block was, in a few letters. A name under which a statement has failed before another one took it is recorded with that of the other: in a repetition the one that failed comes first again, and must not be taken
 * for it.
 *
 * Pure. Kept behind the words of the success, which are one line.
 */
import { createHash } from 'node:crypto';

const digestChars = 16;

export function digestOf(...parts: readonly (Buffer | string)[]): string {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part).update('\0');
  return hash.digest('hex').slice(0, digestChars);
}

/** Of a transaction in a block of the client's own: no statement by itself is one. */
export const ofBlock = 'block';

/** `tag`: how success will be told; null if that cannot be kept. `digest`: null if no statement has failed under the name. */
export function recordOf(tag: string | null, digest: string | null): string | null {
  return digest === null ? tag : `${tag ?? ''}\n${digest}`;
}

/** What was recorded. `tag`: '' if it was not kept. */
export function readRecord(text: string): { readonly tag: string; readonly digest: string | null } {
  const [tag = '', digest = null] = text.split('\n');
  return { tag, digest };
}
