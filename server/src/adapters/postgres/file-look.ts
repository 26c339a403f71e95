/**
 * Looks, a part at a time, whether the files that a running PostgreSQL needs are there: it keeps files open and pages in memory, and may serve for long without noticing that what it needs next is gone.
 *
 * Responsible for: the files that each start and each session needs, a new session in one database after the other, that each relation there has its file, with all that it had, so many relations at a time; and that the
 * logs of transactions say what they said. What other pages hold is not looked at: checksums and `verify` do that.
 * Invariants: nothing is changed; a look is bounded, whatever the size of the database. What is not there may have been dropped in this moment: what a look finds counts when the next one finds it, too, and looks at the same part.
 */
import { join } from 'node:path';
import type { Client } from 'pg';
import type { FileFinding } from '../../ports/database-server.ts';
import { ownSql } from '../../pgwire/own-sql.ts';
import { damageIn, sqlStateOf } from './database-error.ts';
import { readdir, stat } from './account-files.ts';
import { inspectDataDirectory, isAbsence } from './inspect-data-directory.ts';
import { type ListedDatabase, listDatabases } from './databases.ts';
import { connectPg, mainDatabase } from './pg-client.ts';
import { lackOf, listRelationFiles, type RelationFile, relationsMax } from './relation-files.ts';
import { rememberedNames } from './remembered/remembered-file.ts';
import { RelationSizes, type SizeBounds } from './remembered/relation-sizes.ts';
import { TransactionEnds } from './remembered/transaction-ends.ts';
import { failureOf } from './start-failure.ts';

export interface LookedAt {
  readonly directory: string;
  readonly dataDir: string;
  readonly socketDir: string;
  /** Of one statement of a look, if not the usual. */
  readonly statementMs?: number;
  /** Nobody else asks PostgreSQL for pages with a wrong checksum that anybody has met. */
  readonly asksForPages?: boolean;
}

/** Of each of these directories at least one file is there, and none is empty. (Where the disk was full, the newest may end within a page.) */
const statusDirectories = ['pg_xact', 'pg_multixact/offsets', 'pg_multixact/members'] as const;
const statusFilesMax = 32;
/** Errors of PostgreSQL's own; those of other classes come from settings, want of places or memory, or a conflict with the replay. */
const ofPostgres = /^(?:XX|58)/;
const statementMsUsual = 30_000;
/** A session that could end its statement itself has done so by then. */
const endMs = 10_000;

/** Counted since the last crash: what is shut down in order keeps it, and a copy begins with none. Clients can imitate the error, not the count. */
const wrongPagesSql = ownSql(
  'SELECT pg_catalog.sum(checksum_failures) > 0 AS some FROM pg_catalog.pg_stat_database',
);

/** Our own role is not known: where pg_authid cannot be read. (What pg_hba.conf refuses has the same SQLSTATE, and comes from another file.) */
function lacksRole(error: unknown): boolean {
  return sqlStateOf(error) === '28000' && (error as { readonly file?: unknown }).file === 'miscinit.c';
}

export class FileLook {
  private readonly place: LookedAt;
  /** Of this round, those that are not done. */
  private databases: Pick<ListedDatabase, 'name' | 'bytes'>[] = [];
  private above = '0';
  private readonly sizes: RelationSizes;
  private readonly ends: TransactionEnds;

  constructor(place: LookedAt) {
    this.place = place;
    const { directory, dataDir } = place;
    this.sizes = new RelationSizes(dataDir, join(directory, rememberedNames.sizes));
    this.ends = new TransactionEnds(dataDir, join(directory, rememberedNames.ends));
  }

  /** Another PostgreSQL is looked at. */
  restart(): void {
    this.databases = [];
    this.above = '0';
    this.sizes.restart();
    this.ends.restart();
  }

  /** Nothing more is written of the PostgreSQL before `restart`. */
  async settled(): Promise<void> {
    await this.sizes.settled();
    await this.ends.settled();
  }

  async look(): Promise<FileFinding> {
    const missing = await this.essentials();
    if (missing !== null) return { code: 'damaged', reason: missing };
    return this.relations();
  }

