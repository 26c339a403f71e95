/**
 * Seeds that are new with every change, and the same for whoever has the same files.
 *
 * What is refused is refused again wherever that commit is checked out, so a red run is nobody's bad luck: its command shows it again.
 */
import { execFileSync } from 'node:child_process';

const FIRST_MAX = 2 ** 28;
/** Of a copy without a history. */
const WITHOUT_GIT = 309_000;

/** From the hash of all files of HEAD. */
export function seedOfTree(): number {
  const tree = hashOfTree();
  return tree === null ? WITHOUT_GIT : seedOfHash(tree);
}

/** `hash`: hexadecimal. A whole number from 1 to 2^28. */
export function seedOfHash(hash: string): number {
  return (Number.parseInt(hash.slice(0, 7), 16) % FIRST_MAX) + 1;
}

function hashOfTree(): string | null {
  try {
    return execFileSync('git', ['rev-parse', 'HEAD^{tree}'], {
      cwd: import.meta.dirname,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    }).trim();
  } catch {
    return null;
  }
}
