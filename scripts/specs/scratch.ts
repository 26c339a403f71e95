/**
 * Directories for what a command writes on its way: they are gone when it ends, by Ctrl-C, too.
 *
 * Whatever else ends it (SIGKILL) leaves them in the system's directory for such things.
 */
import { rmSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';

const inUse = new Set<string>();

process.on('exit', () => {
  for (const directory of inUse) rmSync(directory, { recursive: true, force: true });
});

export async function makeScratch(prefix: string): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), prefix));
  inUse.add(directory);
  return directory;
}

export async function removeScratch(directory: string): Promise<void> {
  await rm(directory, { recursive: true, force: true });
  inUse.delete(directory);
}
