/** The databases of a PostgreSQL. Their names are bytes in whatever encoding they were given in: a name that was read as text may be another one. */
import type { Client } from 'pg';
import { ownSql } from '../../pgwire/own-sql.ts';
import { exactName } from './exact-name.ts';

export interface ListedDatabase {
  /** For people, and for keys. */
  readonly name: string;
  /** By which it is connected to. */
  readonly bytes: Buffer;
  readonly isTemplate: boolean;
  /** False: it lets nobody in. */
  readonly isOpen: boolean;
  /** Its removal was interrupted: it is of no use to anybody. */
  readonly isBroken: boolean;
  /** It is the one that initdb makes so that nobody comes in. */
  readonly isSealed: boolean;
}

const listSql =
  ownSql(`SELECT pg_catalog.namesend(datname) AS bytes, datistemplate AS "isTemplate", datallowconn AS "isOpen", datconnlimit = -2 AS "isBroken",
    datname = 'template0' AND oid < 16384 AND NOT datallowconn AS "isSealed"
  FROM pg_catalog.pg_database ORDER BY oid`);

/** As the snapshot of the session shows them, the oldest first. @throws Error of PostgreSQL */
export async function listDatabases(client: Client): Promise<readonly ListedDatabase[]> {
  const { rows } = await client.query<Omit<ListedDatabase, 'name'>>(listSql);
  return rows.map((row) => Object.assign(row, { name: exactName(row.bytes) }));
}

/** A session that begins waits for these locks, and for those who wait for them; no setting of the session's bounds that. */
const lockedSql =
  ownSql(`SELECT pg_catalog.namesend(d.datname) AS bytes FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_database d ON d.oid = l.objid
  WHERE l.locktype = 'object' AND l.classid = 'pg_catalog.pg_database'::pg_catalog.regclass
    AND (l.mode = 'ShareLock' OR l.mode = 'ShareRowExclusiveLock' OR l.mode = 'ExclusiveLock' OR l.mode = 'AccessExclusiveLock')`);

/** Whoever owns a database can lock its catalogs, by VACUUM FULL, and each session that begins there reads them. Catalogs have the same oids in all databases. */
const catalogLockedSql =
  ownSql(`SELECT pg_catalog.namesend(d.datname) AS bytes, c.relname::pg_catalog.text AS catalog, l.pid, l.granted AS "isGranted",
    CASE WHEN NOT l.granted THEN pg_catalog.array_to_string(pg_catalog.pg_blocking_pids(l.pid), ', ') END AS behind
  FROM pg_catalog.pg_locks l JOIN pg_catalog.pg_database d ON d.oid = l.database JOIN pg_catalog.pg_class c ON c.oid = l.relation
  WHERE l.locktype = 'relation' AND l.relation < 16384 AND l.mode = 'AccessExclusiveLock' ORDER BY l.granted, l.pid`);

interface CatalogLock {
  readonly bytes: Buffer;
  readonly catalog: string;
  /** Null: of a transaction that is prepared. */
  readonly pid: number | null;
  readonly isGranted: boolean;
  readonly behind: string | null;
}

function reasonOf({ catalog, pid, isGranted, behind }: CatalogLock): string {
  const holder = pid === null ? 'a prepared transaction' : `process ${pid}`;
  if (isGranted) return `${holder} has its catalog ${catalog} locked`;
  // As PostgreSQL tells a prepared transaction.
  const others = behind === '0' ? 'a prepared transaction' : `process ${behind}`;
  return `${holder} waits to lock its catalog ${catalog}, behind ${others}`;
}

/** Names of the databases that no session can enter now, and why: a session or a prepared transaction has them locked, or a catalog of theirs, or waits for that. @throws Error of PostgreSQL */
export async function lockedDatabases(client: Client): Promise<ReadonlyMap<string, string>> {
  const catalogs = await client.query<CatalogLock>(catalogLockedSql);
  const { rows } = await client.query<{ bytes: Buffer }>(lockedSql);
  return new Map([
    ...catalogs.rows.map((lock) => [exactName(lock.bytes), reasonOf(lock)] as const),
    ...rows.map(({ bytes }) => [exactName(bytes), 'somebody has it locked'] as const),
  ]);
}
