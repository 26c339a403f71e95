/**
 * The snapshot of one database, held by a session that does nothing else, for others to read with.
 *
 * Responsible for: taking it, again if need be, and what can be seen only at that very moment. The session holds no lock on any table, so whatever is done to one, in a primary or by the replay of a standby, finds
 * the session that reads it in its way, and not the snapshot.
 */
import type { Client } from 'pg';
import type { SnapshotView } from '../../../ports/digest.ts';
import { sqlStateOf } from '../database-error.ts';
import { listDatabases, type ListedDatabase, lockedDatabases } from '../databases.ts';
import { endSession, openReadingSession, type ReadingAddress } from './reading-session.ts';
import { mappedStorageSql } from './relations-sql.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';

export interface SequencePosition {
  /** With its schema, in the database's encoding. */
  readonly name: Buffer;
  /** Empty if it has given no value yet. */
  readonly value: string;
}

export interface TakenSnapshot {
  /** By which another session of the same database takes it over. */
  readonly id: string;
  readonly view: SnapshotView;
  readonly isStandby: boolean;
  /** Null on a primary, whose sequences go on whatever is held back; `late`: they were not told in time. */
  readonly sequences: readonly SequencePosition[] | 'late' | null;
}

const takeSql = `BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY;
  SELECT pg_catalog.pg_export_snapshot() AS id, pg_catalog.pg_current_snapshot()::pg_catalog.text AS view`;

/** Positions of sequences are in no snapshot. */
const sequencesSql =
  ownSql(`SELECT pg_catalog.convert_to(pg_catalog.concat(pg_catalog.quote_ident(n.nspname), '.', pg_catalog.quote_ident(c.relname)), pg_catalog.getdatabaseencoding()) AS name,
    coalesce(pg_catalog.pg_sequence_last_value(c.oid::pg_catalog.regclass)::pg_catalog.text, '') AS value
  FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace WHERE c.relkind = 'S' AND c.relpersistence = 'p'`);

/** Of each statement here: commits wait while some of them run. */
const heldMs = 1000;
/** A sequence that somebody drops in an open transaction is locked on standbys, too. */
export const sequencesMs = 800;
const timeLimits: ReadonlySet<string | null> = new Set(['57014', '55P03']);

/** By the time limit, or that for locks. */
export function isTimeLimit(error: unknown): boolean {
  return timeLimits.has(sqlStateOf(error));
}

/** Large databases are best read last; about how large each is, with what is in its catalogs of that. */
const aboutSql = ownSql(
  `SELECT pg_catalog.sum(greatest(relpages, 0))::pg_catalog.float8 AS pages FROM pg_catalog.pg_class`,
);

export class HeldSnapshot {
  readonly database: string;
  readonly databaseBytes: Uint8Array;
  /** Of relations whose files are in no catalog: the files that they had before the snapshot, by oid. */
  readonly mappedStorage: ReadonlyMap<string, string>;
  /** As far as it is known. */
  readonly pages: number;
  private readonly statementMs: number;
  private readonly client: Client;
  private taken: TakenSnapshot | null = null;

  /** @throws whatever `pg` throws when PostgreSQL is away or refuses */
  static async open(
    address: ReadingAddress,
    database: Pick<ListedDatabase, 'name' | 'bytes'>,
  ): Promise<HeldSnapshot> {
    const statementMs = Math.min(heldMs, address.statementMs ?? heldMs);
    const client = await openReadingSession({ ...address, statementMs }, database.bytes);
    try {
      const { rows } = await client.query<{ oid: string; storage: string }>(mappedStorageSql);
      const about = await client.query<{ pages: number }>(aboutSql);
      return new HeldSnapshot(database, client, {
        mappedStorage: new Map(rows.map(({ oid, storage }) => [oid, storage])),
        pages: about.rows[0]!.pages,
        statementMs,
      });
    } catch (error) {
      await endSession(client);
      throw error;
    }
  }

  private constructor(
    { name, bytes }: Pick<ListedDatabase, 'name' | 'bytes'>,
    client: Client,
    facts: Pick<HeldSnapshot, 'mappedStorage' | 'pages'> & { readonly statementMs: number },
  ) {
    this.database = name;
    this.databaseBytes = bytes;
    this.client = client;
    this.mappedStorage = facts.mappedStorage;
    this.pages = facts.pages;
    this.statementMs = facts.statementMs;
  }

  /** The replay of a standby may have ended the session. */
  async isLost(): Promise<boolean> {
    return this.client.query('SELECT').then(
      () => false,
      () => true,
    );
  }

  get current(): TakenSnapshot {
    if (this.taken === null) throw new Error(`no snapshot of ${this.database} was taken`);
    return this.taken;
  }

  /** Takes one now, in the place of what was taken before. @throws whatever `pg` throws */
  async take(): Promise<TakenSnapshot> {
    if (this.taken !== null) await this.client.query('ROLLBACK');
    this.taken = null;
    const isStandby = await this.isStandby();
    const sequences = isStandby ? await this.sequences() : null;
    const results = (await this.client.query<{ id: string; view: string }>(takeSql)) as unknown as readonly {
      readonly rows: readonly { readonly id: string; readonly view: string }[];
    }[];
    const { id, view } = results[1]!.rows[0]!;
    this.taken = { id, view: parseView(view), isStandby, sequences };
    return this.taken;
  }

  private async sequences(): Promise<TakenSnapshot['sequences']> {
    const { client, statementMs } = this;
    await client.query(limitSql(Math.min(sequencesMs, statementMs)));
    try {
      return (await client.query<SequencePosition>(sequencesSql)).rows;
    } catch (error) {
      if (isTimeLimit(error)) return 'late';
      throw error;
    } finally {
      await client.query(limitSql(statementMs)).catch(() => undefined);
    }
  }

  private async isStandby(): Promise<boolean> {
    const { rows } = await this.client.query<{ is: boolean }>('SELECT pg_catalog.pg_is_in_recovery() AS is');
    return rows[0]!.is;
  }

  /** The databases that this snapshot shows, the oldest first, but for the one that stays what initdb has made. Of the database `postgres` alone, for what it locks. */
  async databases(): Promise<readonly ListedDatabase[]> {
    return (await listDatabases(this.client)).filter(({ isSealed }) => !isSealed);
  }

  /** Names of databases that cannot be entered now, and why. */
  locked(): Promise<ReadonlyMap<string, string>> {
    return lockedDatabases(this.client);
  }

  close(): Promise<void> {
    return endSession(this.client);
  }
}

function limitSql(ms: number): string {
  return `SET statement_timeout = ${ms}`;
}

/** Such as `100:103:100,102`. */
export function parseView(text: string): SnapshotView {
  const [, end = '', running = ''] = text.split(':');
  const ids = running.split(',').filter((id) => id !== '');
  return { end: BigInt(end), running: new Set(ids.map(BigInt)) };
}
