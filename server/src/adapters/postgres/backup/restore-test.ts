/**
 * Whether a backup can be restored, found out by doing so: it is unpacked in a directory of its own, replayed to the end of the archive, started, and looked through.
 *
 * Responsible for: the steps, and leaving nothing behind. What is checked is in check-pages.ts, check-database.ts and check-entries.ts.
 */
import { join } from 'node:path';
import { rm } from '../account-files.ts';
import { formatLsn } from '../../../wal/lsn.ts';
import type { PgBinaries } from '../binaries.ts';
import {
  checkRelations,
  doubtfulRelations,
  invalidDatabases,
  dropPrepared,
  installAmcheck,
  openForChecks,
} from './check-database.ts';
import { checkEntries, listIndexFiles } from './check-entries.ts';
import { checkPages } from './check-pages.ts';
import { restoreBackup, type RestoredDatabase } from './restore-backup.ts';
import { whileRunning } from './restored-server.ts';

export type RestoreTestStep = 'unpacking' | 'replaying' | 'pages' | 'relations';

export interface RestoreTestOptions {
  readonly file: string;
  /** Must not be there, and is not when it is over. It takes as much space as the database. */
  readonly directory: string;
  readonly binaries: PgBinaries;
  /** Null: the backup alone. */
  readonly archive: string | null;
  readonly onStep?: (step: RestoreTestStep) => void;
  readonly onProgress?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

export interface RestoreTestReport {
  readonly takenAt: string;
  /** How far the WAL was replayed. */
  readonly end: string;
  /** Of the last transaction that the WAL has brought; null: it brought none. */
  readonly lastCommit: string | null;
  readonly pages: number;
  /** False: this PostgreSQL has no amcheck, so tables were not compared with their indexes. */
  readonly amcheck: boolean;
  /** Empty: nothing is wrong. */
  readonly complaints: readonly string[];
  /** What may be wrong, and may not: tables that are shorter than they were, or have empty pages among others. */
  readonly doubts: readonly string[];
  /** Databases of which nothing but the pages was checked: they are invalid, and nobody can enter them. */
  readonly unchecked: readonly string[];
}

/** @throws CopyError if it cannot be restored, with the reason; Error with PostgreSQL's words; the signal's reason */
export async function testRestore(options: RestoreTestOptions): Promise<RestoreTestReport> {
  const { directory } = options;
  try {
    const restored = await restoreBackup({ ...options, target: { kind: 'end' } });
    return await check(options, restored);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

async function check(
  { directory, binaries, onStep, signal }: RestoreTestOptions,
  { header, end, lastCommit }: RestoredDatabase,
): Promise<RestoreTestReport> {
  onStep?.('pages');
  const { pages, complaints, holes } = await checkPages(join(directory, 'data'), signal);
  onStep?.('relations');
  await dropPrepared(join(directory, 'data'));
  const found = await whileRunning(
    { directory, binaries, ...(signal === undefined ? {} : { signal }) },
    async (socketDir) => {
      await openForChecks({ socketDir }, signal);
      const amcheck = await installAmcheck({ socketDir }, signal);
      const complaints = amcheck ? await checkRelations({ socketDir }, signal) : [];
      const doubts = await doubtfulRelations({ socketDir }, holes, signal);
      const unchecked = await invalidDatabases({ socketDir }, signal);
      return { amcheck, complaints, doubts, unchecked, indexes: await listIndexFiles({ socketDir }, signal) };
    },
  );
  const lost = await checkEntries(join(directory, 'data'), found.indexes, signal);
  return {
    takenAt: header.takenAt,
    end: formatLsn(end),
    lastCommit: lastCommit?.toISOString() ?? null,
    pages,
    amcheck: found.amcheck,
    complaints: [...complaints, ...found.complaints, ...lost],
    doubts: found.doubts,
    unchecked: found.unchecked,
  };
}
