import { describe, expect, it } from 'vitest';
import type { RangeContent, RelationName } from '../../../api/wal-summary.ts';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import { parseLsn, segmentBytes, walPageBytes, type Lsn, type Timeline } from '../../../wal/lsn.ts';
import {
  goldenNames,
  readGolden,
  type Golden,
  type InspectedRecord,
} from '../../../wal/record/testing/golden.ts';
import { writeWal, type WalItem } from '../../../wal/record/testing/synthetic-wal.ts';
import { fileKey, filesOf, nameRelations } from './name-relations.ts';
import { changesMax, operationsMax, summarizeRange, transactionsMax } from './summarize-range.ts';

const leadership = { round: 3, replica: 'r2' as ReplicaId };

function summarize(start: Lsn, data: Uint8Array): RangeContent {
  return summarizeRange({ kind: 'range', leadership, timeline: 7 as Timeline, start, data });
}

/** The golden's WAL up to the end of this record, and what pg_walinspect says of it. */
function upTo(
  golden: Golden,
  last: number,
): { readonly data: Uint8Array; readonly records: readonly InspectedRecord[] } {
  const end = parseLsn(golden.records[last]!.end);
  return { data: golden.bytes.subarray(0, end - golden.start), records: golden.records.slice(0, last + 1) };
}

describe.each(goldenNames)('a summary of WAL of %s', (name) => {
  const golden = readGolden(name);
  const switchAt = golden.records.findIndex(({ operation }) => operation === 'SWITCH');
  const { data, records } = upTo(golden, switchAt - 1);
  const content = summarize(golden.start, data);

  it('counts what pg_walinspect finds', () => {
    expect(content).toMatchObject({
      leadership,
      timeline: 7,
      bytes: data.length,
      fault: null,
      bytesAfter: 0,
    });
    expect(content.records).toBe(records.length);
    expect(content.imageBytes).toBe(records.reduce((sum, { imageBytes }) => sum + imageBytes, 0));
    expect(content.images).toBeGreaterThan(0);
    const inserts = records.filter(
      ({ manager, operation }) => manager === 'Btree' && operation === 'INSERT_LEAF',
    );
    expect(content.operations.find(({ operation }) => operation === 'INSERT_LEAF')?.records).toBe(
      inserts.length,
    );
    // It begins in the middle of a record.
    expect(content.bytesBefore).toBe(parseLsn(records[0]!.lsn) - golden.start);
  });

  it('tells what the transactions did', () => {
    const ofCounters = content.transactions.flatMap(({ ends, name, changes }) => {
      const [table] = changes;
      const rows = table === undefined ? [] : [table.inserted, table.updated, table.deleted];
      return rows.some((count) => count > 0) ? [[ends, name, ...rows].join(' ')] : [];
    });
    // Some of the statements that made the golden, in their order; the other ones wrote to the catalogs first of all.
    const expected = [
      'commit  20 0 0',
      'commit  2 0 0',
      'abort  1 0 0',
      'commitPrepared one that is kept 1 0 0',
      'abortPrepared one that is lost 1 0 0',
      'commit  0 3 0',
      'commit  0 0 3',
    ];
    let next = 0;
    for (const row of ofCounters) if (row === expected[next]) next += 1;
    expect(expected.slice(next)).toEqual([]);
  });

  it('leaves to no transaction what belongs to none', () => {
    const without = records.filter(({ xid, manager }) => xid === 0 && manager !== 'Transaction');
    const all = content.transactions.reduce((sum, { records }) => sum + records, 0);
    expect(all + without.length).toBe(records.length);
  });
});

describe('a summary', () => {
  const start = (3 * segmentBytes) as Lsn;
  const messages = (count: number): WalItem[] =>
    Array.from({ length: count }, () => ({ kind: 'record', mainBytes: 40 }));

  it('tells how much belongs to a record that began before, or goes on after', () => {
    const wal = writeWal(start, [
      { kind: 'record', mainBytes: 100 },
      { kind: 'record', mainBytes: 2 * walPageBytes },
      ...messages(1),
    ]);
    const [, long, last] = wal.records;
    const cut = 2 * walPageBytes;
    const first = summarize(start, wal.bytes.subarray(0, cut));
    expect(first).toMatchObject({ records: 1, bytesBefore: 0, bytesAfter: start + cut - long!.lsn });
    const second = summarize((start + cut) as Lsn, wal.bytes.subarray(cut));
    expect(second).toMatchObject({ records: 1, bytesBefore: last!.lsn - start - cut, bytesAfter: 0 });
    const middle = summarize((start + walPageBytes) as Lsn, wal.bytes.subarray(walPageBytes, cut));
    expect(middle).toMatchObject({ records: 0, bytesBefore: walPageBytes, bytesAfter: 0, fault: null });
  });

  it('knows the empty rest of a segment', () => {
    const wal = writeWal(start, [...messages(2), { kind: 'switch' }, ...messages(3)]);
    const from = segmentBytes - 2 * walPageBytes;
    const content = summarize((start + from) as Lsn, wal.bytes.subarray(from));
    expect(content).toMatchObject({ records: 3, bytesBefore: 2 * walPageBytes, fault: null });
  });

  it('says what is wrong with bytes that are no WAL', () => {
    const wal = writeWal(start, messages(3));
    wal.bytes.fill(0xaa, 160);
    const content = summarize(start, wal.bytes);
    expect(content.records).toBe(1);
    expect(content.fault).toMatch(/^0\/30000\w\w: /);
  });

  it('is bounded, and counts what it leaves out', () => {
    const golden = readGolden('postgres-18');
    const switchAt = golden.records.findIndex(({ operation }) => operation === 'SWITCH');
    const content = summarize(golden.start, upTo(golden, switchAt).data);
    const kinds = new Set(
      golden.records.slice(0, switchAt + 1).map(({ manager, operation }) => manager + operation),
    );
    expect(content.operations.length).toBe(operationsMax);
    expect(content.operationsMore).toBe(kinds.size - operationsMax);
    expect(content.transactions.length).toBeLessThanOrEqual(transactionsMax);
    const busiest = content.transactions.toSorted((a, b) => b.changesMore - a.changesMore)[0]!;
    expect(busiest.changes.length).toBe(changesMax);
  });

  it('is given the names of its files, and puts tables of users first', () => {
    const golden = readGolden('postgres-18');
    const content = summarize(golden.start, upTo(golden, 200).data);
    const files = filesOf(content);
    const [system, own] = [
      files.find(({ relation }) => relation < 16_384)!,
      files.find(({ relation }) => relation > 16_384)!,
    ];
    const name = (name: string, isSystem: boolean): RelationName => ({
      name,
      kind: 'table',
      table: null,
      isSystem,
    });
    const names = new Map([
      [fileKey(system), name('mine_after_all', false)],
      [fileKey(own), name('pg_rewritten', true)],
    ]);
    const named = nameRelations(content, names);
    const changes = named.transactions.flatMap(({ changes }) => changes);
    expect(
      changes.filter(({ relation }) => relation === system.relation).map(({ name }) => name?.name),
    ).toContain('mine_after_all');
    const both = named.transactions.filter(({ changes }) =>
      [system, own].every(({ relation }) => changes.some((change) => change.relation === relation)),
    );
    for (const { changes } of both) {
      const order = changes.map(({ relation }) => relation);
      expect(order.indexOf(system.relation)).toBeLessThan(order.indexOf(own.relation));
    }
    expect(both.length).toBeGreaterThan(0);
  });
});
