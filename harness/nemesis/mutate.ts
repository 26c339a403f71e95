/**
 * A copy of the built server with one bug planted: the only way in which bugs get into it, for the product has no switch for them.
 *
 * Invariant: if the text that a bug replaces is not found exactly once, nothing is built: a bug that is not there cannot be missed.
 */
import { cp, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('../..', import.meta.url));

export interface Mutation {
  /** Below server/dist. */
  readonly file: string;
  readonly find: string;
  readonly replace: string;
}

export interface MutatedBuild {
  readonly bin: string;
  remove(): Promise<void>;
}

/** @throws Error if there is no build, or the text is not there once */
export async function buildMutant(mutations: readonly Mutation[], from = root): Promise<MutatedBuild> {
  const directory = await mkdtemp(join(tmpdir(), 'barista-mutant-'));
  const remove = (): Promise<void> => rm(directory, { recursive: true, force: true });
  try {
    await cp(join(from, 'bin'), join(directory, 'bin'), { recursive: true });
    await cp(join(from, 'server', 'dist'), join(directory, 'server', 'dist'), { recursive: true });
    await mkdir(join(directory, 'dashboard'));
    await cp(join(from, 'package.json'), join(directory, 'package.json'));
    await symlink(join(from, 'node_modules'), join(directory, 'node_modules'));
    for (const mutation of mutations) await plant(join(directory, 'server', 'dist'), mutation);
    return { bin: join(directory, 'bin', 'barista.js'), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function plant(dist: string, { file, find, replace }: Mutation): Promise<void> {
  const path = join(dist, file);
  const text = await readFile(path, 'utf8');
  await writeFile(path, replaceOnce(text, { file, find, replace }));
}

/** @throws Error if the text is not there exactly once */
export function replaceOnce(text: string, { file, find, replace }: Mutation): string {
  const count = text.split(find).length - 1;
  if (count !== 1)
    throw new Error(
      `the bug does not fit ${file} any more: its text is there ${count} times, not once: ${find}`,
    );
  return text.replace(find, () => replace);
}
