/**
 * Finds files of relations that have become shorter without a word of it in the WAL.
 *
 * Responsible for: what PostgreSQL and the file system are asked for that, and the file in which sizes outlast a restart (`sizes.json` beside the data directory). What is remembered is remembered-sizes.ts.
 *
 * PostgreSQL writes the record of a truncation, flushes it, truncates the file, and holds an AccessExclusiveLock from before to after. So a truncation is in the WAL behind a position that was read before the size, unless the relation was
 * locked in between. A standby is at the position that it has replayed. A file is also truncated when it is removed; then pg_class tells so.
 *
 */
import { join } from 'node:path';
import type { Client } from 'pg';
import type { FileFinding } from '../../../ports/database-server.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';
import { parseLsn, type Lsn } from '../../../wal/lsn.ts';
import type { MainFork } from '../../../wal/record/shortenings.ts';
import { stat } from '../account-files.ts';
import { pageBytes, segmentPages } from '../copy/page.ts';
import { RememberedFile } from './remembered-file.ts';
import { RememberedSizes, type FileSize, type Shorter, type WalBounds } from './remembered-sizes.ts';
import { readShortenings } from './wal-shortenings.ts';

/** A relation with a file, and the size of the first one. */
export interface ListedFile {
  readonly oid: string;
  readonly path: string;
  readonly bytes: number;
}

/** What PostgreSQL said before the sizes were read. */
export interface SizeBounds extends WalBounds {
  readonly database: number;
  /** Relations that may be about to be truncated. */
  readonly locked: ReadonlySet<string>;
}

/** Some 100 bytes each. */
const filesMax = 100_000;
/** With the longest paths there are. */
const fileBytesMax = 16 * 1024 * 1024;
/** So seldom what is remembered is written, for each file: 2 MB are not written every few seconds. */
const saveMsPerFile = 1;
/** Then PostgreSQL has been given time to write what is missing. */
const unreadMax = 3;

const boundsSql =
  ownSql(`SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_insert_lsn() END::pg_catalog.text AS at,
    (pg_catalog.pg_control_checkpoint()).redo_lsn::pg_catalog.text AS redo, d.oid::pg_catalog.int8::pg_catalog.text AS database
  FROM pg_catalog.pg_database d WHERE d.datname = pg_catalog.current_database()`);
const lockedSql = ownSql(`SELECT relation::pg_catalog.int8::pg_catalog.text AS oid FROM pg_catalog.pg_locks
  WHERE locktype = 'relation' AND mode = 'AccessExclusiveLock' AND granted`);
/** $1: oids. Whatever was truncated before is flushed, and replayed but for the record at hand. */
const againSql =
  ownSql(`SELECT CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_flush_lsn() END::pg_catalog.text AS at,
    ARRAY(SELECT pg_catalog.pg_relation_filepath(c.oid) FROM pg_catalog.pg_class c WHERE c.oid = ANY ($1::pg_catalog.text[]::pg_catalog.oid[])) AS paths`);

export class RelationSizes {
  private readonly dataDir: string;
  private readonly file: RememberedFile;
  /** Of the PostgreSQL that runs; null: it has not been asked yet. */
  private sizes: RememberedSizes | null = null;
  private lost: { readonly oid: string; readonly path: string; readonly reason: string } | null = null;
  private unread = 0;

  constructor(dataDir: string, path: string) {
    this.dataDir = dataDir;
    this.file = new RememberedFile({ dataDir, path, bytesMax: fileBytesMax });
  }

  /** Another PostgreSQL is looked at, perhaps with another database. */
  restart(): void {
    this.sizes = null;
    this.lost = null;
    this.unread = 0;
    this.file.restart();
  }

  /** Nothing more is written of what was before `restart`. */
  settled(): Promise<void> {
    return this.file.settled();
  }

  /** To be read before the sizes. Null: there are none to be had now. */
  async bounds(client: Client): Promise<SizeBounds | null> {
    try {
      const { rows } = await client.query<Record<'at' | 'redo' | 'database', string | null>>(boundsSql);
      const { at = null, redo = null, database = null } = rows[0] ?? {};
      if (at === null || redo === null) return null;
      const locked = await client.query<{ oid: string }>(lockedSql);
      const bounds = {
        at: parseLsn(at),
        redo: parseLsn(redo),
        database: Number(database),
        locked: new Set(locked.rows.map(({ oid }) => oid)),
      };
      await this.load(bounds.at);
      return bounds;
    } catch {
      // Such as a pg_control that is damaged, and is whole in memory: the next checkpoint writes it anew.
      return null;
    }
  }

