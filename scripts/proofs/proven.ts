/**
 * What has been shown already: scripts/proofs/proven.json holds, for each model, test and run that passed, a digest of all that it rests on.
 *
 * Responsible for: the file. Invariant: what is noted passed with these texts, and nothing is noted that was cut short or left something out.
 */
import { mkdirSync, readFileSync, renameSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { z } from 'zod';

const FILE = join(import.meta.dirname, 'proven.json');
const LOCK = `${FILE}.lock`;
const LOCK_TRIES = 2000;
const LOCK_WAIT_MS = 5;

/** The digest with which something passed, by its name. */
export type Proven = ReadonlyMap<string, string>;

export function loadProven(): Proven {
  const noted = z.record(z.string(), z.string()).parse(JSON.parse(readFileSync(FILE, 'utf8')));
  return new Map(Object.entries(noted));
}

/** By name, one a line: two who note different ones seldom meet. */
export function textOfProven(proven: Proven): string {
  const lines = [...proven.keys()]
    .sort()
    .map((name) => `  ${JSON.stringify(name)}: ${JSON.stringify(proven.get(name))}`);
  return `{\n${lines.join(',\n')}\n}\n`;
}

/**
 * Notes what passed, and strikes out what did not (null). Of the names that begin with `kind`, those that `known` lacks are struck out, too.
 * Steps that run side by side may note at the same time.
 */
export function note(
  outcomes: ReadonlyMap<string, string | null>,
  kind: string,
  known: (name: string) => boolean,
): void {
  underLock(() => {
    const proven = new Map(loadProven());
    for (const [name, digest] of outcomes) {
      if (digest === null) proven.delete(name);
      else proven.set(name, digest);
    }
    for (const name of proven.keys()) if (name.startsWith(kind) && !known(name)) proven.delete(name);
    writeFileSync(`${FILE}.new`, textOfProven(proven));
    renameSync(`${FILE}.new`, FILE);
  });
}

/** @throws Error if somebody holds the lock for seconds: left behind by a process that was killed */
function underLock(work: () => void): void {
  for (let left = LOCK_TRIES; ; left--) {
    try {
      mkdirSync(LOCK);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      if (left === 0)
        throw new Error(`${LOCK} was not let go of; remove it if no test is running`, { cause: error });
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, LOCK_WAIT_MS);
    }
  }
  try {
    work();
  } finally {
    rmdirSync(LOCK);
  }
}
