/**
 * Makes a database of a backup, as it was at the backup's end or at a later point in time: what a new group is founded on.
 *
 * Responsible for: the steps: verify, unpack, replay, put in place. Founds nothing.
 * Invariants: nothing that is there is overwritten; `directory` has its name only when the database in it was replayed to its target, not less, and shut down in order.
 */
import { dirname, join } from 'node:path';
import { formatLsn, type Lsn } from '../../../wal/lsn.ts';
import { CopyError } from '../../../ports/copy.ts';
import { exists, rename, rm, syncPath } from '../account-files.ts';
import type { PgBinaries } from '../binaries.ts';
import type { DurablePosition } from '../copy/chosen.ts';
import { type BackupHeader, readBackup } from './backup-file.ts';
import { describeTarget, recover, type Recovered, type RestoreTarget, TargetError } from './recovery.ts';
import { findWal, type RestoredWal, wholeRecordsUpTo } from './restored-wal.ts';

export interface RestoreOptions {
  readonly file: string;
  /** Will hold `data`; must not be there. What is made has the name with `.restoring` at its end until it is complete. */
  readonly directory: string;
  readonly binaries: PgBinaries;
  /** WAL that was kept by a replica; null: the backup alone. */
  readonly archive: string | null;
  readonly target: RestoreTarget;
  readonly onStep?: (step: RestoreStep) => void;
  /** Bytes of the database unpacked so far. */
  readonly onProgress?: (bytes: number) => void;
  readonly signal?: AbortSignal;
}

export type RestoreStep = 'unpacking' | 'replaying';

export interface RestoredDatabase extends Recovered {
  readonly header: BackupHeader;
  /** What the backup alone holds. */
  readonly backup: DurablePosition;
}

/** @throws CopyError with what is wrong with the backup, the archive or the target; Error with PostgreSQL's words; the signal's reason */
export async function restoreBackup(options: RestoreOptions): Promise<RestoredDatabase> {
  const { directory, binaries, archive, target, signal } = options;
  if (await exists(directory)) throw new Error(`${directory} is there already`);
  const work = `${directory}.restoring`;
  try {
    options.onStep?.('unpacking');
    const { majorVersion } = binaries;
    const { header, durable } = await readBackup({ ...options, directory: work, majorVersion });
    const wal = await findWal(join(work, 'data'), durable.position, archive, target);
    options.onStep?.('replaying');
    const recovered = await replay({ ...options, directory: work }, wal);
    signal?.throwIfAborted();
    await rename(work, directory);
    await syncPath(dirname(directory));
    return { ...recovered, header, backup: durable };
  } catch (error) {
    await rm(work, { recursive: true, force: true });
    throw error;
  }
}

async function replay(options: RestoreOptions, wal: RestoredWal): Promise<Recovered> {
  const { target } = options;
  if (target.kind === 'position') return replayTo(target.at, options, wal);
  if (target.kind === 'end') return replayTo(wal.reach, options, wal);
  // Where these lie nobody but PostgreSQL knows, which says if it has not found them.
  return recover(options).catch(async (error: unknown) => {
    // To it a place that is damaged is the end of the WAL.
    if (error instanceof TargetError && error.side === 'beyond' && wal.archive !== null)
      await replayTo(wal.reach, { ...options, target: { kind: 'end' } }, wal, target);
    throw error;
  });
}

/** `wanted`: what to say that was asked for. */
async function replayTo(
  at: Lsn,
  options: RestoreOptions,
  wal: RestoredWal,
  wanted = options.target,
): Promise<Recovered> {
  // Before: replay leaves a timeline of its own behind.
  const expected = await wholeRecordsUpTo(wal, at);
  const recovered = await recover(options);
  if (recovered.end >= expected) return recovered;
  const stopped = `replay stopped at ${formatLsn(recovered.end)}, though there is WAL up to ${formatLsn(expected)}`;
  throw new CopyError(
    'copyInvalid',
    `${describeTarget(wanted)} was not reached: ${stopped}. The WAL is damaged there`,
  );
}
