/**
 * The end of a copy: one more file in the tar, `barista-copy.json`, with the number of bytes before it and their SHA-256.
 *
 * Only a copy that ends in its trailer is whole, wherever it was kept or whatever carried it. It stays a tar that any program reads.
 */
import { createHash } from 'node:crypto';
import { SnapshotError } from '../../../ports/snapshot.ts';
import { blockBytes, encodeHeader, paddingAfter } from './tar-header.ts';

export const trailerName = 'barista-copy.json';
export const trailerBytesMax = 4_096;

export interface Trailer {
  readonly bytes: number;
  readonly sha256: string;
}

/** A tar ends in two blocks of zeros: they are held back until the trailer stands before them. */
const endBytes = 2 * blockBytes;

export async function* withTrailer(tar: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
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
    throw new SnapshotError('transferFailed', 'the archive from PostgreSQL does not end as it should');
  }
  const trailer: Trailer = { bytes, sha256: hash.digest('hex') };
  const body = Buffer.from(`${JSON.stringify(trailer)}\n`);
  const padding = Buffer.alloc(paddingAfter(body.length));
  yield Buffer.concat([encodeHeader(trailerName, body.length), body, padding, held]);
}

/** Null if it is not one. */
export function parseTrailer(text: string): Trailer | null {
  try {
    const value = JSON.parse(text) as Partial<Trailer> | null;
    if (typeof value?.bytes !== 'number' || typeof value.sha256 !== 'string') return null;
    return { bytes: value.bytes, sha256: value.sha256 };
  } catch {
    return null;
  }
}
