/**
 * A real file system of one MiB, for tests of what happens when there is no space left. Mounting one takes root on Linux.
 *
 * Whoever mounts it removes it, whether or not it could be mounted.
 */
import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly path: string;
  /** False where none can be mounted: `path` is then an ordinary directory. */
  readonly isMounted: boolean;
  readonly remove: () => void;
}

/** `path`: an empty directory; left out: a temporary one. */
export function mountSmallDisk(path = mkdtempSync(join(tmpdir(), 'barista-full-'))): SmallDisk {
  const isMounted = mount(path);
  const remove = (): void => {
    if (isMounted) execFileSync('umount', [path]);
    rmdirSync(path);
  };
  return { path, isMounted, remove };
}

function mount(path: string): boolean {
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', path], { stdio: 'pipe' });
    return true;
  } catch (error) {
    console.warn(`skipped: cannot mount a small file system here (it takes root on Linux): ${String(error)}`);
    return false;
  }
}
