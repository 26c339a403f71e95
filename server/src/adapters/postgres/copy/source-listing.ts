/**
 * The files of the source's data directory that belong to a copy, directory by directory.
 *
 * Responsible for: looking at directories, and refusing what cannot be copied. Opens no file. What file belongs to a copy is file-class.ts.
 * Files come and go meanwhile. One that is made after its directory was listed is made anew by replay; one that is gone when it is opened is removed by replay.
 */
import type { Dirent } from 'node:fs';
import { join } from 'node:path';
import { readEntries } from '../account-files.ts';
import { CopyError } from '../../../ports/copy.ts';
import { tablespacesRefused } from './backup-session.ts';
import {
  isCopiedPath,
  relationFilesToCopy,
  rootDirectories,
  type RootDirectory,
  versionFile,
  walDirectory,
} from './file-class.ts';

/** `path`: relative to the data directory; empty: itself. Whatever else is in it does not belong to a copy. */
export interface ListedDirectory {
  readonly path: string;
  readonly directories: readonly string[];
  readonly files: readonly string[];
}

/** All but the WAL and pg_control. @throws CopyError `sourceUnavailable` if there are tablespaces, or links */
export async function* listDatabase(dataDir: string): AsyncGenerator<ListedDirectory> {
  if ((await entriesOf(dataDir, 'pg_tblspc')).length > 0)
    throw new CopyError('sourceUnavailable', tablespacesRefused);
  yield { path: '', directories: [...Object.keys(rootDirectories), walDirectory], files: [versionFile] };
  for (const [root, what] of Object.entries(rootDirectories)) yield* listBelow(dataDir, root, what);
}

async function* listBelow(
  dataDir: string,
  path: string,
  what: RootDirectory,
): AsyncGenerator<ListedDirectory> {
  if (what === 'emptied') {
    yield { path, directories: [], files: [] };
    return;
  }
  const entries = await entriesOf(dataDir, path);
  const names = (is: (entry: Dirent) => boolean): string[] => {
    const found = entries.filter((entry) => is(entry) && isCopiedPath(`${path}/${entry.name}`));
    return found.map((entry) => entry.name);
  };
  const directories = names((entry) => entry.isDirectory() && !entry.name.startsWith('pgsql_tmp'));
  const files = names((entry) => entry.isFile());
  yield { path, directories, files: what === 'pages' ? relationFilesToCopy(files) : files };
  for (const name of directories) yield* listBelow(dataDir, `${path}/${name}`, what);
}

/** None if the directory has gone: a database was dropped. */
async function entriesOf(dataDir: string, path: string): Promise<Dirent[]> {
  try {
    const entries = await readEntries(join(dataDir, path));
    const link = entries.find((entry) => entry.isSymbolicLink());
    if (link !== undefined && path !== 'pg_tblspc') {
      throw new CopyError('sourceUnavailable', `${path}/${link.name} is a link, which cannot be copied`);
    }
    return entries;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return [];
    throw error;
  }
}
