/**
 * The mark that a database must be replaced, as a file.
 *
 * Written in one go, before whatever is done next: the protocol's records that come behind it would make it untrue to leave it out. It happens hardly ever, so nobody waits for long.
 */
import { closeSync, existsSync, fsyncSync, mkdirSync, openSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { CopyMark } from '../ports/copy-mark.ts';

export function copyMarkAt(path: string): CopyMark {
  return {
    get isSet() {
      return existsSync(path);
    },
    set() {
      if (!existsSync(dirname(path))) mkdirSync(dirname(path));
      sync(path, 'w');
      sync(dirname(path), 'r');
    },
    clear() {
      rmSync(path, { force: true });
    },
  };
}

function sync(path: string, flags: 'w' | 'r'): void {
  const file = openSync(path, flags, 0o600);
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}
