/**
 * Finds pages of the logs of transactions that are not what they were, which PostgreSQL takes as it reads them.
 *
 * Responsible for: what PostgreSQL and the file system are asked for that, and the file in which it outlasts a restart (`ends.json` beside the data directory). What is remembered is remembered-ends.ts.
 *
 * PostgreSQL has these pages in memory, too: what it writes back in time makes damage good. So what a look finds counts when the next one finds it again.
 */
import { join } from 'node:path';
import type { Client } from 'pg';
import type { FileFinding } from '../../../ports/database-server.ts';
import { ownSql } from '../../../pgwire/own-sql.ts';
import { parseLsn, type Lsn } from '../../../wal/lsn.ts';
import { open, readdir, stat } from '../account-files.ts';
import { pageBytes } from '../copy/page.ts';
import { isAbsence } from '../inspect-data-directory.ts';
import {
  logFilePages,
  RememberedEnds,
  transactionLogs,
  type CheckpointFacts,
  type LogFile,
  type TransactionLog,
} from './remembered-ends.ts';
import { RememberedFile } from './remembered-file.ts';

const fileBytesMax = 8 * 1024 * 1024;
/** So seldom what is remembered is written, for each 1,024 letters of it: half a megabyte is not written every few seconds. */
const saveMsPerThousand = 20;

/** Where WAL is, such that whatever pg_xact tells of on the disk stands before: PostgreSQL writes no commit there whose WAL is not flushed. A standby has received what it replays. */
const untilSql = ownSql(`SELECT CASE WHEN pg_catalog.pg_is_in_recovery()
    THEN GREATEST(pg_catalog.pg_last_wal_replay_lsn(), pg_catalog.pg_last_wal_receive_lsn())
    ELSE pg_catalog.pg_current_wal_flush_lsn() END::pg_catalog.text AS until`);
const factsSql = ownSql(`SELECT
    CASE WHEN pg_catalog.pg_is_in_recovery() THEN pg_catalog.pg_last_wal_replay_lsn() ELSE pg_catalog.pg_current_wal_flush_lsn() END::pg_catalog.text AS at,
    c.redo_lsn::pg_catalog.text AS redo, c.oldest_active_xid::pg_catalog.text AS xid, c.next_xid AS next,
    c.next_multixact_id::pg_catalog.text AS multixact, c.next_multi_offset::pg_catalog.text AS member
  FROM pg_catalog.pg_control_checkpoint() c`);

type Facts = Record<'at' | 'redo' | 'xid' | 'next' | 'multixact' | 'member', string | null>;

export class TransactionEnds {
  private readonly dataDir: string;
  private readonly file: RememberedFile;
  /** Of the PostgreSQL that runs; null: it has not been asked yet. */
  private ends: RememberedEnds | null = null;
  /** Of what was written last. */
  private letters = 0;

  constructor(dataDir: string, path: string) {
    this.dataDir = dataDir;
    this.file = new RememberedFile({ dataDir, path, bytesMax: fileBytesMax });
  }

  /** Another PostgreSQL is looked at, perhaps with another database. */
  restart(): void {
    this.ends = null;
    this.file.restart();
  }

  /** Nothing more is written of what was before `restart`. */
  settled(): Promise<void> {
    return this.file.settled();
  }

