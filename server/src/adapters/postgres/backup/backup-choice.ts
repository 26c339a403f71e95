/**
 * Which backups of a directory a restore can begin with: for who has many, and a point in time.
 *
 * Responsible for: their order, the nearest first, and what to say if there is none. Whether the target lies behind the end of one is found out when it is replayed.
 */
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { formatLsn } from '../../../wal/lsn.ts';
import { CopyError } from '../../../ports/copy.ts';
import { type BackupHeader, readBackupEnds } from './backup-file.ts';
import { describeTarget, type RestoreTarget, TargetError } from './recovery.ts';

interface Found {
  readonly path: string;
  readonly header: BackupHeader;
}

/** `path`: a file, which is the only one then, or a directory of them. `cluster`: only backups of it count; null: they must all be of one. @throws CopyError `copyInvalid` with what is there instead; the file system's error */
export async function backupsFor(
  path: string,
  target: RestoreTarget,
  cluster: string | null = null,
): Promise<readonly string[]> {
  if (!(await stat(path)).isDirectory()) return [path];
  const all = (await backupsIn(path)).filter(({ header }) => cluster === null || header.cluster === cluster);
  const [newest] = all;
  const oldest = all.at(-1);
  if (newest === undefined || oldest === undefined)
    throw invalid(`there is no backup in ${path}${cluster === null ? '' : ` of cluster ${cluster}`}`);
  const clusters = new Set(all.map(({ header }) => header.cluster));
  if (clusters.size > 1) {
    const what = `${path} has backups of ${clusters.size} groups (clusters ${[...clusters].join(', ')})`;
    throw invalid(`${what}: name the file`);
  }
  const possible = all.filter(({ header }) => mayHold(header, target)).map((each) => each.path);
  if (possible.length > 0) return target.kind === 'end' ? [newest.path] : possible;
  const { takenAt, position } = oldest.header;
  const begins = target.kind === 'position' ? `at ${formatLsn(position.end)}` : `at ${takenAt}`;
  throw invalid(
    `${describeTarget(target)} lies before the oldest backup in ${path}, which was begun ${begins}`,
  );
}

/** Of several backups the newest may end behind the target, or begin behind a label: then the one before it is tried. @throws what `restore` throws, as of the last that is tried; as `backupsFor` */
export async function fromNearest<Result>(
  path: string,
  target: RestoreTarget,
  restore: (file: string) => Promise<Result>,
): Promise<Result & { readonly file: string }> {
  const files = await backupsFor(path, target);
  for (const [index, file] of files.entries()) {
    try {
      return { ...(await restore(file)), file };
    } catch (error) {
      const isElsewhere =
        error instanceof TargetError && (error.side === 'before' || target.kind === 'label');
      if (!isElsewhere || index === files.length - 1) throw error;
    }
  }
  throw new Error('no backup was tried');
}

/** The newest first: by their slots, for clocks are set. */
async function backupsIn(directory: string): Promise<Found[]> {
  const found: Found[] = [];
  for (const name of await readdir(directory)) {
    if (!name.endsWith('.barista')) continue;
    const path = join(directory, name);
    const ends = await readBackupEnds(path);
    if (ends !== null) found.push({ path, header: ends.header });
  }
  return found.toSorted(
    ({ header: a }, { header: b }) =>
      b.position.slot - a.position.slot || Date.parse(b.takenAt) - Date.parse(a.takenAt),
  );
}

function mayHold({ takenAt, position }: BackupHeader, target: RestoreTarget): boolean {
  if (target.kind === 'time') return Date.parse(takenAt) <= target.at.getTime();
  return target.kind !== 'position' || position.end <= target.at;
}

function invalid(message: string): CopyError {
  return new CopyError('copyInvalid', message);
}
