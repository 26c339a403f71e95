import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { segmentBytes, walPageBytes, type Lsn } from '../lsn.ts';
import { RecordTracker } from './record-tracker.ts';
import { writeWal, type SyntheticWal, type WalItem } from './testing/synthetic-wal.ts';
import { WalFormatError } from './wal-fault.ts';
import { beginWalkAt } from './walk-position.ts';

const lsn = (position: number): Lsn => position as Lsn;
/** Three pages before the end of a segment, so that what is written goes over it. */
const start = lsn(2 * segmentBytes - 3 * walPageBytes);

const record = fc.oneof(
  { weight: 12, arbitrary: fc.nat(300) },
  { weight: 2, arbitrary: fc.integer({ min: 7_900, max: 8_300 }) },
  { weight: 1, arbitrary: fc.nat(40_000) },
);
const item: fc.Arbitrary<WalItem> = fc.oneof(
  { weight: 20, arbitrary: record.map((mainBytes): WalItem => ({ kind: 'record', mainBytes })) },
  { weight: 1, arbitrary: fc.nat(2).map((pages): WalItem => ({ kind: 'unfinished', pages })) },
);
const someItems = fc.array(item, { minLength: 1, maxLength: 60 });
/** At most one switch, for after it come 16 MB of nothing. */
const itemsWithSwitch = fc
  .tuple(fc.array(item, { maxLength: 20 }), fc.array(item, { maxLength: 5 }))
  .map(([before, after]) => before.concat({ kind: 'switch' }, after));

/** What PostgreSQL would take for the end of the WAL if it ended at `end`. */
function expectedEnd({ records, start }: SyntheticWal, end: number): number {
  return records.findLast((record) => record.lastByte <= end)?.end ?? start;
}

function track(wal: SyntheticWal, cuts: readonly number[], checksums = false): RecordTracker {
  const tracker = new RecordTracker(beginWalkAt(wal.start), { checksums });
  addFrom(tracker, wal, wal.start, cuts);
  return tracker;
}

/** From `from` on, in pieces of these lengths, again and again. */
function addFrom(
  tracker: RecordTracker,
  { start, bytes }: SyntheticWal,
  from: number,
  cuts: readonly number[],
): void {
  let at = from - start;
  for (let piece = 0; at < bytes.length; piece += 1) {
    const end = at + cuts[piece % cuts.length]!;
    tracker.add(lsn(start + at), bytes.subarray(at, end));
    at = Math.min(end, bytes.length);
  }
}

/** Where in `bytes` the bytes of a record are, without those of page headers. */
function bytesOf({ start }: SyntheticWal, from: number, to: number): number[] {
  const out: number[] = [];
  for (let at = from; at < to; at += 1) {
    const headerBytes = Math.floor(at / walPageBytes) % (segmentBytes / walPageBytes) === 0 ? 40 : 24;
    if (at % walPageBytes >= headerBytes) out.push(at - start);
  }
  return out;
}

function faultOf(run: () => void): unknown {
  try {
    run();
    return null;
  } catch (error) {
    if (error instanceof WalFormatError) return error.fault;
    throw error;
  }
}

