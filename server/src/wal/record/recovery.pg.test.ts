/** Where PostgreSQL itself takes WAL to end: when it recovers from a crash, and when a standby is promoted. */
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { endOfWal } from '../../adapters/postgres/wal-directory.ts';
import { formatLsn, segmentBytes, segmentStart, walPageBytes, type Lsn, type Timeline } from '../lsn.ts';
import { readRecords } from './record-reader.ts';
import { RecordTracker } from './record-tracker.ts';
import { makeBarePostgres, type BarePostgres } from './testing/bare-postgres.ts';
import { queryLsn, readPgWal } from './testing/read-pg-wal.ts';
import type { WalRecord } from './wal-record.ts';
import { beginWalkAt } from './walk-position.ts';

const firstTimeline = 1 as Timeline;

/** A database that crashed right after a checkpoint, and WAL that goes on from there. */
interface Written {
  readonly base: BarePostgres;
  readonly start: Lsn;
  readonly bytes: Buffer;
  readonly records: readonly WalRecord[];
}

async function write(statements: readonly string[]): Promise<Written> {
  const source = await makeBarePostgres();
  try {
    await source.start();
    const client = await source.connect();
    await client.query('CHECKPOINT');
    // While it runs, so that the copy is one of a database that crashed: nothing changes it for the moment.
    const base = await makeBarePostgres({ copyOf: source });
    for (const statement of statements) await client.query(statement);
    const [from, to] = [
      await queryLsn(source, "'0/1000000'"),
      await queryLsn(source, 'pg_current_wal_flush_lsn()'),
    ];
    const { start, bytes } = await readPgWal(source, from, to);
    return { base, start, bytes, records: readRecords(start, bytes, { checksums: true }) };
  } finally {
    await source.remove();
  }
}

/** A copy of the base that finds this WAL up to `end`, and zeros beyond. */
async function copyWithWal({ base, start, bytes }: Written, end: Lsn): Promise<BarePostgres> {
  const copy = await makeBarePostgres({ copyOf: base });
  for (const name of await readdir(copy.pgWal))
    if (/^[0-9A-F]{24}$/.test(name)) await rm(join(copy.pgWal, name));
  for (let at: number = start; at < end; at += segmentBytes) {
    const file = Buffer.alloc(segmentBytes);
    bytes.copy(file, 0, at - start, Math.min(end, at + segmentBytes) - start);
    const name = `00000001${'0'.repeat(15)}${(at / segmentBytes).toString(16).toUpperCase()}`;
    await writeFile(join(copy.pgWal, name), file, { mode: 0o600 });
  }
  return copy;
}

/** Promotes a standby that has the WAL up to `end`. Returns where the new timeline forks, as its history file says. */
async function promote(written: Written, end: Lsn): Promise<string> {
  const standby = await copyWithWal(written, end);
  try {
    await writeFile(join(standby.data, 'standby.signal'), '');
    await standby.start();
    const client = await standby.connect();
    await client.query('SELECT pg_promote(true)');
    const history = await readFile(join(standby.pgWal, '00000002.history'), 'utf8');
    return /^1\t(\S+)\t/.exec(history)![1]!;
  } finally {
    await standby.remove();
  }
}

function trackedEnd({ start, bytes }: Written, end: Lsn): Lsn {
  const tracker = new RecordTracker(beginWalkAt(start));
  tracker.add(start, bytes.subarray(0, end - start));
  return tracker.lastRecordEnd!;
}

/** Where a page begins in the middle of it. */
function pageIn({ lsn }: WalRecord): number {
  return (Math.floor(lsn / walPageBytes) + 2) * walPageBytes;
}

/** A record, all of it on one page, behind which there is padding. */
function unaligned({ records }: Written): WalRecord {
  return records.findLast(
    ({ lsn, end, length }) => length % 8 !== 0 && end - lsn < length + 8 && end % walPageBytes > 100,
  )!;
}

/** The first of the page after that of `lsn`. */
async function bytesBehind(postgres: BarePostgres, lsn: Lsn): Promise<Buffer> {
  const page = (lsn - (lsn % walPageBytes) + walPageBytes) as Lsn;
  const { start, bytes } = await readPgWal(postgres, page, (page + 16) as Lsn);
  return bytes.subarray(page - start);
}

