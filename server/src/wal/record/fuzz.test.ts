/** WAL of PostgreSQL that was changed: with checksums nothing is read that was not written, and without them nothing fails but in our own words; and all of it however it is cut. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { fuzz, fuzzMs, inPieces, mutated, pieceLengths } from '../../ports/testing/fuzz.ts';
import { walPageBytes } from '../lsn.ts';
import { RecordReader } from './record-reader.ts';
import { RecordTracker } from './record-tracker.ts';
import { goldenNames, readGolden } from './testing/golden.ts';
import { readTransactionEnd } from './transaction-end.ts';
import { WalFormatError } from './wal-fault.ts';
import type { WalRecord } from './wal-record.ts';
import { beginWalkAt } from './walk-position.ts';

/** So much of each version's WAL, from its beginning. */
const pages = 6;
const goldens = goldenNames.map((name) => {
  const { start, bytes } = readGolden(name);
  return { name, start, bytes: Buffer.from(bytes.subarray(0, pages * walPageBytes)) };
});

interface Read {
  readonly records: readonly string[];
  readonly fault: string | null;
  readonly next: number;
}

const textOf = (record: WalRecord): string =>
  JSON.stringify({ ...record, main: record.main === null ? null : Buffer.from(record.main).toString('hex') });

function read(
  start: WalRecord['lsn'],
  pieces: readonly Buffer[],
  checksums: boolean,
  onRecord = textOf,
): Read {
  const records: string[] = [];
  const reader = new RecordReader(beginWalkAt(start), (record) => records.push(onRecord(record)), {
    checksums,
  });
  let fault: string | null = null;
  for (const piece of pieces) {
    const found = reader.add(Uint8Array.from(piece));
    fault ??= found === null ? null : `${found.code} ${found.at} ${found.text}`;
  }
  return { records, fault, next: reader.next };
}

describe.each(goldens)('WAL of $name that was changed', ({ start, bytes }) => {
  const written = read(start, [bytes], true).records;
  const changed = mutated([bytes], 3);

  it('was read as it is', () => {
    expect(written.length).toBeGreaterThan(100);
  });

  it(
    'is read up to the change and no further, where checksums are looked at, however it is cut',
    () =>
      fuzz(
        40,
        fc.property(changed, pieceLengths, (wal, lengths) => {
          // No checksum covers what tells the version: that of the first page is known by nothing else.
          fc.pre(wal.subarray(0, 2).equals(bytes.subarray(0, 2)));
          const whole = read(start, [wal], true);
          expect(whole.records).toEqual(written.slice(0, whole.records.length));
          expect(read(start, inPieces(wal, lengths), true)).toEqual(whole);
        }),
      ),
    fuzzMs,
  );

  it(
    'fails with words of our own where they are not, and its transactions are read or not',
    () =>
      fuzz(
        40,
        fc.property(changed, pieceLengths, (wal, lengths) => {
          const looked = (record: WalRecord): string =>
            `${textOf(record)} ${JSON.stringify(readTransactionEnd(record))}`;
          expect(read(start, inPieces(wal, lengths), false, looked)).toEqual(
            read(start, [wal], false, looked),
          );
        }),
      ),
    fuzzMs,
  );

  it(
    'ends at the same record for who follows it range by range',
    () =>
      fuzz(
        40,
        fc.property(changed, pieceLengths, (wal, lengths) => {
          const follow = (pieces: readonly Buffer[]): readonly unknown[] => {
            const tracker = new RecordTracker(beginWalkAt(start), { checksums: true });
            let refusal: unknown = null;
            for (const piece of pieces) {
              try {
                if (refusal === null) tracker.add(tracker.next, piece);
              } catch (error) {
                if (!(error instanceof WalFormatError)) throw error;
                refusal = error.message;
              }
            }
            return [tracker.lastRecordEnd, refusal];
          };
          expect(follow(inPieces(wal, lengths))).toEqual(follow([wal]));
        }),
      ),
    fuzzMs,
  );
});