  beginCycle(): void {
    this.sizes?.beginCycle();
  }

  beginRound({ database, ...bounds }: SizeBounds): void {
    this.sizes?.beginRound(database, bounds);
  }

  async endRound({ database }: SizeBounds): Promise<void> {
    const { sizes } = this;
    sizes?.endRound(database);
    if (sizes !== null) await this.file.save((of) => sizes.encode(of), sizes.files * saveMsPerFile);
  }

  /** `files`: those of a part of the relations, listed after `bounds`. `unknown`: they are to be looked at again. */
  async look(client: Client, bounds: SizeBounds, files: readonly ListedFile[]): Promise<FileFinding> {
    const { sizes } = this;
    if (sizes === null) return { code: 'unknown' };
    const measured: (FileSize & { readonly oid: string })[] = [];
    for (const file of files) measured.push({ ...file, pages: await pagesOf(this.dataDir, file) });
    const oidOf = new Map(files.map(({ oid, path }) => [path, oid]));
    const shorter = sizes.shorter(bounds.database, measured);
    const finding = await this.judge(client, shorter, (path) => oidOf.get(path) ?? '0');
    if (finding.code !== 'whole') return finding;
    sizes.take(
      bounds.database,
      measured.filter(({ oid }) => !bounds.locked.has(oid)),
    );
    return finding;
  }

  /** What was found once counts for as long as the relation has that file: it may have grown since. */
  private async judge(
    client: Client,
    shorter: readonly Shorter[],
    oidOf: (path: string) => string,
  ): Promise<FileFinding> {
    const { lost } = this;
    const oids = shorter.map(({ path }) => oidOf(path));
    if (lost !== null) oids.push(lost.oid);
    if (oids.length === 0) return { code: 'whole' };
    const { rows } = await client.query<{ at: string | null; paths: (string | null)[] }>(againSql, [oids]);
    const { at = null, paths = [] } = rows[0] ?? {};
    if (lost !== null && paths.includes(lost.path)) return { code: 'damaged', reason: lost.reason };
    this.lost = null;
    const still = shorter.filter(({ path }) => paths.includes(path));
    if (still.length === 0 || at === null) return { code: 'whole' };
    const from = Math.min(...still.map((file) => file.from)) as Lsn;
    const wanted = still.map(({ path, pages }) => Object.assign(mainForkOf(path), { pages }));
    const read = await readShortenings({ dataDir: this.dataDir, wanted, from, until: parseLsn(at) });
    if (read.code === 'unread' && this.unread < unreadMax) {
      this.unread += 1;
      return { code: 'unknown' };
    }
    this.unread = 0;
    if (read.code !== 'read') return { code: 'whole' };
    const lostAt = wanted.findIndex((fork) => !read.shortenings.explains(fork, fork.pages));
    const found = still[lostAt];
    if (found === undefined) return { code: 'whole' };
    const { path, before } = found;
    const reason = `the file ${path} has lost some of its ${before} pages, and nothing in the WAL says why`;
    this.lost = { oid: oidOf(path), path, reason };
    return { code: 'damaged', reason };
  }

  private async load(at: Lsn): Promise<void> {
    if (this.sizes !== null) return;
    const sizes = new RememberedSizes(filesMax);
    this.sizes = sizes;
    const found = await this.file.read().catch(() => null);
    if (found !== null && this.sizes === sizes)
      this.sizes = RememberedSizes.decode(found.text, { of: found.of, at, filesMax });
  }
}

/** What lies behind a segment that is not full is nobody's. */
async function pagesOf(dataDir: string, { path, bytes }: ListedFile): Promise<number> {
  let pages = Math.floor(bytes / pageBytes);
  for (let segment = 1; pages === segment * segmentPages; segment += 1) {
    const size = await stat(join(dataDir, `${path}.${segment}`)).then(
      (found) => found.size,
      () => 0,
    );
    pages += Math.floor(size / pageBytes);
  }
  return pages;
}

/** `global/N`, `base/DATABASE/N`, or `pg_tblspc/TABLESPACE/VERSION/DATABASE/N`. */
function mainForkOf(path: string): MainFork {
  const [relation, database] = path.split('/').toReversed();
  return { database: Number(database) || 0, relation: Number(relation) };
}