  private async essentials(): Promise<string | null> {
    const { directory, dataDir } = this.place;
    const found = await inspectDataDirectory(directory);
    if (found === 'missing') return `${dataDir} is missing`;
    if (typeof found === 'object') return found.lost;
    for (const name of statusDirectories) {
      const path = join(dataDir, name);
      const files = await readdir(path).catch((error: unknown) => {
        if (!isAbsence(error)) throw error;
        return [];
      });
      if (files.length === 0) return `${path} holds no file`;
      for (const file of files.toSorted((a, b) => (a < b ? -1 : 1)).slice(-statusFilesMax)) {
        const size = await stat(join(path, file)).then(
          (facts) => facts.size,
          () => null,
        );
        if (size === 0) return `${join(path, file)} is empty`;
      }
    }
    return (await readdir(join(dataDir, 'pg_wal'))).some((name) => /^[0-9A-F]{24}$/.test(name))
      ? null
      : `${join(dataDir, 'pg_wal')} holds no WAL`;
  }

  private async relations(): Promise<FileFinding> {
    const { name: database, bytes } = this.databases[0] ?? { name: mainDatabase, bytes: mainDatabase };
    const { socketDir, statementMs = statementMsUsual } = this.place;
    try {
      const client = await connectPg({
        socketDir,
        database: bytes,
        silentMsMax: statementMs + endMs,
        settings: { statement_timeout: String(statementMs) },
      });
      try {
        return await this.part(client);
      } finally {
        await client.end().catch(() => undefined);
      }
    } catch (error) {
      const { code, reason } = failureOf(error);
      if (code === 'databaseLost' || damageIn(error) !== null)
        return { code: 'damaged', reason: `database "${database}": ${reason}` };
      const sqlState = sqlStateOf(error);
      if (sqlState !== null && (ofPostgres.test(sqlState) || lacksRole(error)))
        return { code: 'refused', reason: `database "${database}" lets in no session: ${reason}` };
      // It was dropped, or is full; another one is looked at.
      this.nextDatabase();
      return { code: 'unknown' };
    }
  }

  private async part(client: Client): Promise<FileFinding> {
    if (this.place.asksForPages === true) {
      const { rows } = await client.query<{ some: boolean | null }>(wrongPagesSql);
      if (rows[0]?.some === true)
        return { code: 'damaged', reason: 'PostgreSQL has met pages with a wrong checksum' };
    }
    const ends = await this.ends.look(client);
    if (ends.code !== 'whole') return ends;
    const bounds = await this.sizes.bounds(client);
    if (this.databases.length === 0) {
      const listed = await listDatabases(client);
      this.databases = listed.filter(({ isOpen, isBroken }) => isOpen && !isBroken);
      this.above = '0';
      this.sizes.beginCycle();
      return { code: 'whole' };
    }
    const rows = await listRelationFiles(client, this.above);
    for (const row of rows) {
      const lack = lackOf(row);
      if (lack !== null)
        return { code: 'damaged', reason: `the file ${row.path} ${lack}, which a relation needs` };
    }
    const isLast = rows.length < relationsMax;
    if (bounds !== null) {
      const finding = await this.lookAtSizes(client, bounds, rows, isLast);
      if (finding.code !== 'whole') return finding;
    }
    if (isLast) this.nextDatabase();
    else this.above = rows.at(-1)!.oid;
    return { code: 'whole' };
  }

  private async lookAtSizes(
    client: Client,
    bounds: SizeBounds,
    rows: readonly RelationFile[],
    isLast: boolean,
  ): Promise<FileFinding> {
    const { sizes } = this;
    if (this.above === '0') sizes.beginRound(bounds);
    const files = rows.flatMap(({ oid, path, size }) =>
      path === null ? [] : [{ oid, path, bytes: Number(size) }],
    );
    const finding = await sizes.look(client, bounds, files);
    if (finding.code === 'whole' && isLast) await sizes.endRound(bounds);
    return finding;
  }

  private nextDatabase(): void {
    this.databases.shift();
    this.above = '0';
  }
}
