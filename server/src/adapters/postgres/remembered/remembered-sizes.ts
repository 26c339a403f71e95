/**
 * How many pages the files of relations had, and from where on the WAL must explain that they have fewer.
 *
 * Pure. Responsible for: what is remembered, for how long, and what is forgotten. How sizes are found out, and what the WAL says, is not its business.
 * Invariants: a size is remembered with a position below which no truncation is under way that the size does not show. At most `filesMax` are remembered. What cannot be relied on is forgotten: a miss costs less than a false alarm.
 *
 * A size counts from the round on that looked at all relations of its database. A restart of PostgreSQL replays WAL from its last checkpoint on: a truncation there takes away pages that were made in advance, for which there is no
 * WAL. So what is remembered over a restart has to be explained by the WAL from that checkpoint on.
 */
import { z } from 'zod';
import type { Lsn } from '../../../wal/lsn.ts';
import { jsonOf } from './remembered-file.ts';

/** `at`: what is truncated by WAL below is truncated. `redo`: where a recovery would begin now, or later. */
export interface WalBounds {
  readonly at: Lsn;
  readonly redo: Lsn;
}

export interface FileSize {
  /** Relative to the data directory; tells tablespace, database and number of the file. */
  readonly path: string;
  /** Whole pages, of all its segments. */
  readonly pages: number;
}

/** A file that had `before` pages when WAL ended at `from`, or ended later. */
export interface Shorter extends FileSize {
  readonly before: number;
  readonly from: Lsn;
}

interface Known {
  readonly from: Lsn;
  readonly redo: Lsn;
  readonly pages: ReadonlyMap<string, number>;
}

interface Round extends WalBounds {
  readonly database: number;
  readonly pages: Map<string, number>;
  /** What may be remembered of this database. */
  readonly filesMax: number;
}

const count = z.int().min(0);
const shape = z.strictObject({
  version: z.literal(1),
  of: z.string(),
  databases: z.array(z.strictObject({ database: count, redo: count, pages: z.record(z.string(), count) })),
});

export class RememberedSizes {
  private readonly filesMax: number;
  private known = new Map<number, Known>();
  /** Databases that were looked at since the last listing of databases. */
  private seen = new Set<number>();
  private round: Round | null = null;

  constructor(filesMax: number) {
    this.filesMax = filesMax;
  }

  /** All databases have been listed anew: what was not looked at since the last time is not there any more. */
  beginCycle(): void {
    for (const database of this.known.keys()) if (!this.seen.has(database)) this.known.delete(database);
    this.seen = new Set();
    this.round = null;
  }

  /** All relations of this database are looked at from now on. A round that was not ended is of no use. */
  beginRound(database: number, { at, redo }: WalBounds): void {
    let others = 0;
    for (const [other, { pages }] of this.known) if (other !== database) others += pages.size;
    const filesMax = Math.max(0, this.filesMax - others);
    this.seen.add(database);
    this.round = { database, at, redo: Math.min(at, redo) as Lsn, pages: new Map(), filesMax };
  }

  /** Those that have fewer pages than they had. */
  shorter(database: number, files: readonly FileSize[]): readonly Shorter[] {
    const known = this.known.get(database);
    if (known === undefined) return [];
    return files.flatMap((file) => {
      const before = known.pages.get(file.path) ?? 0;
      return file.pages < before ? [{ ...file, before, from: known.from }] : [];
    });
  }

  /** These are as they should be. */
  take(database: number, files: readonly FileSize[]): void {
    const { round } = this;
    if (round === null || round.database !== database) return;
    for (const { path, pages } of files)
      if (pages > 0 && round.pages.size < round.filesMax) round.pages.set(path, pages);
  }

  /** All relations of this database have been looked at: what is remembered is what was found in this round. */
  endRound(database: number): void {
    const { round } = this;
    this.round = null;
    if (round === null || round.database !== database) return;
    this.known.set(database, { from: round.at, redo: round.redo, pages: round.pages });
  }

  /** `of` names the very database that the files are of. */
  encode(of: string): string {
    const databases = [...this.known].map(([database, { redo, pages }]) => ({
      database,
      redo,
      pages: Object.fromEntries(pages),
    }));
    return JSON.stringify({ version: 1, of, databases });
  }

  get files(): number {
    let files = 0;
    for (const { pages } of this.known.values()) files += pages.size;
    return files;
  }

  /** What `encode` gave before PostgreSQL was started again. `at`: where its WAL is now. Nothing is remembered of another database, of a text that cannot be understood, or if the WAL has gone back. */
  static decode(
    text: string,
    { of, at, filesMax }: { readonly of: string; readonly at: Lsn; readonly filesMax: number },
  ): RememberedSizes {
    const sizes = new RememberedSizes(filesMax);
    const found = shape.safeParse(jsonOf(text));
    if (!found.success || found.data.of !== of) return sizes;
    for (const { database, redo, pages } of found.data.databases) {
      const from = redo as Lsn;
      const all = new Map(Object.entries(pages));
      if (from <= at && sizes.files + all.size <= filesMax)
        sizes.known.set(database, { from, redo: from, pages: all });
      sizes.seen.add(database);
    }
    return sizes;
  }
}
