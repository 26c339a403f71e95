/**
 * What a lost disk takes from a replica of the demo. A log in ZooKeeper counts as on that disk: its nodes go.
 *
 * Responsible for: what goes, and finding the PostgreSQL that runs in them. Ends no process and starts none. What was set aside by an earlier
 * recovery (`postgres.lost-*`) stays: it is a person's to delete.
 */
import { readFile, readlink, realpath, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { identify, type ProcessIdentity } from '../adapters/postgres/process-identity.ts';
import type { FaultRequest } from '../api/status.ts';
import type { ReplicaConfig } from '../config/replica-config.ts';
import { removeLog } from '../main/log-store.ts';

export type Wiped = Extract<FaultRequest, { readonly action: 'wipe' }>['what'];

// A copy that was half received lay on the same disk.
const databaseDirectories = ['postgres', 'incoming'];

/** No process may use it any more. @throws LogStoreError if ZooKeeper does not answer */
export async function wipeDisk(config: ReplicaConfig, what: Wiped): Promise<void> {
  // First, for it is what can fail: nothing is gone then.
  if (what !== 'database') await removeLog(config);
  if (what === 'log') return;
  for (const name of databaseDirectories) {
    await rm(join(config.dataDir, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The PostgreSQL that has the directory, by its own note; null if there is none. A note of one that was killed may name another's process: not ours to end. */
export async function readPostmaster(dataDir: string): Promise<ProcessIdentity | null> {
  const directory = join(dataDir, 'postgres', 'data');
  const text = await readFile(join(directory, 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(text.split('\n', 1)[0]);
  if (!Number.isSafeInteger(pid) || pid <= 0 || !(await isIn(pid, directory))) return null;
  return identify(pid);
}

/** A postmaster's working directory is its data directory. Where the system does not tell, the note is believed. */
async function isIn(pid: number, directory: string): Promise<boolean> {
  if (process.platform !== 'linux') return true;
  const [at, there] = await Promise.all([
    readlink(`/proc/${pid}/cwd`).catch(() => null),
    realpath(directory).catch(() => null),
  ]);
  return at !== null && at === there;
}
