/**
 * Runs what people type into the dashboard's console, as the demo's user, through a replica's port for SQL clients.
 *
 * Responsible for: a bound on time, and a shape that a page can show; what is kept of rows is kept-rows.ts. Each request has a session of its own.
 * Invariant: a statement that asks for data (COPY FROM STDIN) is refused at once, since there are none.
 */
import { type Client, type DatabaseError, Query, type QueryResult } from 'pg';
import { z } from 'zod';
import type { SqlError, SqlResult, StatementResult } from '../api/sql.ts';
import { createKeptRows } from './kept-rows.ts';
import { connectionOf, endSession, sessionAt } from './sql-session.ts';

export const sqlBody = z.strictObject({ replica: z.string().max(64), sql: z.string().min(1).max(100_000) });

const timeoutMs = 15_000;
// Longer than a gateway waits for a leader, so that what it says about it is what people see.
const connectMs = 8000;
const statementsMax = 100;

/** Everything stays the text that PostgreSQL sent. */
const asText = { getTypeParser: () => (value: string) => value };

export async function runSql(port: number, sql: string): Promise<SqlResult | { readonly error: SqlError }> {
  const client = sessionAt(port, {
    application_name: 'barista dashboard',
    connectionTimeoutMillis: connectMs,
  });
  const startedAtMs = performance.now();
  let timer: NodeJS.Timeout | undefined;
  try {
    const late = new Promise<never>((_resolve, reject) => {
      const error = Object.assign(
        new Error(`No answer within ${timeoutMs / 1000} s; the session was ended.`),
        { code: '57014' },
      );
      timer = setTimeout(() => reject(error), timeoutMs);
    });
    const work = client.connect().then(() => collect(client, sql));
    const answer = await Promise.race([work, late]);
    return { ...answer, durationMs: Math.round((performance.now() - startedAtMs) * 10) / 10 };
  } catch (error) {
    return { error: describe(error as DatabaseError) };
  } finally {
    clearTimeout(timer);
    endSession(client);
  }
}

/** Several statements may come in one text: each has a result. */
function collect(client: Client, sql: string): Promise<Omit<SqlResult, 'durationMs'>> {
  return new Promise((resolve, reject) => {
    const commands: string[] = [];
    const kept = createKeptRows();
    let isAskedForData = false;
    const query = new Query<(string | null)[]>({
      text: sql,
      rowMode: 'array',
      types: asText,
    } as unknown as string);
    // What comes before a statement's tag is that statement's.
    query.on('row', (row: unknown) => kept.row(commands.length, row as (string | null)[]));
    query.on('end', (given: unknown) => {
      const all = (Array.isArray(given) ? given : [given]) as (QueryResult | undefined)[];
      const results = all.map((one, index): StatementResult => {
        const names = one?.fields.map(({ name }) => name) ?? [];
        return kept.resultOf(index, names, commands[index] ?? one?.command ?? '');
      });
      const last = results.at(-1) ?? { columns: [], rows: [], command: '', truncated: false };
      const earlier = results.slice(0, -1).slice(-statementsMax);
      const rolledBack = client.getTransactionStatus() === 'T' ? { rolledBack: true as const } : {};
      resolve({ ...last, earlier, ...rolledBack });
    });
    query.on('error', (error: Error) => reject(isAskedForData ? withoutData(error) : error));
    const connection = connectionOf(client);
    // The whole tag: of CREATE TABLE, pg's own result keeps CREATE.
    connection.on('commandComplete', ({ text }) => void commands.push(text));
    connection.on('copyOutResponse', ({ binary }) => kept.copies(commands.length, binary));
    connection.on('copyData', ({ chunk }) => kept.copied(commands.length, chunk));
    connection.on('copyInResponse', () => void (isAskedForData = true));
    client.query(query);
  });
}

/** What PostgreSQL says when pg has refused to send data. */
function withoutData(error: Error): Error {
  if ((error as DatabaseError).code !== '57014') return error;
  return Object.assign(new Error('COPY FROM STDIN waits for data, and the console has none to send.'), {
    code: '0A000',
    hint: "Write the rows into INSERT, or copy a file with psql: \\copy a_table FROM 'file'.",
  });
}

/** What raises an error may make it as long as it likes. */
const errorCharsMax = 10_000;
const shortened = (text: string): string =>
  text.length > errorCharsMax ? `${text.slice(0, errorCharsMax)}...` : text;

function describe(error: DatabaseError): SqlError {
  const position = Number(error.position);
  return {
    // What Node reports (ECONNREFUSED and the like) is, to a client of SQL, a connection that failed.
    code: /^[0-9A-Z]{5}$/.test(error.code ?? '') ? (error.code ?? '') : '08006',
    message: shortened(error.message || error.code || 'the connection failed'),
    ...(error.detail === undefined ? {} : { detail: shortened(error.detail) }),
    ...(error.hint === undefined ? {} : { hint: shortened(error.hint) }),
    ...(Number.isInteger(position) && position > 0 ? { position } : {}),
  };
}
