/** Makes a directory durable, with all that is below it. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { syncPath } from '../../file-system.ts';

export async function syncTree(path: string): Promise<void> {
  for (const entry of await readdir(path, { withFileTypes: true })) {
    const full = join(path, entry.name);
    if (entry.isDirectory()) await syncTree(full);
    else if (entry.isFile()) await syncPath(full);
  }
  await syncPath(path);
}
