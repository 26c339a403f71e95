/** An archive of WAL where PostgreSQL's account can read it: archives are closed to all but the replica. */
import { readFile } from '../../file-system.ts';
import { constants } from 'node:fs';
import { copyFile, mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { segmentStart } from '../../../wal/lsn.ts';
import { listHistories, listSegments } from '../archive/archive-contents.ts';
import { readLabel } from '../copy/backup-session.ts';
import { labelFile } from '../copy/file-class.ts';
import type { LaunchUser } from '../launch-user.ts';
import { handOver } from '../owners.ts';

export interface ReadableArchive {
  readonly directory: string | null;
  remove(): Promise<void>;
}

/** PostgreSQL renames the label when it begins to replay, and may be asked to replay again. */
function labelIn(data: string): Promise<string> {
  const path = join(data, labelFile);
  return readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOENT') throw error;
    return readFile(`${path}.old`, 'utf8');
  });
}

/**
 * Where PostgreSQL has an account of its own, what is needed behind the backup in `directory`/data is copied (shared, where the file system can), and takes as much space as that WAL.
 * @throws LaunchError, the file system's error
 */
export async function readableArchive(
  user: LaunchUser,
  archive: string | null,
  directory: string,
): Promise<ReadableArchive> {
  if (user.kind === 'self' || archive === null)
    return { directory: archive, remove: () => Promise.resolve() };
  const copied = join(directory, 'archive');
  const remove = (): Promise<void> => rm(copied, { recursive: true, force: true });
  await remove();
  await mkdir(copied, { mode: 0o700 });
  const from = segmentStart(readLabel(await labelIn(join(directory, 'data'))).redo);
  const segments = (await listSegments(archive)).filter(({ start }) => start >= from);
  for (const name of [...segments.map((segment) => segment.name), ...(await listHistories(archive))]) {
    await copyFile(join(archive, name), join(copied, name), constants.COPYFILE_FICLONE).catch(
      async (error: NodeJS.ErrnoException) => {
        // A replica that archives may have given it its final name meanwhile.
        const whole = name.replace(/\.partial$/, '');
        if (error.code !== 'ENOENT' || whole === name) throw error;
        await copyFile(join(archive, whole), join(copied, whole), constants.COPYFILE_FICLONE);
      },
    );
  }
  await handOver(user, copied);
  return { directory: copied, remove };
}
