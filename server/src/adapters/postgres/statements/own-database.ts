/** The executor's PostgreSQL: sessions of clients by its Unix socket, and connections of the replica's own. */
import { join } from 'node:path';
import type { Client } from 'pg';
import type {
  ConnectResult,
  Pointer,
  Row,
  StatementDatabase,
  StatementLogin,
} from '../../../ports/statement-database.ts';
import { errorResponse } from '../../../pgwire/backend-messages.ts';
import { socketPort } from '../data-directory.ts';
import { listDatabases } from '../databases.ts';
import { reservedUsers } from '../reserved-users.ts';
import { LockReserve } from '../lock-reserve.ts';
import { answerMs, connectPg } from '../pg-client.ts';
import { openUnlessLocked } from './locked-login.ts';
import { ForeignSchemaError, hasStatementSchema, installStatementSchema, proofOf } from './own-schema.ts';
import { openSession } from './session-connection.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';

export interface StatementDatabaseOptions {
  readonly socketDir: string;
  /** The same at all replicas of the group, and known to nobody else. */
  readonly secret: string;
  /** Of an answer's message no more is kept in memory. */
  readonly messageBytesMax: number;
  /** PostgreSQL was not shut down before it was started last. */
  readonly isAfterCrash: boolean;
}

/** Whether any sequence was ever drawn from: of one that was not there is no last value. */
const drawnFromSql =
  ownSql(`SELECT EXISTS (SELECT FROM pg_catalog.pg_sequence s JOIN pg_catalog.pg_class c ON c.oid = s.seqrelid
  WHERE CASE WHEN c.relpersistence = 'p' THEN pg_catalog.pg_sequence_last_value(s.seqrelid::pg_catalog.regclass) IS NOT NULL ELSE false END) AS is`);

