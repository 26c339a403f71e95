/**
 * What stood in the logs of transactions, whose pages have no checksum: how each transaction has ended (pg_xact), and which transactions hold a row together (pg_multixact).
 *
 * Pure. Responsible for: which pages are looked at, what of them is remembered, and what cannot be. How pages are read is not its business. Source: src/backend/access/transam/clog.c and multixact.c of PostgreSQL.
 *
 * A page is settled once all its numbers lie below what the checkpoint before the last one had: it is on the disk, no recovery makes it anew, and nothing in it changes any more. Of such a page a sum is remembered. Of the newest pages
 * of pg_xact their bytes are remembered, for an end that stands there stands there for good. A recovery makes these pages anew out of WAL: so after a restart commits count, once it is as far as it was when they were read.
 *
 * Invariants: what is remembered is bounded. What was not seen before is taken as it is found.
 */
import { crc32 } from 'node:zlib';
import { z } from 'zod';
import type { Lsn } from '../../../wal/lsn.ts';
import { pageBytes } from '../copy/page.ts';
import { jsonOf } from './remembered-file.ts';

/** `numbers`: on each page. All are 32 bits wide, and begin anew behind the last one. */
export const transactionLogs = {
  pg_xact: { numbers: pageBytes * 4 },
  'pg_multixact/offsets': { numbers: pageBytes / 4 },
  'pg_multixact/members': { numbers: Math.floor(pageBytes / 20) * 4 },
} as const;
export type TransactionLog = keyof typeof transactionLogs;

/** Pages of each file of such a log. */
export const logFilePages = 32;

/** `redo` tells one from another. `next`: the next transaction. `settled`: what lies below had come to an end, or been given away, when it was made; null: that is not known. */
export interface CheckpointFacts {
  readonly redo: Lsn;
  readonly next: number;
  readonly settled: Readonly<Record<TransactionLog, number | null>>;
}

/** Of each log, the newest: 268 million transactions. A log of multixacts can have tens of thousands, which would take long to list. */
const logFilesMax = 256;

/** A file of a log as it is listed: its number, and how many whole pages it has. */
export interface LogFile {
  readonly file: number;
  readonly pages: number;
}

export interface PagePlan {
  readonly settled: readonly number[];
  /** Of pg_xact alone. */
  readonly growing: readonly number[];
}

/** A million transactions. */
const growingMax = 32;
/** In one look: half a megabyte. */
const settledAtOnce = 64;
/** More than pg_xact ever has. */
const settledMax = 100_000;

const names = Object.keys(transactionLogs) as TransactionLog[];
const count = z.int().min(0);
const shape = z.strictObject({
  version: z.literal(1),
  of: z.string(),
  until: count,
  settled: z.partialRecord(
    z.enum(names as [TransactionLog, ...TransactionLog[]]),
    z.record(z.string(), count),
  ),
  growing: z.record(z.string(), z.base64().length(Math.ceil(pageBytes / 3) * 4)),
});

export class RememberedEnds {
  private readonly sums = new Map<TransactionLog, Map<number, number>>(
    names.map((name) => [name, new Map()]),
  );
  private growing = new Map<number, Buffer>();
  /** Where WAL was when the growing pages were read, or before. */
  private until = 0 as Lsn;
  /** Of a database that has been started since: whether a recovery has come so far was not looked at. */
  private isAnew = false;
  /** The growing pages were read while the PostgreSQL ran that runs now. Nobody flushes the WAL of a rollback: behind a crash it may not have happened. */
  private isSameRun = false;
  private checkpoints: { readonly before: CheckpointFacts | null; readonly last: CheckpointFacts | null } = {
    before: null,
    last: null,
  };
  /** The page of each log that was planned last. */
  private readonly reached = new Map<TransactionLog, number>();

  /** `at`: so far WAL has been replayed, or written. Returns whether the growing pages count now. */
  begin(checkpoint: CheckpointFacts, at: Lsn): boolean {
    const { last } = this.checkpoints;
    if (last?.redo !== checkpoint.redo) this.checkpoints = { before: last, last: checkpoint };
    if (this.isAnew && at >= this.until) this.isAnew = false;
    return !this.isAnew;
  }

  /** Which of these files are looked at. `begin` is called before. */
  newestFiles(log: TransactionLog, files: readonly number[]): readonly number[] {
    if (files.length <= logFilesMax) return files;
    const { last } = this.checkpoints;
    const next = last === null ? null : log === 'pg_xact' ? last.next : last.settled[log];
    const ahead = (file: number): number => distance(log, pageOf(log, next ?? 0), file * logFilePages);
    const known = files.map((file) => ({ file, ahead: ahead(file) })).sort((a, b) => a.ahead - b.ahead);
    return known.slice(-logFilesMax).map(({ file }) => file);
  }

