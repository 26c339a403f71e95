/**
 * What each replica's PostgreSQL is at, for the page: asked of PostgreSQL itself, a standby's as well, as its superuser over its own socket.
 *
 * Responsible for: finding the socket, the questions and their bounds, and ending a client's session. Knows no routes.
 * Invariants: one question at a time to a replica, whose answer all have who asked meanwhile; whoever looks writes nothing, by PostgreSQL's own word; only clients' sessions are ended, never the replica's own;
 * pg_stat_statements is set up when that is asked for, once at a time for the whole group; passwords in statements are told to nobody.
 */
import { readFile } from '../adapters/file-system.ts';
import { join } from 'node:path';
import type { Client } from 'pg';
import { makeExtension } from '../adapters/postgres/own-extension.ts';
import { connectPg } from '../adapters/postgres/pg-client.ts';
import { withoutPasswords } from './without-passwords.ts';
import type { Activity, EndSessionRequest, SessionActivity, StatementActivity } from '../api/activity.ts';
import { ownSql } from '../pgwire/own-sql.ts';

const askMs = 3000;
const sessionsMax = 200;
const statementsMax = 50;
const sqlCharsMax = 2000;
const database = 'postgres';

/** The clients' backends: the replica's own sessions are the superuser's. */
const isClient = `backend_type = 'client backend' AND usename <> 'postgres' AND pid <> pg_catalog.pg_backend_pid()`;

const sessionsQuestion = ownSql(`
SELECT pid, usename AS "user", coalesce(datname, '') AS "database", coalesce(application_name, '') AS application,
  coalesce(state, '') AS state, wait_event_type AS "waitType", wait_event AS "waitEvent", pg_catalog.pg_blocking_pids(pid) AS "blockedBy",
  extract(epoch FROM pg_catalog.clock_timestamp() - xact_start) OPERATOR(pg_catalog.*) 1000 AS "transactionMs",
  coalesce(extract(epoch FROM pg_catalog.clock_timestamp() - state_change) OPERATOR(pg_catalog.*) 1000, 0) AS "stateMs", pg_catalog.left(query, ${sqlCharsMax}) AS sql
FROM pg_catalog.pg_stat_activity WHERE ${isClient}
ORDER BY state = 'idle', xact_start NULLS LAST, pid LIMIT ${sessionsMax}`);

/** `schema`: of the extension, as SQL. The function, for what a client has put beside it has other arguments. */
const statementsQuestion = (schema: string): string =>
  ownSql(`
SELECT pg_catalog.left(query, ${sqlCharsMax}) AS sql, pg_catalog.sum(calls)::double precision AS calls, pg_catalog.sum(total_exec_time) AS "totalMs",
  pg_catalog.sum(total_exec_time) OPERATOR(pg_catalog./) greatest(pg_catalog.sum(calls), 1) AS "meanMs", pg_catalog.max(max_exec_time) AS "maxMs", pg_catalog.sum(rows)::double precision AS rows, pg_catalog.sum(wal_bytes)::double precision AS "walBytes"
FROM ${schema}.pg_stat_statements(true) JOIN pg_catalog.pg_roles r ON r.oid = userid
WHERE rolname <> 'postgres' GROUP BY queryid, query ORDER BY "totalMs" DESC LIMIT ${statementsMax}`);

interface SessionRow extends Omit<SessionActivity, 'wait' | 'transactionMs' | 'stateMs'> {
  readonly waitType: string | null;
  readonly waitEvent: string | null;
  readonly transactionMs: string | null;
  readonly stateMs: string;
}

export interface ActivityReader {
  /** @throws Error if PostgreSQL does not answer in time */
  read(replicaDir: string): Promise<Activity>;
  /** False: there is no such session of a client any more. @throws likewise */
  end(replicaDir: string, request: EndSessionRequest): Promise<boolean>;
  /**
   * Has statements counted, for the whole group: at the primary alone. What is to be known of it, for people; null: they are counted. Without a majority its commit waits at the gate, which is why there is
   * never more than one. @throws likewise
   */
  countStatements(replicaDir: string): Promise<string | null>;
}

export function createActivityReader(): ActivityReader {
  const asked = new Map<string, Promise<Activity>>();
  let settingUp: Promise<string | null> | null = null;
  return {
    read(dir) {
      const running = asked.get(dir) ?? withClient(dir, look).finally(() => asked.delete(dir));
      asked.set(dir, running);
      return running;
    },
    end: (dir, { pid, how }) =>
      withClient(dir, async (client) => {
        const end = how === 'cancel' ? 'pg_cancel_backend' : 'pg_terminate_backend';
        const { rows } = await client.query<{ ended: boolean }>(
          ownSql(
            `SELECT pg_catalog.${end}(pid) AS ended FROM pg_catalog.pg_stat_activity WHERE pid = $1 AND ${isClient}`,
          ),
          [pid],
        );
        return rows[0]?.ended === true;
      }),
    async countStatements(dir) {
      settingUp ??= setUpStatements(dir).finally(() => (settingUp = null));
      return inTime(settingUp);
    },
  };
}

