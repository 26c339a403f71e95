/**
 * What a lost disk takes from a replica of the demo.
 *
 * Responsible for: which directories, and finding the PostgreSQL that runs in them. Ends no process and starts none. What was set aside by an earlier
 * recovery (`postgres.lost-*`) stays: it is a person's to delete.
 */
import { readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { identify, type ProcessIdentity } from '../../adapters/postgres/process-identity.ts';
import type { FaultRequest } from '../../api/status.ts';

export type Wiped = Extract<FaultRequest, { readonly action: 'wipe' }>['what'];

const directories: Readonly<Record<Wiped, readonly string[]>> = {
  log: ['log'],
  // A copy that was half received lay on the same disk.
  database: ['postgres', 'incoming'],
  both: ['log', 'postgres', 'incoming'],
};

/** No process may use them any more. */
export async function wipeDirectory(dataDir: string, what: Wiped): Promise<void> {
  for (const name of directories[what]) {
    await rm(join(dataDir, name), { recursive: true, force: true, maxRetries: 5 });
  }
}

/** The PostgreSQL that has the directory, by its own note; null if there is none. */
export async function readPostmaster(dataDir: string): Promise<ProcessIdentity | null> {
  const text = await readFile(join(dataDir, 'postgres', 'data', 'postmaster.pid'), 'utf8').catch(() => '');
  const pid = Number(text.split('\n', 1)[0]);
  return Number.isSafeInteger(pid) && pid > 0 ? identify(pid) : null;
}
