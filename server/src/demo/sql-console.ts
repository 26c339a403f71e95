/**
 * Runs what people type into the dashboard's console, as the demo's user, through a replica's port for SQL clients.
 *
 * Responsible for: bounds on time, rows and bytes, and a shape that a page can show. Each request has a session of its own.
 * Invariant: rows beyond the bound are read and forgotten, never kept, so that the statement still completes.
 */
import { type Client, type DatabaseError, Query, type QueryResult, type ResultBuilder } from 'pg';
import { z } from 'zod';
import type { SqlError, SqlResult, StatementResult } from '../api/sql.ts';
import { connectionOf, endSession, sessionAt } from './sql-session.ts';

export const sqlBody = z.strictObject({ replica: z.string().max(64), sql: z.string().min(1).max(100_000) });

const timeoutMs = 15_000;
// Longer than a gateway waits for a leader, so that what it says about it is what people see.
const connectMs = 8000;
/** Of all statements of a text together. */
const rowsMax = 2000;
const charsMax = 1024 * 1024;
const statementsMax = 100;
const cellCharsMax = 10_000;

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
    const rowsOf = new Map<unknown, (string | null)[][]>();
    const cut = new Set<unknown>();
    let rowsKept = 0;
    let chars = 0;
    const query = new Query<(string | null)[]>({
      text: sql,
      rowMode: 'array',
      types: asText,
    } as unknown as string);
    query.on('row', (row: unknown, result?: ResultBuilder) => {
      const cells = (row as (string | null)[]).map(shorten);
      chars += cells.reduce((sum, cell) => sum + (cell?.length ?? 0), 0);
      if (rowsKept >= rowsMax || chars > charsMax) {
        cut.add(result);
        return;
      }
      rowsKept += 1;
      const rows = rowsOf.get(result) ?? [];
      rowsOf.set(result, rows);
      rows.push(cells);
    });
    query.on('end', (given: unknown) => {
      const all = (Array.isArray(given) ? given : [given]) as (QueryResult | undefined)[];
      const results = all.map(
        (one, index): StatementResult => ({
          columns: one?.fields.map(({ name }) => name) ?? [],
          rows: rowsOf.get(one) ?? [],
          command: commands[index] ?? one?.command ?? '',
          truncated: cut.has(one),
        }),
      );
      const last = results.at(-1) ?? { columns: [], rows: [], command: '', truncated: false };
      resolve({ ...last, earlier: results.slice(0, -1).slice(-statementsMax) });
    });
    query.on('error', reject);
    // The whole tag: of CREATE TABLE, pg's own result keeps CREATE.
    connectionOf(client).on('commandComplete', ({ text }) => {
      commands.push(text);
    });
    client.query(query);
  });
}

function shorten(cell: string | null): string | null {
  return cell !== null && cell.length > cellCharsMax ? `${cell.slice(0, cellCharsMax)}...` : cell;
}

function describe(error: DatabaseError): SqlError {
  const position = Number(error.position);
  return {
    // What Node reports (ECONNREFUSED and the like) is, to a client of SQL, a connection that failed.
    code: /^[0-9A-Z]{5}$/.test(error.code ?? '') ? (error.code ?? '') : '08006',
    message: error.message || error.code || 'the connection failed',
    ...(error.detail === undefined ? {} : { detail: error.detail }),
    ...(error.hint === undefined ? {} : { hint: error.hint }),
    ...(Number.isInteger(position) && position > 0 ? { position } : {}),
  };
}