describe('PostgreSQL', () => {
  let written: Written;
  beforeAll(async () => {
    written = await write([
      'CREATE TABLE t (a text)',
      "SELECT pg_logical_emit_message(true, 'test', repeat('over pages ', 3000))",
      "INSERT INTO t SELECT repeat('x', i) FROM generate_series(1, 300) i",
      'SELECT pg_switch_wal()',
      "INSERT INTO t VALUES ('after the switch')",
    ]);
  });
  afterAll(async () => written.base.remove());

  function record(kind: string, nth = -1): WalRecord {
    return written.records.filter(({ manager, operation }) => `${manager} ${operation}` === kind).at(nth)!;
  }

  it.each([
    ['in the header of a record', () => record('Heap INSERT', -20).lsn + 10],
    ['in the data of a record', () => record('Heap INSERT', -20).lsn + 30],
    [
      'behind the last byte of a record that is not aligned',
      () => unaligned(written).lsn + unaligned(written).length,
    ],
    ['at the end of a record', () => record('Heap INSERT', -20).end],
    [
      'in a long record, in the middle of a page',
      () => record('LogicalMessage MESSAGE').lsn + 3 * walPageBytes + 100,
    ],
    ['in a long record, where a page begins', () => pageIn(record('LogicalMessage MESSAGE'))],
    ['behind the record of a switch', () => record('XLOG SWITCH').lsn + 24],
    ['in the empty rest of a segment', () => record('XLOG SWITCH').lsn + 5 * walPageBytes],
    ['where the segment after a switch begins', () => record('XLOG SWITCH').end],
    ['in the header of the page after a switch', () => record('XLOG SWITCH').end + 20],
  ])('forks, promoted with WAL that ends %s, where the tracker says', async (_, position) => {
    const end = position() as Lsn;
    expect(await promote(written, end)).toBe(formatLsn(trackedEnd(written, end)));
  });

  it('goes on after a crash where the WAL in its files was found to end', async () => {
    for (const end of [record('Heap INSERT', -30).lsn + 9, record('Heap INSERT', -40).end]) {
      const crashed = await copyWithWal(written, end as Lsn);
      try {
        const found = await endOfWal(crashed.data, firstTimeline, segmentStart(end as Lsn));
        const last = written.records.findLast((record) => record.end <= found)!;
        await crashed.start();
        const flushed = await queryLsn(crashed, 'pg_current_wal_flush_lsn()');
        const { start, bytes } = await readPgWal(crashed, found, flushed);
        const next = readRecords(start, bytes, { checksums: true }).find(({ lsn }) => lsn >= found)!;
        expect([next.previous, next.lsn]).toEqual([last.lsn, found]);
      } finally {
        await crashed.remove();
      }
    }
  });

  it('gives up a record of which a crash left the first pages, and is followed', async () => {
    const message = record('LogicalMessage MESSAGE');
    const cut = pageIn(message);
    const crashed = await copyWithWal(written, cut as Lsn);
    try {
      expect(await endOfWal(crashed.data, firstTimeline, cut as Lsn)).toBe(message.lsn);
      await crashed.start();
      const client = await crashed.connect();
      await client.query("INSERT INTO t VALUES ('after the crash')");
      const flushed = await queryLsn(crashed, 'pg_current_wal_flush_lsn()');
      const { start, bytes } = await readPgWal(crashed, message.lsn, flushed);
      const after = readRecords(start, bytes, { checksums: true }).filter(({ lsn }) => lsn >= message.lsn);
      expect(after[0]).toMatchObject({
        manager: 'XLOG',
        operation: 'OVERWRITE_CONTRECORD',
        previous: message.previous,
      });
      expect(after.at(-1)).toMatchObject({ manager: 'Transaction', operation: 'COMMIT', end: flushed });
      // Also from the page that gives it up, and before anything else is whole.
      const tracker = new RecordTracker(beginWalkAt(cut as Lsn));
      tracker.add(cut as Lsn, bytes.subarray(cut - start, cut - start + 40));
      expect(tracker.lastRecordEnd).toBeNull();
      tracker.add(tracker.next, bytes.subarray(tracker.next - start));
      expect(tracker.lastRecordEnd).toBe(flushed);
    } finally {
      await crashed.remove();
    }
  });

  it('has segments that were used before, in which the end is found all the same', async () => {
    const postgres = await makeBarePostgres({ settings: { max_wal_size: '32MB', min_wal_size: '32MB' } });
    try {
      await postgres.start();
      const client = await postgres.connect();
      await client.query('CREATE TABLE t (a text)');
      for (let i = 0; i < 5; i += 1) {
        await client.query("INSERT INTO t SELECT repeat('x', 1000) FROM generate_series(1, 9000)");
        await client.query('CHECKPOINT');
      }
      await client.query('TRUNCATE t');
      const flushed = await queryLsn(postgres, 'pg_current_wal_flush_lsn()');
      await postgres.stop('immediate');
      expect(await bytesBehind(postgres, flushed)).not.toEqual(Buffer.alloc(16));
      expect(formatLsn(await endOfWal(postgres.data, firstTimeline, flushed))).toBe(formatLsn(flushed));
    } finally {
      await postgres.remove();
    }
  });
});
