/** What a replica has given up, in a file that outlives its database (held-runs.ts): DATA-DIR/held-runs.json. */
import { join } from 'node:path';
import type { RunRecord } from '../payload/statements/held-runs.ts';
import { exists, writeDurably, readFile } from './file-system.ts';

export interface HeldRunsFile {
  readonly record: RunRecord;
  write(record: RunRecord): Promise<void>;
}

/** @throws Error: it is there and cannot be read: what was promised is not known */
export async function openHeldRunsFile(dataDir: string): Promise<HeldRunsFile> {
  const path = join(dataDir, 'held-runs.json');
  const record = (await exists(path))
    ? (JSON.parse(await readFile(path, 'utf8')) as RunRecord)
    : { held: [], at: null };
  return { record, write: (next) => writeDurably(path, JSON.stringify(next)) };
}
