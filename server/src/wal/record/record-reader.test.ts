import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { segmentBytes, walPageBytes, type Lsn } from '../lsn.ts';
import { readRecords, RecordReader } from './record-reader.ts';
import { writeWal, type WalItem } from './testing/synthetic-wal.ts';
import { WalFormatError } from './wal-fault.ts';
import type { WalRecord } from './wal-record.ts';
import { beginWalkAt } from './walk-position.ts';

const start = (5 * segmentBytes) as Lsn;
const items = fc.array(
  fc
    .oneof(fc.nat(400), fc.integer({ min: 8_000, max: 9_000 }), fc.nat(50_000))
    .map((mainBytes): WalItem => ({ kind: 'record', mainBytes })),
  { minLength: 1, maxLength: 30 },
);

describe('a record reader', () => {
  it('gives each record whole, wherever the WAL is cut', () => {
    fc.assert(
      fc.property(items, fc.integer({ min: 30, max: 9_000 }), (items, cut) => {
        const wal = writeWal(start, items);
        const read: (readonly [number, number, number])[] = [];
        const reader = new RecordReader(
          beginWalkAt(start),
          ({ lsn, end, main }) => {
            if (main === null) throw new Error('the data is missing');
            // What the data is made of: its bytes count up by 31.
            const steps = main.subarray(1).findIndex((byte, i) => byte !== ((main[i]! + 31) & 0xff));
            expect(steps).toBe(-1);
            read.push([lsn, end, main.length]);
          },
          { checksums: true },
        );
        for (let at = 0; at < wal.bytes.length; at += cut)
          expect(reader.add(wal.bytes.slice(at, at + cut))).toBeNull();
        const mainBytes = items.map((item) => (item.kind === 'record' ? item.mainBytes : 0));
        expect(read).toEqual(wal.records.map(({ lsn, end }, i) => [lsn, end, mainBytes[i]]));
      }),
      { numRuns: 50 },
    );
  });

  it('tells of a record that has begun', () => {
    const wal = writeWal(start, [{ kind: 'record', mainBytes: 1_000 }]);
    const reader = new RecordReader(beginWalkAt(start), () => undefined);
    reader.add(wal.bytes.subarray(0, 40));
    expect(reader.unfinished).toBeNull();
    reader.add(wal.bytes.subarray(40, 140));
    expect(reader.unfinished).toEqual({ lsn: start + 40, length: 1_029, taken: 100 });
    reader.add(wal.bytes.subarray(140));
    expect(reader.unfinished).toBeNull();
  });

  it('keeps no more of a long record than it may, and reports it without its data', () => {
    const wal = writeWal(start, [
      { kind: 'record', mainBytes: 5 * walPageBytes },
      { kind: 'record', mainBytes: 3 },
    ]);
    const records: WalRecord[] = [];
    const reader = new RecordReader(beginWalkAt(start), (record) => records.push(record), {
      keptBytesMax: 2_000,
    });
    expect(reader.add(wal.bytes)).toBeNull();
    expect(records.map(({ length, mainBytes, main }) => [length, mainBytes, main?.length ?? null])).toEqual([
      [29 + 5 * walPageBytes, 5 * walPageBytes, null],
      [29, 3, 3],
    ]);
  });

  it('says nothing of a record that a crash left unfinished', () => {
    const wal = writeWal(start, [
      { kind: 'record', mainBytes: 10 },
      { kind: 'unfinished', pages: 1 },
      { kind: 'record', mainBytes: 11 },
    ]);
    const records = readRecords(start, wal.bytes, { checksums: true });
    expect(records.map(({ manager, operation }) => `${manager} ${operation}`)).toEqual([
      'LogicalMessage MESSAGE',
      'XLOG OVERWRITE_CONTRECORD',
      'LogicalMessage MESSAGE',
    ]);
  });

  it('finds parts that do not fit the record, even without a checksum', () => {
    const wal = writeWal(start, [{ kind: 'record', mainBytes: 10 }]);
    wal.bytes[40 + 25] = 9;
    expect(() => readRecords(start, wal.bytes)).toThrow(WalFormatError);
    expect(() => readRecords(start, wal.bytes)).toThrow(/its parts take 35 bytes, and it has 36/);
  });
});
