/**
 * What a lost disk takes from a replica of the demo. A log in ZooKeeper counts as on that disk: its nodes go.
 *
 * Responsible for: what goes, and finding the PostgreSQL that runs in them. Ends no process and starts none. What was set aside by an earlier
 * recovery (`postgres.lost-*`) stays: it is a person's to delete.
 */
import { readFile, rm } from 'node:fs/promises';
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

/** The PostgreSQL that has the directory, by its own note; null if there is none. */
export async function readPostmaster(dataDir: string): Promise<ProcessIdentity | null> {
  const text = await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(text.split('\n', 1)[0]);
  return Number.isSafeInteger(pid) && pid > 0 ? identify(pid) : null;
}
