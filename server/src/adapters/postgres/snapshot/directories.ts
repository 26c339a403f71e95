/**
 * The directories of a replica's database and of its copies, beside each other in the replica's data directory:
 *
 *   postgres/               in use: `data`, `socket`, `postgres.log`
 *   incoming/               a copy that is being received; `data` and, once it is complete, the marker `received.json`
 *   postgres.lost-<time>/   a database that was replaced: kept for people to look at, the newest two
 *
 * Invariants: only a directory with the marker is ever installed; a database that is replaced is renamed, never deleted by the replacement itself,
 * and each change of names is durable before the next one.
 */
import { access, open, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';

export const markerName = 'received.json';
export const dataName = 'data';
/** A disk that fails again and again must not fill up with its past. */
const setAsideMax = 2;

/** `partial`: begun and not finished, of no use. */
export type IncomingState = 'none' | 'partial' | 'complete';

export async function inspectIncoming(incoming: string): Promise<IncomingState> {
  if (!(await exists(incoming))) return 'none';
  return (await exists(join(incoming, markerName))) ? 'complete' : 'partial';
}

/** Removes what was received only in part. Returns what was there. At the start of a replica, before anything else is decided. */
export async function clearPartialIncoming(incoming: string): Promise<IncomingState> {
  const state = await inspectIncoming(incoming);
  if (state === 'partial') await rm(incoming, { recursive: true, force: true });
  return state;
}

export interface SetAside {
  /** Where the old database is now; null if there was none. */
  readonly setAside: string | null;
  /** Older ones that were removed for it. */
  readonly removed: readonly string[];
}

/** Moves a database that is lost out of the way. PostgreSQL must not run. */
export async function setDatabaseAside(directory: string, now = new Date()): Promise<SetAside> {
  if (!(await exists(directory))) return { setAside: null, removed: [] };
  const parent = dirname(directory);
  const prefix = `${basename(directory)}.lost-`;
  const time = now.toISOString().replaceAll(/[-:]/g, '');
  const target = await freeName(join(parent, `${prefix}${time}`));
  await rename(directory, target);
  await syncDirectory(parent);
  // The time is part of the name and sorts as it runs.
  const all = (await readdir(parent)).filter((name) => name.startsWith(prefix)).sort();
  const removed = all.slice(0, Math.max(0, all.length - setAsideMax)).map((name) => join(parent, name));
  for (const old of removed) await rm(old, { recursive: true, force: true });
  return { setAside: target, removed };
}

export interface InstallOptions {
  readonly incoming: string;
  /** Of the database in use, such as `postgres`, whether it is there or not. */
  readonly dataDirectory: string;
}

/**
 * Puts a complete copy in the place of the database. PostgreSQL must not run. A crash half-way leaves the complete copy: install it again.
 * @throws Error if it is not complete
 */
export async function installSnapshot({ incoming, dataDirectory }: InstallOptions): Promise<SetAside> {
  const state = await inspectIncoming(incoming);
  if (state !== 'complete') throw new Error(`${incoming} does not hold a complete copy (${state})`);
  const aside = await setDatabaseAside(dataDirectory);
  await rename(incoming, dataDirectory);
  await syncDirectory(dirname(dataDirectory));
  return aside;
}

/** Makes the names in a directory durable. */
export async function syncDirectory(directory: string): Promise<void> {
  const handle = await open(directory, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

async function freeName(wanted: string): Promise<string> {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? wanted : `${wanted}.${n}`;
    if (!(await exists(name))) return name;
  }
}
