/**
 * Tells, before PostgreSQL is started, whether there is a database to start: a look at the files that every start needs.
 *
 * Cheap and without side effects. Damage within the files shows when PostgreSQL reads them: see start-failure.ts and database-error.ts.
 */
import { join } from 'node:path';
import { open, readdir, readFile, stat } from './account-files.ts';

/** `missing`: there never was one, or it was moved away, or its creation did not end: a new one may be made here. */
export type DataDirectoryState = 'missing' | 'usable' | { readonly lost: string };

const controlBytes = 8_192;
const directories = ['base', 'global', 'pg_wal', 'pg_xact', 'pg_multixact', 'pg_tblspc', 'pg_twophase'];

/** `directory` is that of PostgresOptions: it holds `data`. @throws the file system's error if it cannot be looked at for want of rights */
export async function inspectDataDirectory(directory: string): Promise<DataDirectoryState> {
  const data = join(directory, 'data');
  const names = await readdir(data).catch((error: unknown) => {
    if (isAbsence(error)) return null;
    throw error;
  });
  if (names === null) return 'missing';
  // It gets its name only when it is complete, so an empty one has been emptied.
  if (names.length === 0) return { lost: `${data} is empty` };
  const version = await readFile(join(data, 'PG_VERSION'), 'utf8').catch(absent);
  if (version === null) return { lost: `${data} has no PG_VERSION` };
  if (!/^\d+\n$/.test(version)) return { lost: `${join(data, 'PG_VERSION')} cannot be read as a version` };
  for (const name of directories) {
    const found = await stat(join(data, name)).catch(absent);
    if (found?.isSymbolicLink() === true) throw new Error(linkText(join(data, name)));
    if (found === null || !found.isDirectory()) return { lost: `${data} has no directory ${name}` };
  }
  return inspectControlFile(join(data, 'global', 'pg_control'));
}

/** Where PostgreSQL runs as another account than this process. */
function linkText(path: string): string {
  return (
    `${path} is a symbolic link, and a replica that was started as root follows none in a data directory. ` +
    'Move what it leads to there (while the replica is stopped), or start Barista as an ordinary user.'
  );
}

async function inspectControlFile(path: string): Promise<DataDirectoryState> {
  const handle = await open(path, 'r').catch(absent);
  if (handle === null) return { lost: `${path} is missing` };
  try {
    const { size } = await handle.stat();
    if (size < controlBytes) return { lost: `${path} has ${size} bytes instead of ${controlBytes}` };
    const head = Buffer.alloc(16);
    await handle.read(head, 0, head.length, 0);
    // The identifier of the system, then the file's version: a block that the disk has lost reads as zeros.
    return head.every((byte) => byte === 0) ? { lost: `${path} holds zeros` } : 'usable';
  } finally {
    await handle.close();
  }
}

function absent(error: unknown): null {
  if (isAbsence(error)) return null;
  throw error;
}

/** The file, or a directory above it, is not there. */
export function isAbsence(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
