/**
 * Which files of a data directory belong to a copy, and what each of them is.
 *
 * Pure. Names only: what is in the files does not matter here. Both sides ask this module, so that neither has to be told.
 */
import { segmentPages } from './page.ts';

/**
 * `relation`: pages of a main fork; `firstBlock` is the number in the relation of the first one in this file. `bytes`: anything else, without positions of its own. `wal`: a segment of the WAL, or a timeline's history.
 */
export type FileClass =
  | { readonly kind: 'relation'; readonly firstBlock: number }
  | { readonly kind: 'bytes' }
  | { readonly kind: 'wal' };

/** What a directory of the root is to a copy. `pages`: relations in it, and in its subdirectories. `bytes`: all of it. `emptied`: it must be there, without anything in it. */
export type RootDirectory = 'pages' | 'bytes' | 'emptied';

/** The WAL comes last, and file by file as it is needed: its directory is none of these. */
export const rootDirectories: Readonly<Record<string, RootDirectory>> = {
  base: 'pages',
  global: 'pages',
  pg_commit_ts: 'bytes',
  pg_logical: 'bytes',
  pg_multixact: 'bytes',
  pg_stat: 'bytes',
  pg_twophase: 'bytes',
  pg_xact: 'bytes',
  // What a PostgreSQL keeps for its own run, and makes anew at its start.
  pg_dynshmem: 'emptied',
  pg_notify: 'emptied',
  pg_replslot: 'emptied',
  pg_serial: 'emptied',
  pg_snapshots: 'emptied',
  pg_stat_tmp: 'emptied',
  pg_subtrans: 'emptied',
  // Tablespaces are refused.
  pg_tblspc: 'emptied',
};

export const walDirectory = 'pg_wal';
export const walSubdirectories: readonly string[] = ['archive_status', 'summaries'];

/**
 * Directories that hold nothing of value: what PostgreSQL keeps for its own run, statistics, and what belongs to logical slots, which no replica has. Where one is missing, PostgreSQL does not start, or its checkpoints fail.
 */
export const dispensableDirectories: readonly string[] = [
  ...Object.keys(rootDirectories).filter(
    (name) => rootDirectories[name] === 'emptied' && name !== 'pg_tblspc',
  ),
  'pg_logical/mappings',
  'pg_logical/snapshots',
  'pg_stat',
  ...walSubdirectories.map((name) => `${walDirectory}/${name}`),
];
export const versionFile = 'PG_VERSION';
/** Apart from all others: it comes last, and its absence says that there is no database. */
export const controlFile = 'global/pg_control';
export const labelFile = 'backup_label';

/** Files of the root that would lead a PostgreSQL astray that is started on a copy. Whatever else is in the root is the replica's own, such as its configuration, and stays. */
export const rootLeftovers: readonly string[] = [
  labelFile,
  'backup_label.old',
  'tablespace_map',
  'tablespace_map.old',
  'backup_manifest',
  'recovery.signal',
  'standby.signal',
  'postmaster.pid',
];

const mainFork = /^(?:global|base\/\d+)\/\d+(?:\.(\d+))?$/;

/** `path`: relative to the data directory. */
export function classOf(path: string): FileClass {
  if (path.startsWith(`${walDirectory}/`)) return { kind: 'wal' };
  const match = mainFork.exec(path);
  return match === null
    ? { kind: 'bytes' }
    : { kind: 'relation', firstBlock: Number(match[1] ?? 0) * segmentPages };
}

const initFork = /^(\d+)_init(?:\.\d+)?$/;
const fork = /^(\d+)(?:_(?:fsm|vm))?(?:\.\d+)?$/;
/** Files of sessions, and caches that are made anew. */
const passing = /^(?:pgsql_tmp|t\d+_\d|pg_internal\.init|pg_control$)/;

/** Of all files of a directory with relations, those that belong to a copy. Of an unlogged relation only the fork that it begins with after a crash. */
export function relationFilesToCopy(names: readonly string[]): string[] {
  const unlogged = new Set(
    names.map((name) => initFork.exec(name)?.[1]).filter((number) => number !== undefined),
  );
  return names.filter((name) => !passing.test(name) && !unlogged.has(fork.exec(name)?.[1] ?? ''));
}

const component = /^[A-Za-z0-9_][A-Za-z0-9_.-]{0,250}$/;
const depthMax = 4;

/** Whether what a source names may be written: a plain path below a directory that belongs to a copy. */
export function isCopiedPath(path: string): boolean {
  const parts = path.split('/');
  const [root = ''] = parts;
  const isKnown = Object.hasOwn(rootDirectories, root) || root === walDirectory || path === versionFile;
  return isKnown && parts.length <= depthMax && parts.every((part) => component.test(part));
}
