import { expect, it } from 'vitest';
import { segmentBytes, walPageBytes, type Lsn, type Timeline } from '../../wal/lsn.ts';
import { encodeRecord, type NewRecord } from '../../wal/record/testing/encode-record.ts';
import { CommitReader } from './commit-reader.ts';
import { recordOf } from './testing/model-records.ts';

const segment = (2 * segmentBytes) as Lsn;

/** A switch on the first page of a segment, and behind it, at the beginning of the next one, the commit of 743. `restOf`: what the rest of the segment holds on each of its pages. */
function switchedWal(restOf: (page: Lsn) => Buffer): Buffer {
  const switched: NewRecord = { manager: 0, info: 0x40, xid: 0n, main: new Uint8Array() };
  const place = { timeline: 1 as Timeline, system: 7n };
  const first = encodeRecord({ at: segment, previous: 0 as Lsn, ...place }, switched);
  const next = (segment + segmentBytes) as Lsn;
  const commit = encodeRecord(
    { at: next, previous: first.start, ...place },
    recordOf({ kind: 'commit', xid: 743n }),
  );
  const all = Buffer.alloc(segmentBytes + commit.bytes.length);
  all.set(first.bytes);
  for (let at = walPageBytes; at < segmentBytes; at += walPageBytes)
    all.set(restOf((segment + at) as Lsn), at);
  all.set(commit.bytes, segmentBytes);
  return all;
}

/** The header of a page that the file held before. */
function oldPage(page: Lsn): Buffer {
  const header = Buffer.alloc(24);
  header.writeUInt16LE(0xd118, 0);
  header.writeUInt32LE(1, 4);
  header.writeBigUInt64LE(BigInt(page - segmentBytes), 8);
  return header;
}

it.each([
  ['zeros', () => Buffer.alloc(0)],
  ['old pages', oldPage],
])('a leadership that is resumed behind a switch of segments reads on in the next one: %s', (_, restOf) => {
  const wal = switchedWal(restOf);
  const last = segmentBytes / walPageBytes - 1;
  // The pages at which reading begins, and in which pieces the WAL comes.
  for (const [page, bytes] of [
    [1, 10_000_000],
    [7, 3000],
    [last, 10],
  ] as const) {
    const start = (segment + page * walPageBytes) as Lsn;
    const reader = new CommitReader(start, () => 700n);
    const found: string[] = [];
    for (let at = start - segment; at < wal.length; at += bytes)
      found.push(...reader.take([wal.subarray(at, at + bytes)]));
    const next = segment + wal.length;
    expect({ found, fault: reader.fault, next: reader.next }).toEqual({ found: ['743'], fault: null, next });
  }
});

it('a page without a header anywhere else is no WAL', () => {
  const wal = switchedWal(() => Buffer.alloc(0));
  wal.fill(0, segmentBytes);
  const reader = new CommitReader((segment + walPageBytes) as Lsn, () => 700n);
  expect(reader.take([wal.subarray(walPageBytes)])).toEqual([]);
  expect(reader.fault?.code).toBe('zeros');
});
