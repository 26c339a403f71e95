/**
 * The end of a backup's tar: one more file, `barista-backup.json`, with the number of bytes before it, the position that the database in it has, and the SHA-256 of both.
 *
 * Only a tar that ends in its trailer is whole, wherever it was kept or whatever carried it. It stays a tar that any program reads.
 */
import { createHash } from 'node:crypto';
import { z } from 'zod';
import { CopyError } from '../../../ports/copy.ts';
import { blockBytes, encodeHeader, paddingAfter } from './tar-header.ts';

export const trailerName = 'barista-backup.json';
export const trailerBytesMax = 1024 * 1024;

/** `state`: as in directory-state.ts. */
export interface Trailer {
  readonly bytes: number;
  readonly sha256: string;
  readonly state: string;
}

/** A tar ends in two blocks of zeros: they are held back until the trailer stands before them. */
const endBytes = 2 * blockBytes;

/** `more`: further files of the archive, when all of `tar` has passed; it returns the state. */
export async function* withTrailer(
  tar: AsyncIterable<Buffer>,
  more: () => AsyncGenerator<Buffer, string>,
): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let bytes = 0;
  let held: Buffer = Buffer.alloc(0);
  const pass = (part: Buffer): Buffer => {
    hash.update(part);
    bytes += part.length;
    return part;
  };
  for await (const chunk of tar) {
    const all = held.length === 0 ? chunk : Buffer.concat([held, chunk]);
    const keep = Math.max(0, all.length - endBytes);
    if (keep > 0) yield pass(all.subarray(0, keep));
    held = all.subarray(keep);
  }
  if (held.length !== endBytes || held.some((byte) => byte !== 0)) {
    throw new CopyError('transferFailed', 'the archive from PostgreSQL does not end as it should');
  }
  const rest = more();
  let next = await rest.next();
  for (; next.done !== true; next = await rest.next()) yield pass(next.value);
  const sha256 = hash.update(next.value).digest('hex');
  const trailer: Trailer = { bytes, sha256, state: next.value };
  const body = Buffer.from(`${JSON.stringify(trailer)}\n`);
  const padding = Buffer.alloc(paddingAfter(body.length));
  yield Buffer.concat([encodeHeader(trailerName, body.length), body, padding, held]);
}

const shape = z.strictObject({ bytes: z.number(), sha256: z.string(), state: z.string() });

/** Null if it is not one. */
export function parseTrailer(text: string): Trailer | null {
  try {
    const parsed = shape.safeParse(JSON.parse(text));
    return parsed.success ? parsed.data : null;
  } catch {
    return null;
  }
}
