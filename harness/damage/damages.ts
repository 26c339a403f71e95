/**
 * The kinds of files and directories below a replica's `postgres`, and what is done to them, one at a time.
 *
 * Responsible for: the list, finding each kind in a real directory, and the damage itself. Stops and starts nothing.
 */
import { open, readdir, rm, stat, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/** `leave`: a file that does not belong there is put there. */
export const actions = ['delete', 'empty', 'cut', 'overwrite', 'leave'] as const;
export type Action = (typeof actions)[number];

export interface Damage {
  /** As people name it; below `postgres`. */
  readonly target: string;
  readonly action: Action;
}

/** Where this group's database keeps things; below `data`. */
export interface RelationPaths {
  readonly database: string;
  readonly table: string;
  readonly index: string;
  readonly toast: string;
  readonly catalog: string;
  readonly shared: string;
}

const ofFile: readonly Action[] = ['delete', 'empty', 'cut', 'overwrite'];
const ofDirectory: readonly Action[] = ['delete', 'empty'];

/** Names in angle brackets stand for a path that only the database knows, or for the newest file of a directory. */
const targets: Readonly<Record<string, readonly Action[]>> = {
  'state.json': ofFile,
  cluster: ofFile,
  data: ofDirectory,
  'data/PG_VERSION': ofFile,
  'data/postgresql.conf': ofFile,
  'data/postgresql.auto.conf': ofFile,
  'data/pg_hba.conf': ofFile,
  'data/pg_ident.conf': ofFile,
  'data/postmaster.opts': ofFile,
  'data/standby.signal': ['delete'],
  'data/backup_label': ['leave'],
  'data/tablespace_map': ['leave'],
  'data/recovery.signal': ['leave'],
  'data/global': ofDirectory,
  'data/global/pg_control': ofFile,
  'data/global/pg_filenode.map': ofFile,
  'data/<shared catalog>': ofFile,
  'data/base': ofDirectory,
  'data/<database>': ofDirectory,
  'data/<database>/PG_VERSION': ofFile,
  'data/<database>/pg_filenode.map': ofFile,
  'data/<catalog>': ofFile,
  'data/<table>': ofFile,
  'data/<toast>': ofFile,
  'data/<index>': ofFile,
  'data/pg_wal': ofDirectory,
  'data/pg_wal/<newest>': ofFile,
  'data/pg_xact': ofDirectory,
  'data/pg_xact/<newest>': ofFile,
  'data/pg_multixact': ofDirectory,
  'data/pg_multixact/offsets/<newest>': ofFile,
  'data/pg_multixact/members/<newest>': ofFile,
  'data/pg_subtrans': ofDirectory,
  'data/pg_twophase': ofDirectory,
  'data/pg_tblspc': ofDirectory,
  'data/pg_commit_ts': ofDirectory,
  'data/pg_logical': ofDirectory,
  'data/pg_replslot': ofDirectory,
  'data/pg_notify': ofDirectory,
  'data/pg_serial': ofDirectory,
  'data/pg_snapshots': ofDirectory,
  'data/pg_dynshmem': ofDirectory,
  'data/pg_stat': ofDirectory,
  'data/pg_stat_tmp': ofDirectory,
};

export const damages: readonly Damage[] = Object.entries(targets).flatMap(([target, some]) =>
  some.map((action) => ({ target, action })),
);

const leftOver =
  'START WAL LOCATION: 0/1000028 (file 000000010000000000000001)\nCHECKPOINT LOCATION: 0/1000028\n';

/** False: there is no such file here. `directory`: of a replica's PostgreSQL. */
export async function damage(
  directory: string,
  { target, action }: Damage,
  paths: RelationPaths,
): Promise<boolean> {
  const path = await locate(join(directory, named(target, paths)));
  if (action === 'leave') {
    await writeFile(path ?? '', leftOver, { mode: 0o644 });
    return true;
  }
  const found = path === null ? null : await stat(path).catch(() => null);
  if (path === null || found === null) return false;
  if (action === 'delete') await rm(path, { recursive: true });
  else if (found.isDirectory()) await emptyDirectory(path);
  else if (action === 'empty') await truncate(path, 0);
  else if (action === 'cut') await truncate(path, Math.floor(found.size / 2));
  else await overwrite(path, found.size);
  return true;
}

function named(target: string, paths: RelationPaths): string {
  return target.replace(/<(shared catalog|database|catalog|table|toast|index)>/, (_all, name: string) =>
    name === 'shared catalog' ? paths.shared : paths[name as keyof RelationPaths],
  );
}

/** The file that was written to last, where the path ends so: of `pg_wal` none that is made ahead and holds nothing yet. */
async function locate(path: string): Promise<string | null> {
  if (!path.endsWith('<newest>')) return path;
  const directory = path.slice(0, -'/<newest>'.length);
  const all = (await readdir(directory).catch(() => [])).filter((name) => /^[0-9A-F]+$/.test(name));
  const isWal = path.includes('pg_wal');
  const inUse = await Promise.all(
    all.map(async (name) => !isWal || (await holdsOwnWal(join(directory, name), name))),
  );
  const names = all.filter((_name, index) => inUse[index]);
  const times = await Promise.all(names.map(async (name) => (await stat(join(directory, name))).mtimeMs));
  const newest = names[times.indexOf(Math.max(...times))];
  return newest === undefined ? null : join(directory, newest);
}

/** A segment that was made ahead is zeros, and one that is used again begins with the address that it had. */
async function holdsOwnWal(path: string, name: string): Promise<boolean> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const own = (BigInt(`0x${name.slice(8, 16)}`) << 32n) + BigInt(`0x${name.slice(16)}`) * BigInt(size);
    const { buffer } = await file.read(Buffer.alloc(16), 0, 16, 0);
    return buffer.readBigUInt64LE(8) === own;
  } finally {
    await file.close();
  }
}

async function emptyDirectory(path: string): Promise<void> {
  for (const name of await readdir(path)) await rm(join(path, name), { recursive: true });
}

/** As a disk might that has mixed up its blocks: the first page holds something else. */
async function overwrite(path: string, size: number): Promise<void> {
  const file = await open(path, 'r+');
  try {
    const bytes = Buffer.alloc(Math.min(size, 8_192), 'not what was written ');
    await file.write(bytes, 0, bytes.length, 0);
    await file.sync();
  } finally {
    await file.close();
  }
}
