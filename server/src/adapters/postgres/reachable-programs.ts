/**
 * PostgreSQL's programs where its account may run them.
 *
 * `npm ci` in the home directory of root leaves them where no other account may enter. They are copied to a directory of root's that all may enter, once for each version of them.
 */
import { createHash } from 'node:crypto';
import { chmod, cp, lstat, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { makeDirectories } from '../file-system.ts';
import { LaunchError } from './launch-error.ts';
import { closedDirectory, type LaunchUser } from './launch-user.ts';

/** Root's; caches of other accounts are in their home directories. */
export const sharedCache = '/var/cache/barista';

/** `native` holds `bin`, `lib` and `share`. Returns where the account finds the same, by the same name. @throws LaunchError */
export async function reachablePrograms(
  user: LaunchUser,
  native: string,
  cache = sharedCache,
): Promise<string> {
  if ((await closedDirectory(user, join(native, 'bin'))) === null) return native;
  const { size, mtimeMs } = await stat(join(native, 'bin', 'postgres'));
  const key = createHash('sha256').update(`${native} ${size} ${mtimeMs}`).digest('hex').slice(0, 16);
  const place = join(cache, `postgres-${key}`);
  try {
    await makeDirectories(cache, 0o755);
    if ((await lstat(cache)).uid !== process.getuid?.())
      throw new Error(`${cache} belongs to another account`);
    if (await isThere(place)) return join(place, 'native');
    const making = await mkdtemp(`${place}.`);
    try {
      await cp(native, join(making, 'native'), {
        recursive: true,
        verbatimSymlinks: true,
        preserveTimestamps: true,
      });
      await chmod(making, 0o755);
      // A replica that starts at the same time may have been quicker.
      await rename(making, place).catch(async (error: unknown) => {
        if (!(await isThere(place))) throw error;
      });
    } finally {
      await rm(making, { recursive: true, force: true });
    }
  } catch (cause) {
    throw new LaunchError(
      `PostgreSQL's account cannot reach its programs in ${native}, and they cannot be copied to ${cache}: ${(cause as Error).message}. ` +
        'Install Barista where every account may enter, such as in /opt.',
      { cause },
    );
  }
  // `native/pg-symlinks.json` names its directory.
  return join(place, 'native');
}

function isThere(path: string): Promise<boolean> {
  return lstat(path).then(
    () => true,
    () => false,
  );
}