  /** Looks at the newest pages, and at some of the older ones. */
  async look(client: Client): Promise<FileFinding> {
    const facts = await factsOf(client);
    if (facts === null) return { code: 'whole' };
    const ends = await this.load();
    const isComparable = ends.begin(facts.checkpoint, facts.at);
    const growing = new Map<number, Buffer>();
    for (const log of Object.keys(transactionLogs) as TransactionLog[]) {
      const plan = ends.plan(log, await this.listFiles(ends, log));
      for (const page of plan.settled) {
        const bytes = await this.read(log, page);
        if (bytes === 'gone') continue;
        if (!ends.isSettledPage(log, page, bytes)) return damaged(log, page);
        if (bytes !== null) ends.takeSettled(log, page, bytes);
      }
      for (const page of isComparable ? plan.growing : []) {
        const bytes = await this.read(log, page);
        if (bytes === 'gone') continue;
        if (!ends.isGrowingPage(page, bytes)) return damaged(log, page);
        if (bytes !== null) growing.set(page, bytes);
      }
    }
    if (isComparable) {
      const { rows } = await client.query<{ until: string | null }>(untilSql);
      const until = rows[0]?.until ?? null;
      if (until !== null) ends.takeGrowing(growing, parseLsn(until));
    }
    if (this.ends === ends)
      await this.file.save((of) => this.encode(ends, of), (this.letters / 1024) * saveMsPerThousand);
    return { code: 'whole' };
  }

  private async listFiles(ends: RememberedEnds, log: TransactionLog): Promise<readonly LogFile[]> {
    const directory = join(this.dataDir, log);
    const names = (await readdir(directory)).filter((name) => /^[0-9A-F]{4,6}$/.test(name));
    const files: LogFile[] = [];
    for (const file of ends.newestFiles(
      log,
      names.map((name) => Number.parseInt(name, 16)),
    )) {
      const size = await stat(join(directory, nameOf(file * logFilePages))).then(
        (facts) => facts.size,
        () => null,
      );
      if (size !== null) files.push({ file, pages: Math.floor(size / pageBytes) });
    }
    return files;
  }

  /** Null: the file ends before that page. `gone`: there is no such file, for PostgreSQL has removed it in this moment. */
  private async read(log: TransactionLog, page: number): Promise<Buffer | null | 'gone'> {
    const file = await open(join(this.dataDir, log, nameOf(page)), 'r').catch((error: unknown) => {
      if (isAbsence(error)) return null;
      throw error;
    });
    if (file === null) return 'gone';
    try {
      const bytes = Buffer.alloc(pageBytes);
      const { bytesRead } = await file.read(bytes, 0, pageBytes, (page % logFilePages) * pageBytes);
      return bytesRead === pageBytes ? bytes : null;
    } finally {
      await file.close();
    }
  }

  private async load(): Promise<RememberedEnds> {
    if (this.ends !== null) return this.ends;
    const ends = new RememberedEnds();
    this.ends = ends;
    const found = await this.file.read().catch(() => null);
    if (found === null || this.ends !== ends) return ends;
    this.ends = RememberedEnds.decode(found.text, found.of);
    return this.ends;
  }

  private encode(ends: RememberedEnds, of: string): string {
    const text = ends.encode(of);
    this.letters = text.length;
    return text;
  }
}

/** Null: they are not to be had now, such as behind a pg_control that is damaged, and is whole in memory: the next checkpoint writes it anew. */
async function factsOf(
  client: Client,
): Promise<{ readonly at: Lsn; readonly checkpoint: CheckpointFacts } | null> {
  const { rows } = await client.query<Facts>(factsSql).catch(() => ({ rows: [] }));
  const { at = null, redo = null, xid, next, multixact, member } = rows[0] ?? {};
  if (at === null || redo === null) return null;
  const multixacts = Number(multixact);
  return {
    at: parseLsn(at),
    checkpoint: {
      redo: parseLsn(redo),
      // After the epoch.
      next: Number(next?.split(':').at(-1)),
      settled: {
        // A checkpoint of a shutdown does not say which transactions are prepared.
        pg_xact: xid === '0' ? null : Number(xid),
        'pg_multixact/offsets': multixacts,
        'pg_multixact/members': Number(member),
      },
    },
  };
}

function damaged(log: TransactionLog, page: number): FileFinding {
  const path = `${log}/${nameOf(page)}`;
  return {
    code: 'damaged',
    reason: `page ${page % logFilePages} of the file ${path} is not what it was, and its transactions have ended`,
  };
}

function nameOf(page: number): string {
  return Math.floor(page / logFilePages)
    .toString(16)
    .toUpperCase()
    .padStart(4, '0');
}