  /** Which pages are to be read now; those of files that are not given are forgotten. `begin` is called before. */
  plan(log: TransactionLog, files: readonly LogFile[]): PagePlan {
    const there = new Map(files.map(({ file, pages }) => [file, pages]));
    const { last, before } = this.checkpoints;
    const sums = this.sums.get(log)!;
    for (const page of sums.keys()) if (!there.has(fileOf(page))) sums.delete(page);
    if (last === null) return { settled: [], growing: [] };
    const all = files.flatMap(({ file, pages }) =>
      Array.from({ length: Math.min(pages, logFilePages) }, (_, page) => file * logFilePages + page),
    );
    // What was there before, and is not, is to be missed.
    const known = [...sums.keys(), ...(log === 'pg_xact' ? this.growing.keys() : [])];
    const pages = [...new Set([...all, ...known])].filter((page) => there.has(fileOf(page)));
    const settled = before === null ? [...sums.keys()] : pages.filter((page) => isBelow(log, page, before));
    return {
      settled: this.nextOf(log, settled),
      growing: log === 'pg_xact' ? this.newest(pages, last.next) : [],
    };
  }

  /** Whether a page can be what it was. `bytes` null: its file ends before it. */
  isSettledPage(log: TransactionLog, page: number, bytes: Buffer | null): boolean {
    const before = this.sums.get(log)!.get(page);
    return before === undefined || (bytes !== null && crc32(bytes) === before);
  }

  /** As `isSettledPage`, of a page of pg_xact that grows. */
  isGrowingPage(page: number, bytes: Buffer | null): boolean {
    const before = this.growing.get(page);
    return before === undefined || (bytes !== null && keepsEnds(before, bytes, this.isSameRun));
  }

  takeSettled(log: TransactionLog, page: number, bytes: Buffer): void {
    const sums = this.sums.get(log)!;
    if (sums.has(page) || this.pages < settledMax) sums.set(page, crc32(bytes));
  }

  /** All growing pages that were read in this look. `until`: whatever they tell stands in the WAL before. */
  takeGrowing(pages: ReadonlyMap<number, Buffer>, until: Lsn): void {
    this.growing = new Map(pages);
    this.isSameRun = true;
    this.until = until;
  }

  /** Pages of which a sum is remembered. */
  get pages(): number {
    let pages = 0;
    for (const sums of this.sums.values()) pages += sums.size;
    return pages;
  }

  /** `of` names the very database that the files are of. */
  encode(of: string): string {
    const settled = Object.fromEntries([...this.sums].map(([log, sums]) => [log, Object.fromEntries(sums)]));
    const growing = Object.fromEntries(
      [...this.growing].map(([page, bytes]) => [page, bytes.toString('base64')]),
    );
    return JSON.stringify({ version: 1, of, until: this.until, settled, growing });
  }

  /** What `encode` gave before PostgreSQL was started again. Nothing is remembered of another database, or of a text that cannot be understood. */
  static decode(text: string, of: string): RememberedEnds {
    const ends = new RememberedEnds();
    const found = shape.safeParse(jsonOf(text));
    if (!found.success || found.data.of !== of) return ends;
    const { settled, growing, until } = found.data;
    for (const log of names)
      for (const [page, sum] of Object.entries(settled[log] ?? {}).slice(0, settledMax))
        ends.sums.get(log)!.set(Number(page), sum);
    for (const [page, bytes] of Object.entries(growing).slice(0, growingMax))
      ends.growing.set(Number(page), Buffer.from(bytes, 'base64'));
    ends.until = until as Lsn;
    ends.isAnew = true;
    return ends;
  }

  /** The next ones in order, from the beginning again behind the last. */
  private nextOf(log: TransactionLog, pages: readonly number[]): readonly number[] {
    const sorted = pages.toSorted((a, b) => a - b);
    const reached = this.reached.get(log) ?? -1;
    const first = sorted.findIndex((page) => page > reached);
    const next = sorted.slice(Math.max(first, 0), Math.max(first, 0) + settledAtOnce);
    this.reached.set(log, next.at(-1) ?? -1);
    return next;
  }

  private newest(pages: readonly number[], next: number): readonly number[] {
    const from = pageOf('pg_xact', next);
    return pages
      .toSorted((a, b) => distance('pg_xact', from, a) - distance('pg_xact', from, b))
      .slice(-growingMax);
  }
}

function fileOf(page: number): number {
  return Math.floor(page / logFilePages);
}

function pageOf(log: TransactionLog, number: number): number {
  return Math.floor(number / transactionLogs[log].numbers);
}

/** How far `page` lies ahead of `from`, round the end; negative: behind it. */
function distance(log: TransactionLog, from: number, page: number): number {
  const round = Math.ceil(2 ** 32 / transactionLogs[log].numbers);
  const ahead = (page - from + round) % round;
  return ahead < round / 2 ? ahead : ahead - round;
}

function isBelow(log: TransactionLog, page: number, { settled }: CheckpointFacts): boolean {
  const number = settled[log];
  return number !== null && distance(log, pageOf(log, number), page) < 0;
}

/** Four transactions in a byte, two bits each: 01 is a commit, 10 a rollback. */
function keepsEnds(before: Buffer, now: Buffer, withRollbacks: boolean): boolean {
  if (before.equals(now)) return true;
  for (let at = 0; at < before.length; at += 1) {
    const [was, is] = [before[at]!, now[at]!];
    const commits = was & ~(was >> 1) & 0x55;
    const rollbacks = withRollbacks ? (was >> 1) & ~was & 0x55 : 0;
    if ((commits & (~is | (is >> 1))) !== 0 || (rollbacks & (is | ~(is >> 1))) !== 0) return false;
  }
  return true;
}
