/**
 * Whose the files are that PostgreSQL writes to: its account's, where that is not this process's own.
 *
 * Responsible for: giving them to it, all of a data directory once, and noting that. What is made there later belongs to the account at once (account-files.ts).
 */
import { lstat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { exists, makeDirectories, writeDurably } from '../file-system.ts';
import { giveTree, readFile } from './account-files.ts';
import { LaunchError } from './launch-error.ts';
import { type LaunchUser, requireWay } from './launch-user.ts';

/** Makes a directory that PostgreSQL owns with all that is in it, and can reach. @throws LaunchError */
export async function prepareDirectory(user: LaunchUser, directory: string): Promise<void> {
  await makeDirectories(directory, 0o700);
  await handOver(user, directory);
  await requireWay(user, dirname(directory));
}

/** Gives a file, or a directory with all that is in it, to PostgreSQL. @throws LaunchError */
export async function handOver(user: LaunchUser, path: string): Promise<void> {
  if (user.kind === 'self') return;
  await giveTree(user, path).catch((cause: unknown) => {
    throw new LaunchError(
      `The owner of ${path} cannot be changed: ${(cause as Error).message}. Start Barista as an ordinary user.`,
      { cause },
    );
  });
}

/** The same of a data directory, unless it was done. The note of it lies beside the directory, where PostgreSQL cannot write, and names the account and the directory. @throws LaunchError */
export async function handOverOnce(user: LaunchUser, data: string): Promise<void> {
  if (user.kind === 'self') return;
  const note = join(dirname(data), 'owners.json');
  // The number of a directory that was removed is given to another one.
  const { dev, ino, birthtimeMs } = await lstat(data);
  const text = JSON.stringify({ uid: user.uid, gid: user.gid, dev, ino, birthtimeMs });
  if ((await exists(note)) && (await readFile(note, 'utf8')).trim() === text) return;
  await handOver(user, data);
  await writeDurably(note, `${text}\n`);
}
