/**
 * Files of sessions that are gone: temporary tables, and what queries wrote to disk for want of memory.
 *
 * PostgreSQL removes them when it starts. On a disk that they have filled it cannot start, nor can the replica write down what its database is: so they go as soon as PostgreSQL has ended.
 */
import { join } from 'node:path';
import { readdir, rm } from './account-files.ts';

const temporaryDirectory = 'pgsql_tmp';
/** `t`, the number of the session's place, and that of the file; its fork, and its part. */
const temporaryTable = /^t\d+_\d+(?:_[a-z]+)?(?:\.\d+)?$/;

/** No process of this PostgreSQL runs. What cannot be removed stays: PostgreSQL tries again. Never rejects. */
export async function removeTemporaryFiles(dataDir: string): Promise<void> {
  const base = join(dataDir, 'base');
  for (const name of await namesIn(base)) {
    if (!/^\d+$/.test(name) && name !== temporaryDirectory) continue;
    const directory = join(base, name);
    for (const file of await namesIn(directory)) {
      if (name !== temporaryDirectory && !temporaryTable.test(file)) continue;
      await rm(join(directory, file), { recursive: true, force: true }).catch(() => undefined);
    }
  }
}

function namesIn(directory: string): Promise<readonly string[]> {
  return readdir(directory).catch(() => []);
}