/** Until it is done, however long that takes: the backend waits as long, whoever has gone away. */
async function setUpStatements(replicaDir: string): Promise<string | null> {
  const client = await connectPg({ socketDir: await socketDirOf(replicaDir), database, silentMsMax: null });
  try {
    const { rows } = await client.query<{ standby: boolean }>(
      'SELECT pg_catalog.pg_is_in_recovery() AS standby',
    );
    if (rows[0]?.standby === true) return 'This is a standby: it is set up at the leader.';
    await makeExtension(client, 'pg_stat_statements');
    return null;
  } finally {
    await client.end().catch(() => undefined);
  }
}

/** Whoever waits for it gives it up in time; it goes on. @throws Error then */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_resolve, reject) => {
    timer = setTimeout(
      () => reject(new Error(`its PostgreSQL did not answer within ${askMs / 1000} s`)),
      askMs,
    );
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

/** PostgreSQL's own note says where its socket is. */
async function socketDirOf(replicaDir: string): Promise<string> {
  const file = join(replicaDir, 'postgres', 'data', 'postmaster.pid');
  const text = await readFile(file, 'utf8').catch(() => '');
  const directory = text.split('\n')[4]?.trim() ?? '';
  if (directory === '') throw new Error('its PostgreSQL is not running');
  return directory;
}

async function withClient<T>(replicaDir: string, work: (client: Client) => Promise<T>): Promise<T> {
  const socketDir = await socketDirOf(replicaDir);
  const connecting = connectPg({ socketDir, database, silentMsMax: askMs });
  try {
    return await inTime(connecting.then(work));
  } finally {
    void connecting.then(
      (client) => client.end().catch(() => undefined),
      () => undefined,
    );
  }
}

export async function look(client: Pick<Client, 'query'>): Promise<Activity> {
  await client.query('BEGIN TRANSACTION READ ONLY');
  const { rows } = await client.query<{ standby: boolean }>(
    'SELECT pg_catalog.pg_is_in_recovery() AS standby',
  );
  const isStandby = rows[0]?.standby === true;
  const sessions = await client.query<SessionRow>(sessionsQuestion);
  const statements = await statementsOf(client, isStandby);
  await client.query('COMMIT');
  return { database: isStandby ? 'standby' : 'primary', sessions: sessions.rows.map(sessionOf), statements };
}

function sessionOf({ waitType, waitEvent, transactionMs, stateMs, ...row }: SessionRow): SessionActivity {
  return {
    ...row,
    transactionMs: transactionMs === null ? null : Math.round(Number(transactionMs)),
    sql: withoutPasswords(row.sql),
    stateMs: Math.max(0, Math.round(Number(stateMs))),
    wait: waitOf(row.state, waitType, waitEvent),
  };
}

/** Of a session that waits for its client there is nothing to tell. */
export function waitOf(state: string, type: string | null, event: string | null): SessionActivity['wait'] {
  if (type === null || event === null || type === 'Client' || state === 'idle') return null;
  if (event === 'SyncRep') return { kind: 'gate', text: 'until its WAL is chosen' };
  return { kind: type === 'Lock' || type === 'LWLock' ? 'lock' : 'other', text: `${type}: ${event}` };
}

async function statementsOf(
  client: Pick<Client, 'query'>,
  isStandby: boolean,
): Promise<Activity['statements']> {
  const { rows } = await client.query<{ loaded: string; schema: string | null }>(
    ownSql(`SELECT pg_catalog.current_setting('shared_preload_libraries') AS loaded,
      (SELECT pg_catalog.quote_ident(n.nspname) FROM pg_catalog.pg_extension e JOIN pg_catalog.pg_namespace n ON n.oid = e.extnamespace
        WHERE e.extname = 'pg_stat_statements') AS schema`),
  );
  const [found] = rows;
  if (found?.loaded.includes('pg_stat_statements') !== true)
    return { kind: 'untold', why: 'This PostgreSQL runs without pg_stat_statements.', canCount: false };
  if (found.schema === null) {
    const why = 'Statements are not counted yet: pg_stat_statements is to be set up, at the leader.';
    return { kind: 'untold', why, canCount: !isStandby };
  }
  const told = await client.query<StatementActivity>(statementsQuestion(found.schema));
  return { kind: 'told', statements: told.rows.map(statementOf) };
}

function statementOf({ sql, ...row }: StatementActivity): StatementActivity {
  return { ...row, sql: withoutPasswords(sql) };
}
