/** What a running PostgreSQL writes, read from its files and compared with its own pg_walinspect. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { formatLsn, type Lsn } from '../lsn.ts';
import { RecordTracker } from './record-tracker.ts';
import { readRecords } from './record-reader.ts';
import { makeBarePostgres, type BarePostgres } from './testing/bare-postgres.ts';
import { describeRecord, toInspected, type RecordsInfo } from './testing/golden.ts';
import { queryLsn, readPgWal } from './testing/read-pg-wal.ts';
import { beginWalkAt } from './walk-position.ts';

/** Each kind of index and of object, and what cleans up after them. */
const workload = [
  'CREATE TABLE t (id int PRIMARY KEY, words text, tags int[], place point, body tsvector)',
  "INSERT INTO t SELECT i, repeat(md5(i::text), 3), ARRAY[i % 7, i % 11], point(i % 100, i / 100), to_tsvector('simple', 'w' || i % 50) FROM generate_series(1, 8000) i",
  'CREATE INDEX t_hash ON t USING hash (words)',
  'CREATE INDEX t_gin ON t USING gin (tags)',
  'CREATE INDEX t_gist ON t USING gist (place)',
  'CREATE INDEX t_spgist ON t USING spgist (place)',
  'CREATE INDEX t_brin ON t USING brin (id) WITH (pages_per_range = 2)',
  "INSERT INTO t SELECT i, repeat(md5(i::text), 3), ARRAY[i % 7, i % 11], point(i % 100, i / 100), to_tsvector('simple', 'w' || i % 50) FROM generate_series(8001, 14000) i",
  "UPDATE t SET words = words || 'x' WHERE id % 5 = 0",
  'DELETE FROM t WHERE id % 3 = 0',
  'VACUUM t',
  'CHECKPOINT',
  'UPDATE t SET id = id + 100000 WHERE id % 7 = 0',
  'SET wal_compression = pglz',
  'UPDATE t SET words = words WHERE id % 2 = 0',
  'RESET wal_compression',
  'VACUUM (FREEZE, TRUNCATE) t',
  'BEGIN; DECLARE c CURSOR FOR SELECT 1 FROM t FOR UPDATE; FETCH 50 FROM c; COMMIT',
  "CREATE SEQUENCE s; SELECT nextval('s') FROM generate_series(1, 100)",
  "SELECT lo_from_bytea(0, decode(repeat('00ff', 5000), 'hex'))",
  "SELECT pg_logical_emit_message(false, 'test', repeat('z', 3000000))",
  'CREATE DATABASE other STRATEGY wal_log',
  'CREATE DATABASE another STRATEGY file_copy',
  'DROP DATABASE another',
  "SELECT pg_create_restore_point('here')",
  'SELECT pg_switch_wal()',
  'TRUNCATE t',
  'DROP TABLE t',
];

describe('the WAL of a running PostgreSQL', () => {
  let postgres: BarePostgres;
  beforeAll(async () => {
    // For trying it with another version.
    const pgBin = process.env['BARISTA_TEST_PG_BIN'];
    postgres = await makeBarePostgres({
      settings: { wal_keep_size: '1GB' },
      ...(pgBin === undefined ? {} : { pgBin }),
    });
    await postgres.start();
  });
  afterAll(async () => postgres.remove());

  it('is read as pg_walinspect reads it', async () => {
    const client = await postgres.connect();
    await client.query('CREATE EXTENSION pg_walinspect');
    const from = await queryLsn(postgres, 'pg_current_wal_lsn()');
    for (const statement of workload) await client.query(statement);
    const to = await queryLsn(postgres, 'pg_current_wal_flush_lsn()');
    const sql = 'SELECT * FROM pg_get_wal_records_info($1, $2)';
    const { rows } = await client.query<RecordsInfo>(sql, [formatLsn(from), formatLsn(to)]);
    const expected = rows.map(toInspected);

    const wal = await readPgWal(postgres, from, to);
    const records = readRecords(wal.start, wal.bytes, { checksums: true }).filter(({ lsn }) => lsn >= from);
    expect(records.length).toBe(expected.length);
    for (const [i, record] of records.entries()) {
      expect(describeRecord(record, expected[i]!.description)).toEqual(expected[i]);
    }

    const kinds = new Set(records.map(({ manager, operation }) => `${manager} ${operation}`));
    expect(kinds.size).toBeGreaterThan(60);
    expect([...kinds].filter((kind) => kind.includes('UNKNOWN'))).toEqual([]);
  });

  it('is followed as it is flushed, in pieces that end where flushes do', async () => {
    const client = await postgres.connect();
    await client.query('CREATE TABLE followed (a text)');
    const from = await queryLsn(postgres, 'pg_current_wal_flush_lsn()');
    const tracker = new RecordTracker(beginWalkAt(from), { checksums: true });
    for (let i = 0; i < 50; i += 1) {
      await client.query("INSERT INTO followed SELECT repeat('x', $1) FROM generate_series(1, 20)", [i * 20]);
      const flushed = await queryLsn(postgres, 'pg_current_wal_flush_lsn()');
      const { start, bytes } = await readPgWal(postgres, tracker.next, flushed);
      tracker.add(tracker.next, bytes.subarray(tracker.next - start));
      expect(formatLsn(tracker.lastRecordEnd as Lsn)).toBe(formatLsn(flushed));
    }
  });
});
