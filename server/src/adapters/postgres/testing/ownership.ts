/** For tests: whose the files of a replica are. What PostgreSQL runs as owns its own, and reads nothing else of the replica's. */
import { lstat, readdir } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { launchUser, mayEnter } from '../launch-user.ts';

/** PostgreSQL's own, below `postgres`. */
const owned = /^postgres\/(?:data|socket|feed)(?:\/|$)/;

/** One line for each file that has a wrong owner, or that PostgreSQL's account could read. Where it is the replica's own account there are none. */
export async function ownershipProblems(dataDir: string): Promise<readonly string[]> {
  const user = launchUser();
  if (user.kind === 'self') return [];
  const problems: string[] = [];
  const visit = async (path: string): Promise<void> => {
    // It may be gone since it was listed.
    const found = await lstat(path).catch(() => null);
    if (found === null) return;
    const name = relative(dataDir, path);
    const isOwned = owned.test(name);
    // Made by the replica in a place that is closed to others.
    const isSocket = found.isSocket();
    if (isOwned && !isSocket && found.uid !== user.uid) problems.push(`${name} belongs to ${found.uid}`);
    const read = { uid: found.uid, gid: found.gid, mode: found.mode >> 2 };
    // A database that was set aside, or moved away, was PostgreSQL's, too.
    const isSecret = found.isFile() && found.uid !== user.uid;
    if (!isOwned && isSecret && mayEnter(user, read)) problems.push(`${name} can be read`);
    if (!found.isDirectory() || !(isOwned || mayEnter(user, found))) return;
    for (const each of await readdir(path).catch(() => [])) await visit(join(path, each));
  };
  await visit(dataDir);
  return problems;
}
