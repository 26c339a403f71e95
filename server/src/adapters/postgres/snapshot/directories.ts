/**
 * The directories of a replica's database and of its copies, beside each other in the replica's data directory:
 *
 *   postgres/               in use: `data`, `socket`, `postgres.log`
 *   incoming/               a copy that is being received; `data` and, once it is complete, the marker `received.json`, which names the cluster whose data it is
 *   postgres.lost-<time>/   a database that was replaced: kept for people to look at, the newest two
 *   incoming.lost-<time>/   a complete copy that is of another cluster than the replica's: likewise
 *
 * Invariants: only a directory with the marker is ever installed, and only by a replica of the cluster that the marker names; a database that is replaced is renamed, never deleted by the replacement itself,
 * and each change of names is durable before the next one.
 */
import { readdir, readFile, rename, rm } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { exists, syncPath } from '../../file-system.ts';

export const markerName = 'received.json';
export const dataName = 'data';
/** A disk that fails again and again must not fill up with its past. */
const setAsideMax = 2;

/** Whose data a copy is. */
export interface CopyOwner {
  readonly group: string;
  /** The name by which a cluster is told from every other. */
  readonly cluster: string;
}

/** `partial`: begun and not finished, of no use. */
export type IncomingState = 'none' | 'partial' | 'complete';

export async function inspectIncoming(incoming: string): Promise<IncomingState> {
  if (!(await exists(incoming))) return 'none';
  return (await exists(join(incoming, markerName))) ? 'complete' : 'partial';
}

/** Of a complete copy; null if its marker does not say, or there is none. */
export async function ownerOfCopy(incoming: string): Promise<CopyOwner | null> {
  try {
    const marker = JSON.parse(
      await readFile(join(incoming, markerName), 'utf8'),
    ) as Partial<CopyOwner> | null;
    if (typeof marker?.group !== 'string' || typeof marker.cluster !== 'string') return null;
    return { group: marker.group, cluster: marker.cluster };
  } catch {
    return null;
  }
}

export function isSameOwner(one: CopyOwner | null, other: CopyOwner): boolean {
  return one !== null && one.group === other.group && one.cluster === other.cluster;
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
  await syncPath(parent);
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
  /** Whose replica this is. */
  readonly owner: CopyOwner;
}

/**
 * Puts a complete copy in the place of the database. PostgreSQL must not run. A crash half-way leaves the complete copy: install it again.
 * @throws Error if it is not complete, or is of another cluster
 */
export async function installSnapshot({ incoming, dataDirectory, owner }: InstallOptions): Promise<SetAside> {
  const state = await inspectIncoming(incoming);
  if (state !== 'complete') throw new Error(`${incoming} does not hold a complete copy (${state})`);
  const of = await ownerOfCopy(incoming);
  if (!isSameOwner(of, owner))
    throw new Error(`${incoming} holds ${describeOwner(of)}, not that of cluster ${owner.cluster}`);
  const aside = await setDatabaseAside(dataDirectory);
  await rename(incoming, dataDirectory);
  await syncPath(dirname(dataDirectory));
  return aside;
}

/** Reads on as "holds ...". */
export function describeOwner(owner: CopyOwner | null): string {
  return owner === null
    ? 'a database that does not say of which cluster it is'
    : `the database of cluster ${owner.cluster} (group ${owner.group})`;
}

async function freeName(wanted: string): Promise<string> {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? wanted : `${wanted}.${n}`;
    if (!(await exists(name))) return name;
  }
}