describe('a record tracker', () => {
  it('knows the end of the last whole record after each byte', () => {
    fc.assert(
      fc.property(fc.array(item, { minLength: 1, maxLength: 8 }), (items) => {
        const wal = writeWal(start, items);
        const tracker = new RecordTracker(beginWalkAt(start));
        const headerBytes = 24;
        const wrong: number[] = [];
        for (let at = 0; at < wal.bytes.length; at += 1) {
          tracker.add(lsn(start + at), wal.bytes.subarray(at, at + 1));
          const expected = at + 1 < headerBytes ? null : expectedEnd(wal, start + at + 1);
          if (tracker.lastRecordEnd !== expected) wrong.push(at);
        }
        expect(wrong).toEqual([]);
      }),
      { numRuns: 30 },
    );
  });

  it('comes to the same wherever the WAL is cut', () => {
    const cuts = fc.array(fc.oneof(fc.integer({ min: 1, max: 40 }), fc.integer({ min: 1, max: 20_000 })), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(someItems, cuts, fc.boolean(), (items, cuts, checksums) => {
        const wal = writeWal(start, items);
        const tracker = track(wal, cuts, checksums);
        expect(tracker.position).toEqual(track(wal, [wal.bytes.length]).position);
        expect(tracker.lastRecordEnd).toBe(wal.records.at(-1)?.end ?? start);
        expect(tracker.position.lastRecordStart).toBe(wal.records.at(-1)?.lsn ?? null);
      }),
    );
  });

  it('counts the empty rest of a segment to the record that switched', () => {
    fc.assert(
      fc.property(itemsWithSwitch, fc.integer({ min: 1_000, max: 300_000 }), (items, cut) => {
        const wal = writeWal(start, items);
        const tracker = new RecordTracker(beginWalkAt(start), { checksums: true });
        for (let at = 0; at < wal.bytes.length; at += cut) {
          tracker.add(lsn(start + at), wal.bytes.subarray(at, at + cut));
          expect(tracker.lastRecordEnd).toBe(
            expectedEnd(wal, Math.min(start + at + cut, start + wal.bytes.length)),
          );
        }
      }),
      { numRuns: 15 },
    );
  });

  it('begins at any page, and knows the end as soon as a record has ended', () => {
    fc.assert(
      fc.property(someItems, fc.nat(100), fc.integer({ min: 1, max: 300 }), (items, page, cuts) => {
        const wal = writeWal(start, items);
        const cut = Math.ceil(wal.bytes.length / cuts);
        const pages = Math.ceil(wal.bytes.length / walPageBytes);
        const from = lsn(start + (page % pages) * walPageBytes);
        const tracker = new RecordTracker(beginWalkAt(from));
        for (let at: number = from - start; at < wal.bytes.length; at += cut) {
          tracker.add(lsn(start + at), wal.bytes.subarray(at, at + cut));
          const expected = expectedEnd(wal, Math.min(start + at + cut, start + wal.bytes.length));
          expect([null, expected]).toContain(tracker.lastRecordEnd);
        }
        const end = expectedEnd(wal, start + wal.bytes.length);
        expect(tracker.lastRecordEnd).toBe(end > from ? end : tracker.lastRecordEnd);
      }),
    );
  });

  it('goes on from the position of another one, at the end of a record or of a page', () => {
    fc.assert(
      fc.property(someItems, fc.nat(100), (items, pick) => {
        const wal = writeWal(start, items);
        const boundaries = wal.records.map(({ end }) => end as number);
        for (let page = start + walPageBytes; page < start + wal.bytes.length; page += walPageBytes)
          boundaries.push(page);
        const at = boundaries[pick % boundaries.length] ?? start;
        const first = track({ ...wal, bytes: wal.bytes.subarray(0, at - start) }, [5_000]);
        const second = new RecordTracker(first.position);
        expect(second.lastRecordEnd).toBe(first.lastRecordEnd);
        addFrom(second, wal, at, [777]);
        addFrom(first, wal, at, [wal.bytes.length]);
        expect([second.next, second.lastRecordEnd]).toEqual([first.next, first.lastRecordEnd]);
      }),
    );
  });

  it('finds a byte that is altered, if it is told to look at checksums', () => {
    fc.assert(
      fc.property(someItems, fc.nat(), fc.integer({ min: 1, max: 255 }), (items, pick, mask) => {
        // One that has grown to the next page may seem to be what was given up there: then WAL goes on behind it.
        fc.pre(!items.some(({ kind }) => kind === 'unfinished'));
        const wal = writeWal(start, items);
        const record = wal.records[pick % wal.records.length]!;
        const meant = bytesOf(wal, record.lsn, record.lastByte);
        const at = meant[Math.floor(pick / wal.records.length) % meant.length]!;
        const bytes = wal.bytes.slice();
        bytes[at] = bytes[at]! ^ mask;
        const tracker = new RecordTracker(beginWalkAt(start), { checksums: true });
        // A length that has grown beyond the end is no fault yet, but the record is not whole.
        faultOf(() => tracker.add(start, bytes));
        expect(tracker.lastRecordEnd).toBeLessThanOrEqual(record.lsn);
      }),
    );
  });

  it('is at the same fault wherever the WAL is cut', () => {
    const numbers = fc.tuple(fc.nat(), fc.integer({ min: 1, max: 255 }), fc.integer({ min: 1, max: 500 }));
    fc.assert(
      fc.property(someItems, numbers, (items, [pick, mask, cut]) => {
        const wal = writeWal(start, items);
        const at = pick % wal.bytes.length;
        wal.bytes[at] = wal.bytes[at]! ^ mask;
        const whole = faultOf(() => track(wal, [wal.bytes.length], true));
        expect(faultOf(() => track(wal, [cut], true))).toEqual(whole);
      }),
    );
  });

  it.each([8, 16])(
    'knows a switch of which only the last %i bytes are on the page where it begins',
    (tail) => {
      // A record that leaves 24 bytes less the tail on the first page: its own header and that of its data take 29.
      const mainBytes = walPageBytes - 24 - 29 - (24 - tail);
      const wal = writeWal(start, [
        { kind: 'record', mainBytes },
        { kind: 'switch' },
        { kind: 'record', mainBytes: 10 },
      ]);
      const [, aSwitch, last] = wal.records;
      expect(aSwitch!.lsn).toBe(start + walPageBytes - (24 - tail));
      const from = lsn(start + walPageBytes);
      const tracker = new RecordTracker(beginWalkAt(from));
      tracker.add(from, wal.bytes.subarray(walPageBytes, walPageBytes + 24 + tail));
      // It may be another record, whose last bytes look like that.
      expect(tracker.lastRecordEnd).toBeNull();
      tracker.add(tracker.next, wal.bytes.subarray(walPageBytes + 24 + tail, walPageBytes + 40 + tail));
      expect(tracker.lastRecordEnd).toBe(aSwitch!.end);
      tracker.add(tracker.next, wal.bytes.subarray(walPageBytes + 40 + tail));
      expect(tracker.lastRecordEnd).toBe(last!.end);
    },
  );

  it('takes for no switch a record whose last bytes look like one, if another follows', () => {
    // Its last 8 bytes, on the second page, are those of a switch.
    const mainBytes = walPageBytes - 24 - 29 + 8;
    const wal = writeWal(start, [
      { kind: 'record', mainBytes },
      { kind: 'record', mainBytes: 10 },
    ]);
    wal.bytes.set([0x40, 0], walPageBytes + 24);
    const from = lsn(start + walPageBytes);
    const tracker = new RecordTracker(beginWalkAt(from));
    tracker.add(from, wal.bytes.subarray(walPageBytes, walPageBytes + 32));
    expect(tracker.lastRecordEnd).toBeNull();
    tracker.add(tracker.next, wal.bytes.subarray(walPageBytes + 32, walPageBytes + 36));
    expect(tracker.lastRecordEnd).toBe(wal.records[0]!.end);
    tracker.add(tracker.next, wal.bytes.subarray(walPageBytes + 36));
    expect(tracker.lastRecordEnd).toBe(wal.records[1]!.end);
  });

  it('goes on with another timeline at the end of the last whole record', () => {
    fc.assert(
      fc.property(someItems, someItems, fc.nat(), (items, others, pick) => {
        const old = writeWal(start, items);
        const end = pick % old.bytes.length;
        const tracker = track({ ...old, bytes: old.bytes.subarray(0, end) }, [9_000]);
        const fork = tracker.lastRecordEnd;
        fc.pre(fork !== null);
        // The new timeline's WAL has the same beginning, as if its leader had written it.
        const same = old.records.filter((record) => record.end <= fork);
        const wal = writeWal(start, [...items.slice(0, same.length), ...others]);
        tracker.fork(fork);
        expect(tracker.next).toBe(fork);
        addFrom(tracker, wal, fork, [1_000]);
        expect(tracker.lastRecordEnd).toBe(wal.records.at(-1)!.end);
      }),
    );
  });

  it('forgets the beginning of a page when it forks below it', () => {
    const wal = writeWal(start, [
      { kind: 'record', mainBytes: 50 },
      { kind: 'record', mainBytes: 2 * walPageBytes },
    ]);
    const tracker = track({ ...wal, bytes: wal.bytes.subarray(0, walPageBytes + 10) }, [walPageBytes]);
    tracker.fork(wal.records[0]!.end);
    addFrom(tracker, wal, wal.records[0]!.end, [5_000]);
    expect(tracker.lastRecordEnd).toBe(wal.records[1]!.end);
  });

  it('does not begin with a record that is said to follow one above it', () => {
    const wal = writeWal(start, [{ kind: 'record', mainBytes: 50 }]);
    new DataView(wal.bytes.buffer).setUint32(24 + 8, start + 24, true);
    const tracker = new RecordTracker(beginWalkAt(start));
    expect(faultOf(() => tracker.add(start, wal.bytes))).toMatchObject({
      code: 'recordHeader',
      at: start + 24,
    });
    expect([tracker.next, tracker.lastRecordEnd]).toEqual([start + 24, start]);
  });

  it('refuses to fork anywhere but at the end of the last whole record', () => {
    const wal = writeWal(start, [
      { kind: 'record', mainBytes: 100 },
      { kind: 'record', mainBytes: 100 },
    ]);
    const [first, second] = wal.records;
    const tracker = track(wal, [50]);
    expect(() => tracker.fork(first!.end)).toThrow(/end of the last whole record is at/);
    tracker.fork(second!.end);
    expect(() => new RecordTracker(beginWalkAt(start)).fork(start)).toThrow(/is not known$/);
  });

  it('refuses a range that does not begin where the last one ended', () => {
    const tracker = track(writeWal(start, [{ kind: 'record', mainBytes: 8 }]), [10]);
    expect(() => tracker.add(lsn(tracker.next + 8), new Uint8Array(8))).toThrow(/is next$/);
    expect(() => tracker.add(lsn(tracker.next - 8), new Uint8Array(8))).toThrow(/is next$/);
  });

  it('begins nowhere but at a page or a record', () => {
    const position = { next: lsn(start + 64), lastRecordEnd: lsn(start + 56), lastRecordStart: null };
    expect(() => new RecordTracker(position)).toThrow(/neither a page nor a record/);
  });
});
