/** What is asked of the file system in many places, and Node.js has no call for. */
import { constants } from 'node:fs';
import { access, open } from 'node:fs/promises';

/** Makes durable what a file holds, or the names in a directory. */
export async function syncPath(path: string): Promise<void> {
  const handle = await open(path, constants.O_RDONLY);
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
