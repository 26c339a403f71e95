/** The WAL of a test's PostgreSQL, read from its files. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { parseLsn, segmentBytes, segmentName, segmentStart, type Lsn, type Timeline } from '../../lsn.ts';
import type { BarePostgres } from './bare-postgres.ts';

/** From the start of the segment of `from` on, to before `to`. */
export async function readPgWal(
  postgres: Pick<BarePostgres, 'pgWal'>,
  from: Lsn,
  to: Lsn,
): Promise<{ readonly start: Lsn; readonly bytes: Buffer }> {
  const start = segmentStart(from);
  const files: Buffer[] = [];
  for (let at: number = start; at < to; at += segmentBytes) {
    files.push(await readFile(join(postgres.pgWal, segmentName(1 as Timeline, at as Lsn))));
  }
  return { start, bytes: Buffer.concat(files).subarray(0, to - start) };
}

/** `sql` returns one position. */
export async function queryLsn(postgres: BarePostgres, sql: string): Promise<Lsn> {
  const client = await postgres.connect();
  const { rows } = await client.query<{ lsn: string }>(`SELECT (${sql})::text AS lsn`);
  return parseLsn(rows[0]!.lsn);
}
