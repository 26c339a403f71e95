import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { segmentBytes, walPageBytes, type Lsn } from '../lsn.ts';
import { findEndOfWal, type ReadWalAt } from './end-of-wal.ts';
import { writeWal, type SyntheticWal, type WalItem } from './testing/synthetic-wal.ts';

const start = (4 * segmentBytes) as Lsn;
const someItems = fc.array(
  fc.oneof(fc.nat(300), fc.nat(30_000)).map((mainBytes): WalItem => ({ kind: 'record', mainBytes })),
  { minLength: 2, maxLength: 30 },
);

/** `wal` from its start, and behind it what `after` has there, up to the end of the segment. */
function files({ bytes, start }: SyntheticWal, after: Uint8Array = new Uint8Array(segmentBytes)): ReadWalAt {
  const all = new Uint8Array(Math.ceil(bytes.length / segmentBytes) * segmentBytes);
  all.set(after.subarray(0, all.length));
  all.set(bytes);
  return (lsn, bytesMax) =>
    Promise.resolve(all.subarray(lsn - start, Math.min(lsn - start + bytesMax, all.length)));
}

describe('the end of the WAL in files', () => {
  it('is that of the last record, found from the end of any record before', async () => {
    await fc.assert(
      fc.asyncProperty(someItems, fc.nat(), async (items, pick) => {
        const wal = writeWal(start, items);
        const from = wal.records[pick % wal.records.length]!.end;
        const last = wal.records.at(-1)!;
        expect(await findEndOfWal(files(wal), from)).toMatchObject({
          code: 'found',
          end: last.end,
          lastRecordStart: last.lsn,
          fault: { code: 'zeros' },
        });
      }),
      { numRuns: 12 },
    );
  });

  it('lies before a record that is cut off or damaged', async () => {
    await fc.assert(
      fc.asyncProperty(someItems, fc.nat(), fc.boolean(), async (items, pick, isCut) => {
        const wal = writeWal(start, items);
        const victim = 1 + (pick % (wal.records.length - 1));
        const { lastByte } = wal.records[victim]!;
        const at = lastByte - 1 - start;
        if (isCut) wal.bytes.fill(0, at);
        else wal.bytes[at] = wal.bytes[at]! ^ 0x10;
        // A last byte that is 0 by itself is not cut off by zeros.
        fc.pre(isCut ? writeWal(start, items).bytes[at] !== 0 : true);
        const before = wal.records[victim - 1]!;
        const found = await findEndOfWal(files(wal), wal.records[0]!.end);
        expect(found).toMatchObject({ code: 'found', end: before.end, lastRecordStart: before.lsn });
      }),
      { numRuns: 12 },
    );
  });

  it('is not deceived by what a segment held when it was used before', async () => {
    await fc.assert(
      fc.asyncProperty(
        someItems,
        fc.array(fc.nat(300), { minLength: 200, maxLength: 400 }),
        async (items, others) => {
          const wal = writeWal(start, items);
          // The same place in an earlier segment, with records that end where those of the newer WAL do, or not.
          const past = writeWal((start - 2 * segmentBytes) as Lsn, [
            ...items,
            ...others.map((mainBytes): WalItem => ({ kind: 'record', mainBytes })),
          ]);
          const last = wal.records.at(-1)!;
          const found = await findEndOfWal(files(wal, past.bytes), wal.records[0]!.end);
          expect(found).toMatchObject({ code: 'found', end: last.end });
          const fromTheEnd = await findEndOfWal(files(wal, past.bytes), last.end);
          expect(fromTheEnd).toMatchObject({ code: 'found', end: last.end });
        },
      ),
      { numRuns: 12 },
    );
  });

  it('is the end of the segment after a switch, whether there is a next file or not', async () => {
    const wal = writeWal(start, [{ kind: 'record', mainBytes: 9 }, { kind: 'switch' }]);
    const from = wal.records[0]!.end;
    const end = start + segmentBytes;
    expect(await findEndOfWal(files(wal), from)).toMatchObject({ code: 'found', end, fault: null });
    const withNext = { ...wal, bytes: new Uint8Array(2 * segmentBytes) };
    withNext.bytes.set(wal.bytes);
    expect(await findEndOfWal(files(withNext), from)).toMatchObject({
      code: 'found',
      end,
      fault: { code: 'zeros' },
    });
  });

  it('goes on into the next file', async () => {
    const before = writeWal((start - 3 * walPageBytes) as Lsn, [
      { kind: 'record', mainBytes: 2 * walPageBytes },
      { kind: 'record', mainBytes: 4 * walPageBytes },
      { kind: 'record', mainBytes: 1 },
    ]);
    // From the segment's start on, in the middle of a record.
    const wal = { ...before, start, bytes: before.bytes.subarray(3 * walPageBytes) };
    const [, second, third] = before.records;
    expect(await findEndOfWal(files(wal), second!.end)).toMatchObject({ code: 'found', end: third!.end });
  });

  it('is found from the middle of a record, where a page begins', async () => {
    const wal = writeWal(start, [
      { kind: 'record', mainBytes: 100 },
      { kind: 'record', mainBytes: 3 * walPageBytes },
    ]);
    const from = (start + 2 * walPageBytes) as Lsn;
    const [first, second] = wal.records;
    expect(await findEndOfWal(files(wal), from)).toMatchObject({ code: 'found', end: second!.end });
    // As after a crash: what was flushed is there, and the next page was written in part.
    wal.bytes.fill(0xee, 2 * walPageBytes + 512);
    expect(await findEndOfWal(files(wal), from)).toMatchObject({ code: 'found', end: first!.end });
  });

  it('is looked for in earlier files if a record is longer than one', async () => {
    const wal = writeWal(start, [
      { kind: 'record', mainBytes: 10 },
      { kind: 'record', mainBytes: 2 * segmentBytes },
    ]);
    const from = (start + segmentBytes + walPageBytes) as Lsn;
    wal.bytes.fill(0, from + walPageBytes - start);
    expect(await findEndOfWal(files(wal), from)).toMatchObject({ code: 'found', end: wal.records[0]!.end });
  });

  it('is not found if what was known to be valid is not there', async () => {
    const wal = writeWal(start, [
      { kind: 'record', mainBytes: 100 },
      { kind: 'record', mainBytes: 100 },
    ]);
    const beyond = (wal.records[1]!.end + 64) as Lsn;
    expect(await findEndOfWal(files(wal), beyond)).toMatchObject({ code: 'short', fault: { code: 'zeros' } });
    const nothing: ReadWalAt = () => Promise.resolve(new Uint8Array(0));
    expect(await findEndOfWal(nothing, (start + 80) as Lsn)).toEqual({ code: 'short', fault: null });
  });
});