/** @throws whatever `pg` throws when PostgreSQL is away */
export async function openStatementDatabase(options: StatementDatabaseOptions): Promise<StatementDatabase> {
  const { socketDir, secret, messageBytesMax, isAfterCrash } = options;
  const own = await connectPg({ socketDir, database: 'postgres', silentMsMax: answerMs.thorough });
  let isOver = false;
  const reserve = new LockReserve({ socketDir }, () => isOver);
  await reserve.hold();

  /** A client that takes all locks keeps nobody else from going on. */
  function ask<R extends Row>(sql: string, parameters: readonly unknown[] = []): Promise<readonly R[]> {
    return reserve.withRoom(async () => (await own.query<R>(sql, [...parameters])).rows);
  }

  /** By number: a database may be made again under its name. */
  const installed = new Set<string>();

  async function within<T>(database: string | Uint8Array, work: (client: Client) => Promise<T>): Promise<T> {
    if (Buffer.from(database).toString('latin1') === 'postgres') return work(own);
    const client = await connectPg({ socketDir, database, silentMsMax: answerMs.thorough });
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  async function install(database: string | Uint8Array): Promise<void> {
    const [row] = await ask<{ oid: string }>(
      ownSql('SELECT oid::pg_catalog.text FROM pg_catalog.pg_database WHERE datname = $1'),
      [typeof database === 'string' ? database : Buffer.from(database)],
    );
    if (row === undefined || installed.has(row.oid)) return;
    await within(database, (client) => installStatementSchema(client, secret));
    installed.add(row.oid);
  }

  /** Null: nobody has connected to it yet. */
  function withinInstalled<T>(database: Uint8Array, work: (client: Client) => Promise<T>): Promise<T | null> {
    return within(database, async (client) => ((await hasStatementSchema(client)) ? work(client) : null));
  }

  async function databases(): Promise<readonly Uint8Array[]> {
    const listed = await listDatabases(own);
    return listed.filter(({ isOpen, isBroken }) => isOpen && !isBroken).map(({ bytes }) => bytes);
  }

  async function connect(login: StatementLogin): Promise<ConnectResult> {
    if (reservedUsers.includes(login.user)) return refused(`role "${login.user}" is reserved`);
    const rows = await ask<{ super: boolean }>(
      ownSql('SELECT rolsuper OR rolreplication AS super FROM pg_catalog.pg_roles WHERE rolname = $1'),
      [login.user],
    );
    if (rows[0]?.super === true) return refused(`role "${login.user}" may do more than clients may`);
    const opened = await openUnlessLocked(ask, login.database, () =>
      openSession(server, login, messageBytesMax),
    );
    if (opened.code !== 'connected') return opened;
    try {
      await install(login.database);
    } catch (error) {
      if (!(error instanceof ForeignSchemaError)) throw error;
      await opened.connection.close();
      return refused(error.message);
    }
    return opened;
  }

  await own.query('SET synchronous_commit = off');
  const { rows: versions } = await own.query<{ major: number }>(
    "SELECT pg_catalog.current_setting('server_version_num')::pg_catalog.int4 OPERATOR(pg_catalog./) 10000 AS major",
  );
  const server = { path: join(socketDir, `.s.PGSQL.${socketPort}`), majorVersion: versions[0]!.major };
  for (const database of await databases())
    await install(database).catch((error: unknown) => {
      // Whoever wants to connect to it hears it.
      if (!(error instanceof ForeignSchemaError)) throw error;
    });
  return {
    connect,
    query: ask,
    async lock(database, key) {
      // An advisory lock is of one database.
      const client = await connectPg({ socketDir, database, silentMsMax: answerMs.thorough });
      await client.query('SELECT pg_catalog.pg_try_advisory_lock($1)', [key]);
      return { end: () => client.end() };
    },
    async isThere() {
      try {
        const client = await connectPg({ socketDir, database: 'postgres', silentMsMax: answerMs.thorough });
        await client.end();
        return true;
      } catch {
        return false;
      }
    },
    async readPointer() {
      let newest: Pointer = { slot: 0, step: 0, open: 0 };
      for (const database of await databases()) {
        const found = await withinInstalled(database, (client) =>
          client.query<{ slot: string; step: number; open: number }>(
            'SELECT lastseqnum AS slot, step, open FROM pg_barista.sqlpaxoslog ORDER BY lastseqnum DESC, step DESC LIMIT 1',
          ),
        );
        const row = found?.rows[0];
        if (row === undefined) continue;
        const here = { slot: Number(row.slot), step: row.step, open: row.open };
        if (here.slot > newest.slot || (here.slot === newest.slot && here.step > newest.step)) newest = here;
      }
      return newest;
    },
    async forgetPointers(below) {
      for (const database of await databases()) {
        await withinInstalled(database, async (client) => {
          await client.query(ownSql('DELETE FROM pg_barista.sqlpaxoslog WHERE lastseqnum < $1'), [below]);
          // Nobody else does: autovacuum is off.
          await client.query('VACUUM pg_barista.sqlpaxoslog');
        });
      }
    },
    async areSequencesAhead() {
      if (!isAfterCrash) return false;
      // Numbers may have been drawn behind the pointer by what moved none, and a checkpoint may have written that: whichever was ever drawn from is suspect.
      for (const database of await databases()) {
        const suspect = await within(database, async (client) => {
          const { rows } = await client.query<{ is: boolean }>(drawnFromSql);
          return rows[0]!.is;
        });
        if (suspect) return true;
      }
      return false;
    },
    async readSeqs() {
      const newest = new Map<number, number>();
      for (const database of await databases()) {
        const found = await withinInstalled(database, (client) =>
          client.query<{ session: string; seq: string }>(
            `SELECT pg_catalog.split_part(one, ':', 1) AS session, pg_catalog.max(pg_catalog.split_part(one, ':', 2)::bigint) AS seq
             FROM pg_barista.sqlpaxoslog, pg_catalog.unnest(pg_catalog.string_to_array(seqs, ' ')) AS one GROUP BY 1`,
          ),
        );
        for (const { session, seq } of found?.rows ?? [])
          newest.set(Number(session), Math.max(newest.get(Number(session)) ?? 0, Number(seq)));
      }
      return newest;
    },
    sign: (pointer, seqs) => proofOf(secret, pointer, seqs),
    async close() {
      isOver = true;
      await reserve.end();
      await own.end();
    },
  };
}

function refused(detail: string): ConnectResult {
  return {
    code: 'refused',
    answer: errorResponse('FATAL', { sqlState: '28000', message: 'this role may not log in', detail }),
  };
}
