/** Space of the file system that a directory is on. */
import { statfs } from 'node:fs/promises';

/** `freeBytes`: for others than root. @throws the errors of node:fs */
export async function spaceOf(
  directory: string,
): Promise<{ readonly freeBytes: number; readonly sizeBytes: number }> {
  const { bavail, blocks, bsize } = await statfs(directory);
  return { freeBytes: bavail * bsize, sizeBytes: blocks * bsize };
}
