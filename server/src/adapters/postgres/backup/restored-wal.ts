/**
 * The WAL that a restored database can be replayed through: the backup's own, then the archive's.
 *
 * Responsible for: up to where it goes without a gap, whether a target lies within, and where its last whole record ends, so that a replay that stopped early, at a damaged place say, does not go unnoticed.
 */
import { open } from '../account-files.ts';
import { join } from 'node:path';
import { lastWholeRecord } from '../../../payload/wal/last-whole-record.ts';
import { formatLsn, type Lsn, segmentBytes, segmentStart } from '../../../wal/lsn.ts';
import type { WalPosition } from '../../../wal/position.ts';
import { CopyError } from '../../../ports/copy.ts';
import {
  type ArchiveContents,
  ArchiveError,
  listSegments,
  readArchive,
} from '../archive/archive-contents.ts';
import { walDirectory } from '../copy/file-class.ts';
import { describeTarget, type RestoreTarget, TargetError } from './recovery.ts';

export interface RestoredWal {
  /** The database, unpacked. */
  readonly data: string;
  /** What the backup has. */
  readonly position: WalPosition;
  readonly archive: string | null;
  /** There is WAL up to here, without a gap. */
  readonly reach: Lsn;
}

/** @throws CopyError `copyInvalid` if the target is not within, as far as that can be known: where a time lies PostgreSQL finds out */
export async function findWal(
  data: string,
  position: WalPosition,
  archive: string | null,
  target: RestoreTarget,
): Promise<RestoredWal> {
  const { end } = position;
  if (target.kind === 'position' && target.at < end) {
    const where = `lies before the end of the backup, ${formatLsn(end)}`;
    throw new TargetError('before', `${describeTarget(target)} ${where}: take an older backup`);
  }
  const isBackupAlone = target.kind === 'end' || (target.kind === 'position' && target.at === end);
  if (archive === null && isBackupAlone) return { data, position, archive, reach: end };
  if (archive === null) {
    const how = `to get to ${describeTarget(target)}, name the archive with the WAL that follows`;
    throw invalid(`the backup alone ends at ${formatLsn(end)}: ${how}`);
  }
  const contents = await readArchive(archive).catch((error: unknown) => {
    throw error instanceof ArchiveError ? invalid(error.message, error) : error;
  });
  const { system } = contents;
  if (system !== position.system) {
    const whose = `another database (identifier ${system}, and the backup has ${position.system})`;
    throw invalid(`${archive} is the archive of ${whose}`);
  }
  return { data, position, archive, reach: reachOf(contents, end, archive, target) };
}

function reachOf(
  { stretches, end: archivedEnd }: ArchiveContents,
  end: Lsn,
  archive: string,
  target: RestoreTarget,
): Lsn {
  const own = stretches.find(({ from, to }) => from <= end && end <= to);
  const reach = own?.to ?? end;
  const next = stretches.find(({ from }) => from > reach)?.from;
  if (own === undefined && next !== undefined) {
    const what = `what ${archive} holds, which begins at ${formatLsn(next)}`;
    throw invalid(`WAL is missing between the end of the backup, ${formatLsn(end)}, and ${what}`);
  }
  const gap =
    next === undefined
      ? `${archive} ends at ${formatLsn(reach)}`
      : `${archive} has a gap from ${formatLsn(reach)} to ${formatLsn(next)}`;
  if (target.kind === 'position' && target.at > reach) {
    throw invalid(`${describeTarget(target)} cannot be reached: ${gap}`);
  }
  if (target.kind !== 'position' && next !== undefined) {
    throw invalid(`${gap}. To restore what lies before, name ${formatLsn(reach)} as the position`);
  }
  // Of the others PostgreSQL finds out.
  if (target.kind === 'end' && archivedEnd > reach) {
    const lost = `${gap}, and its archive.json says that it has WAL up to ${formatLsn(archivedEnd)}: its newest files are missing`;
    throw invalid(
      `${lost}. Copy the archive again, archive.json first. To restore what lies before, name ${formatLsn(reach)} as the position`,
    );
  }
  return reach;
}

/** Where replay must have come to, at least, to have everything up to `at`. @throws CopyError `copyInvalid` if the WAL makes no sense */
export async function wholeRecordsUpTo(wal: RestoredWal, at: Lsn): Promise<Lsn> {
  const files = await newestFiles(wal);
  const read = async (from: Lsn, _limit: Lsn, bytesMax: number): Promise<readonly Buffer[] | null> => {
    const path = files.get(segmentStart(from));
    if (path === undefined) return null;
    const offset = from % segmentBytes;
    const bytes = Math.min(bytesMax, segmentBytes - offset, at - from);
    const file = await open(path, 'r');
    try {
      const buffer = Buffer.alloc(bytes);
      await file.read(buffer, 0, bytes, offset);
      return [buffer];
    } finally {
      await file.close();
    }
  };
  try {
    return await lastWholeRecord({ read }, { ...wal.position, end: at });
  } catch (error) {
    throw invalid(`the WAL up to ${formatLsn(at)} cannot be read: ${(error as Error).message}`, error);
  }
}

/** Of each segment the file that PostgreSQL reads: the archive's if it has one, and of the newest timeline. */
async function newestFiles({ data, archive }: RestoredWal): Promise<ReadonlyMap<Lsn, string>> {
  const files = new Map<Lsn, string>();
  for (const directory of [join(data, walDirectory), ...(archive === null ? [] : [archive])]) {
    for (const { start, name } of await listSegments(directory)) files.set(start, join(directory, name));
  }
  return files;
}

function invalid(message: string, cause?: unknown): CopyError {
  return new CopyError('copyInvalid', message, { cause });
}
