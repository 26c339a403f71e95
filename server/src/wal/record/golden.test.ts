/** WAL that PostgreSQL 15, 16, 17 and 18 wrote, read as their own pg_walinspect reads it. */
import { describe, expect, it } from 'vitest';
import { walPageBytes, type Lsn } from '../lsn.ts';
import { lastRecordEnd, RecordTracker } from './record-tracker.ts';
import { readRecords, RecordReader } from './record-reader.ts';
import { describeRecord, goldenNames, readGolden } from './testing/golden.ts';
import { readTransactionEnd, type TransactionEnd } from './transaction-end.ts';
import type { WalRecord } from './wal-record.ts';
import { beginWalkAt } from './walk-position.ts';

describe.each(goldenNames)('WAL of %s', (name) => {
  const golden = readGolden(name);
  const { start, bytes } = golden;
  const records = readRecords(start, bytes, { checksums: true });

  it('has the records that pg_walinspect finds', () => {
    expect(records.length).toBe(golden.records.length);
    expect(records.map((record, i) => describeRecord(record, golden.records[i]!.description))).toEqual(
      golden.records,
    );
    expect(records.every(({ version }) => version === Number.parseInt(golden.version, 10))).toBe(true);
  });

  it('has transactions that end as pg_walinspect says', () => {
    const ends = records.map(readTransactionEnd);
    const kinds = new Set(ends.map((end) => end?.kind));
    expect(kinds).toEqual(
      new Set([undefined, 'commit', 'abort', 'prepare', 'commitPrepared', 'abortPrepared']),
    );
    const described = golden.records.filter(({ manager }) => manager === 'Transaction');
    expect(ends.flatMap((end) => (end === null ? [] : [summaryOf(end)]))).toEqual(
      described.map(parseDescription),
    );
    const names = ends.flatMap((end) => (end?.kind === 'prepare' ? [end.name] : []));
    expect(names).toEqual(['one that is kept', 'one that is lost']);
  });

  it('has the same records in pieces of one byte', () => {
    const read: WalRecord[] = [];
    const reader = new RecordReader(beginWalkAt(start), (record) => read.push(record), { checksums: true });
    const end = golden.records.findIndex(({ operation }) => operation === 'SWITCH');
    // Without the megabytes of zeros after the switch.
    const bytesRead = Number.parseInt(golden.records[end - 1]!.end.slice(2), 16) - start;
    for (let at = 0; at < bytesRead; at += 1) reader.add(bytes.subarray(at, at + 1));
    expect(read).toEqual(records.slice(0, end));
  });

  it('can be followed from any of its pages', () => {
    const found = golden.records.at(-1)!.end;
    for (let at = 0; at < bytes.length && bytes[at] !== 0; at += walPageBytes) {
      const from = (start + at) as Lsn;
      const tracker = new RecordTracker(beginWalkAt(from), { checksums: true });
      tracker.add(from, bytes.subarray(at));
      expect(tracker.lastRecordEnd).toBe(Number.parseInt(found.slice(2), 16));
    }
  });

  it('ends, cut anywhere, at its last whole record', () => {
    for (let i = 1; i < records.length - 2; i += 7) {
      const [before, record] = [records[i - 1]!, records[i]!];
      const last = (record.lsn + record.length - 1 - start) as Lsn;
      // A record that goes on over pages is longer by their headers.
      if (Math.floor(record.lsn / walPageBytes) !== Math.floor(record.end / walPageBytes)) continue;
      expect(lastRecordEnd(start, bytes.subarray(0, last))).toBe(before.end);
      expect(lastRecordEnd(start, bytes.subarray(0, last + 1))).toBe(record.end);
    }
  });
});

interface EndSummary {
  readonly xid: number;
  readonly atUs: number;
  readonly subtransactions: readonly number[];
  readonly relationsRemoved: number;
  readonly invalidations: number;
}

function summaryOf({
  xid,
  atUs,
  subtransactions,
  relationsRemoved,
  invalidations,
}: TransactionEnd): EndSummary {
  return { xid, atUs, subtransactions, relationsRemoved, invalidations };
}

/** Such as `gid NAME: 2026-11-22 07:26:42.638997+00; rels: base/5/16429; subxacts: 791; inval msgs: 3`, with `790: ` in front of what ends a prepared transaction. */
function parseDescription({ xid, description }: { xid: number; description: string | null }): EndSummary {
  const text = description ?? '';
  const [, prepared, date, time, fraction = ''] = /^(?:(\d+): |gid [^:]*: )?(\S+) ([\d:]+)(\.\d+)?\+00/.exec(
    text,
  )!;
  const list = (what: string): string[] => new RegExp(`; ${what}: ([^;]*)`).exec(text)?.[1]?.split(' ') ?? [];
  return {
    xid: prepared === undefined ? xid : Number(prepared),
    atUs: Date.parse(`${date}T${time}Z`) * 1_000 + Number(`0${fraction}`) * 1e6,
    subtransactions: list('subxacts').map(Number),
    relationsRemoved: list('rels').length + list('rels\\(commit\\)').length,
    invalidations: Number(list('inval msgs')[0] ?? 0),
  };
}
