import { readFileSync } from 'node:fs';
import { gunzipSync } from 'node:zlib';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Lsn } from '../../../wal/lsn.ts';
import {
  absentEvidence,
  decodeEvidence,
  encodeEvidence,
  type Evidence,
  evidenceOf,
  isEqualBy,
  noEvidence,
} from './evidence.ts';
import type { FileClass } from './file-class.ts';
import { pageBytes, pageChecksum, pageLsn } from './page.ts';

const golden = gunzipSync(readFileSync(new URL('goldens/pages.gz', import.meta.url)));
/** Of a table, block 2 of its relation. */
const page = golden.subarray(0, pageBytes);
const sequence = golden.subarray(2 * pageBytes);
const lsn = pageLsn(page, 0);
const relation: FileClass = { kind: 'relation', firstBlock: 0 };
const bytes: FileClass = { kind: 'bytes' };

function evidence(
  of: Buffer,
  block: number,
  file: FileClass,
  byPosition = true,
  length = pageBytes,
): Evidence {
  return evidenceOf(of, 0, { length, block, file, byPosition });
}

/** As PostgreSQL leaves it after a hint: another byte, another checksum, the same position. */
function hinted(original: Buffer, block: number): Buffer {
  const changed = Buffer.from(original);
  changed[6000] = (changed[6000] ?? 0) ^ 1;
  changed.writeUInt16LE(pageChecksum(changed, 0, block), 8);
  return changed;
}

describe('a page is judged', () => {
  it('by its position', () => {
    expect(evidence(page, 2, relation)).toEqual({ kind: 'lsn', lsn });
    expect(evidence(page, 2, { kind: 'relation', firstBlock: 1 }).kind).toBe('none');
    expect(evidence(page, 1, { kind: 'relation', firstBlock: 1 }).kind).toBe('lsn');
  });

  it('by its hash where positions are not to be believed, or mean nothing', () => {
    expect(evidence(page, 2, relation, false).kind).toBe('hash');
    expect(evidence(page, 2, bytes).kind).toBe('hash');
    expect(evidence(page, 2, { kind: 'wal' }).kind).toBe('hash');
    expect(evidence(sequence, 0, relation).kind).toBe('hash');
    expect(evidence(Buffer.alloc(pageBytes), 5, relation).kind).toBe('hash');
    expect(evidence(page, 2, relation, true, 4000).kind).toBe('hash');
  });

  it('by nothing if it is damaged, whatever its position says', () => {
    const torn = Buffer.from(page).fill(7, pageBytes / 2);
    for (const byPosition of [true, false]) {
      expect(evidence(torn, 2, relation, byPosition)).toBe(noEvidence);
    }
    // Without checksums of its own there is no telling: by its hash.
    expect(evidence(torn, 2, bytes).kind).toBe('hash');
  });
});

describe('a block of the source', () => {
  it('is the target’s if its position is, or all its bytes are', () => {
    const other = hinted(page, 2);
    const byPosition = evidence(page, 2, relation);
    expect(isEqualBy(byPosition, page, 0, pageBytes)).toBe(true);
    expect(isEqualBy(byPosition, other, 0, pageBytes)).toBe(true);
    expect(isEqualBy(byPosition, sequence, 0, pageBytes)).toBe(false);
    expect(isEqualBy(byPosition, page, 0, 100)).toBe(false);
    const byHash = evidence(page, 2, bytes);
    expect(isEqualBy(byHash, page, 0, pageBytes)).toBe(true);
    expect(isEqualBy(byHash, other, 0, pageBytes)).toBe(false);
    expect(isEqualBy(byHash, page, 0, pageBytes - 1)).toBe(false);
  });

  it('is never the target’s that is damaged, and if there is none only where it is zeros', () => {
    expect(isEqualBy(noEvidence, page, 0, pageBytes)).toBe(false);
    expect(isEqualBy(absentEvidence, page, 0, pageBytes)).toBe(false);
    expect(isEqualBy(absentEvidence, Buffer.alloc(pageBytes), 0, pageBytes)).toBe(true);
    expect(isEqualBy(absentEvidence, Buffer.alloc(pageBytes), 0, 100)).toBe(false);
  });
});

it('evidence comes out as it went in, and what was cut short is none', () => {
  const one = fc.oneof(
    fc.constant(noEvidence),
    fc.maxSafeNat().map((value): Evidence => ({ kind: 'lsn', lsn: value as Lsn })),
    fc
      .uint8Array({ minLength: 16, maxLength: 16 })
      .map((value): Evidence => ({ kind: 'hash', hash: Buffer.from(value) })),
  );
  fc.assert(
    fc.property(fc.array(one, { maxLength: 50 }), fc.nat(), (list, cut) => {
      const encoded = encodeEvidence(list);
      expect(decodeEvidence(encoded)).toEqual(list);
      const short = encoded.subarray(0, encoded.length === 0 ? 0 : cut % encoded.length);
      expect(countIn(short)).toBeLessThanOrEqual(list.length);
    }),
  );
  expect(() => decodeEvidence(Buffer.from([9]))).toThrow(/unknown kind 9/);
});

/** 0 if it is none. */
function countIn(encoded: Buffer): number {
  try {
    return decodeEvidence(encoded).length;
  } catch (error) {
    if (error instanceof RangeError) return 0;
    throw error;
  }
}
