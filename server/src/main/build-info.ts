/**
 * Which build of Barista runs: its version, and the commit that it was built from as `npm run build:server` has written it down.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** This file is in server/src/main or server/dist/main. */
const packageRoot = join(import.meta.dirname, '..', '..', '..');

export interface BuildInfo {
  readonly version: string;
  /** `unknown` where it was built outside of a checkout; `-dirty` behind it: with changes that are in no commit. */
  readonly commit: string;
  /** Of Node.js. */
  readonly node: string;
}

export function buildInfo(root: string = packageRoot): BuildInfo {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as {
    readonly version: string;
  };
  return { version, commit: readCommit(join(root, 'server', 'dist', 'commit')), node: process.versions.node };
}

function readCommit(file: string): string {
  try {
    const commit = readFileSync(file, 'utf8').trim();
    return /^[0-9a-f]{40}(-dirty)?$/.test(commit) ? commit : 'unknown';
  } catch {
    return 'unknown';
  }
}
