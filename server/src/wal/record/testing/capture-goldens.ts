/**
 * Makes one of the goldens: `npx tsx server/src/wal/record/testing/capture-goldens.ts [DIRECTORY OF A POSTGRESQL'S PROGRAMS]`, default the embedded one.
 *
 * A first run of the statements leaves whole pages of the catalogs in the WAL, so that what the second one writes, which is kept, is small.
 */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Client } from 'pg';
import {
  formatLsn,
  parseLsn,
  segmentBytes,
  segmentName,
  segmentStart,
  walPageBytes,
  type Lsn,
  type Timeline,
} from '../../lsn.ts';
import { makeBarePostgres, type BarePostgres } from './bare-postgres.ts';
import { goldenPath, toInspected, type GoldenFile, type RecordsInfo } from './golden.ts';

const statements = [
  'CREATE TABLE counters (id int PRIMARY KEY, note text, tags int[])',
  "INSERT INTO counters SELECT i, 'note ' || i, ARRAY[i, i % 3] FROM generate_series(1, 20) i",
  'CREATE INDEX ON counters USING gin (tags)',
  "BEGIN; INSERT INTO counters VALUES (100, 'kept'); SAVEPOINT a; INSERT INTO counters VALUES (101, 'kept, too'); ROLLBACK TO a; INSERT INTO counters VALUES (102, 'kept, too'); COMMIT",
  "BEGIN; INSERT INTO counters VALUES (103, 'lost'); SAVEPOINT b; INSERT INTO counters VALUES (104, 'lost'); ROLLBACK",
  "BEGIN; SAVEPOINT c; INSERT INTO counters VALUES (105, 'prepared'); RELEASE c; CREATE TABLE made (a int); PREPARE TRANSACTION 'one that is kept'",
  "COMMIT PREPARED 'one that is kept'",
  "BEGIN; INSERT INTO counters VALUES (106, 'prepared'); PREPARE TRANSACTION 'one that is lost'",
  "ROLLBACK PREPARED 'one that is lost'",
  "UPDATE counters SET note = 'new' WHERE id < 4",
  'DELETE FROM counters WHERE id > 15 AND id < 19',
  'SELECT id FROM counters WHERE id = 5 FOR UPDATE',
  'CREATE SEQUENCE numbers',
  "SELECT nextval('numbers')",
  "SELECT pg_logical_emit_message(true, 'test', repeat('over two pages and more ', 800))",
  'TRUNCATE counters',
  'DROP TABLE counters, made',
  'DROP SEQUENCE numbers',
];

/** After a checkpoint, whose images of pages are whole, and then compressed. */
const statementsWithImages = [
  'CHECKPOINT',
  'UPDATE images SET i = i + 1 WHERE i = 3',
  'SET wal_compression = pglz',
  'CHECKPOINT',
  'UPDATE images SET i = i + 1 WHERE i = 5',
  'RESET wal_compression',
];

async function run(client: Client, statements: readonly string[]): Promise<void> {
  for (const statement of statements) await client.query(statement);
}

async function position(client: Client): Promise<Lsn> {
  const result = await client.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn() AS lsn');
  return parseLsn(result.rows[0]!.lsn);
}

async function capture(postgres: BarePostgres): Promise<void> {
  await postgres.start();
  const client = await postgres.connect();
  await client.query('CREATE EXTENSION pg_walinspect');
  await client.query("CREATE TABLE images AS SELECT i, repeat('x', 100) FROM generate_series(1, 50) AS i");
  await client.query('VACUUM');
  await run(client, statements);
  await client.query('SELECT pg_switch_wal()');
  // What is kept begins in the middle of this one.
  await client.query("SELECT pg_logical_emit_message(true, 'test', repeat('before the beginning ', 1000))");
  const start = pageStart(await position(client));
  await run(client, [...statements, ...statementsWithImages]);
  await client.query('SELECT pg_switch_wal()');
  await client.query("SELECT pg_logical_emit_message(true, 'test', 'in the next segment')");
  const end = await position(client);
  if (segmentStart(end) !== segmentStart(start) + segmentBytes)
    throw new Error('it goes over too many segments');

  const sql = 'SELECT * FROM pg_get_wal_records_info($1, $2)';
  const { rows } = await client.query<RecordsInfo>(sql, [formatLsn(start), formatLsn(end)]);
  const last = rows.findLast(({ record_type }) => record_type === 'SWITCH');
  if (last === undefined) throw new Error('there is no switch');
  const beforeSwitch = await readWal(
    postgres,
    start,
    (pageStart(parseLsn(last.start_lsn)) + walPageBytes) as Lsn,
  );
  const afterSwitch = await readWal(postgres, segmentStart(end), end);
  await write(
    `postgres-${postgres.majorVersion}`,
    {
      version: String(
        (await client.query<{ v: string }>("SELECT current_setting('server_version') AS v")).rows[0]?.v,
      ),
      pieces: [
        { start: formatLsn(start), bytes: beforeSwitch.length },
        { start: formatLsn(segmentStart(end)), bytes: afterSwitch.length },
      ],
      records: rows.map(toInspected),
    },
    Buffer.concat([beforeSwitch, afterSwitch]),
  );
}

function pageStart(lsn: Lsn): Lsn {
  return (lsn - (lsn % walPageBytes)) as Lsn;
}

/** Within one segment. */
async function readWal(postgres: BarePostgres, from: Lsn, to: Lsn): Promise<Buffer> {
  const segment = await readFile(join(postgres.pgWal, segmentName(1 as Timeline, from)));
  return segment.subarray(from - segmentStart(from), to - segmentStart(from));
}

async function write(name: string, golden: GoldenFile, wal: Uint8Array): Promise<void> {
  await writeFile(goldenPath(`${name}.wal`), wal);
  const lines = golden.records.map((record) => JSON.stringify(record)).join(',\n');
  const head = JSON.stringify({ ...golden, records: [] }).replace(/\[\]\}$/, '');
  await writeFile(goldenPath(`${name}.json`), `${head}[\n${lines}\n]}\n`);
  console.log(`${name}: ${golden.records.length} records, ${wal.length} bytes`);
}

const [pgBin] = process.argv.slice(2);
const postgres = await makeBarePostgres(pgBin === undefined ? {} : { pgBin });
try {
  await capture(postgres);
} finally {
  await postgres.remove();
}
