/**
 * Moves a database out of the way that is lost and about to be replaced: `postgres` becomes `postgres.lost-<time>` beside it, kept for people to look at, the newest two.
 *
 * Invariants: what is there is renamed and never deleted, but for older ones of its kind; each change of names is durable before the next one.
 */
import { basename, dirname, join } from 'node:path';
import { exists, readdir, rename, rm, syncPath } from './account-files.ts';

/** A disk that fails again and again must not fill up with its past. */
const setAsideMax = 2;

export interface SetAside {
  /** Where the old database is now; null if there was none. */
  readonly setAside: string | null;
  /** Older ones that were removed for it. */
  readonly removed: readonly string[];
}

/** PostgreSQL must not run. */
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

async function freeName(wanted: string): Promise<string> {
  for (let n = 1; ; n += 1) {
    const name = n === 1 ? wanted : `${wanted}.${n}`;
    if (!(await exists(name))) return name;
  }
}
