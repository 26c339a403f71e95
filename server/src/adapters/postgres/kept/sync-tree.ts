/** Makes a directory durable, with all that is below it. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { readEntries, syncPath } from '../account-files.ts';

/** A database has a thousand files and more: one by one they take seconds, the whole file system at once a fraction of that. */
export async function syncTree(path: string): Promise<void> {
  try {
    await promisify(execFile)('sync', ['-f', path]);
  } catch {
    // Not every system's `sync` knows of file systems.
    await syncEach(path);
  }
}

async function syncEach(path: string): Promise<void> {
  for (const entry of await readEntries(path)) {
    const full = join(path, entry.name);
    if (entry.isDirectory()) await syncEach(full);
    else if (entry.isFile()) await syncPath(full);
  }
  await syncPath(path);
}
