/**
 * Builds an earlier commit of this repository in a directory of its own.
 *
 * Responsible for: the work tree, its packages and its build, and taking all that away again. Changes nothing in the tree that it is run from, but for git's list of work trees.
 */
import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const root = fileURLToPath(new URL('../..', import.meta.url));
const lockfile = 'package-lock.json';

export interface PreviousBuild {
  /** The `barista` command of it. */
  readonly bin: string;
  remove(): Promise<void>;
}

/** @throws Error if git does not have the commit, or it cannot be built */
export async function buildPrevious(commit: string, say: (line: string) => void): Promise<PreviousBuild> {
  const directory = await mkdtemp(join(tmpdir(), 'barista-previous-'));
  const tree = join(directory, 'tree');
  const remove = async (): Promise<void> => {
    await run(root, 'git', ['worktree', 'remove', '--force', tree]).catch(() => undefined);
    await rm(directory, { recursive: true, force: true, maxRetries: 5 });
  };
  try {
    await run(root, 'git', ['worktree', 'add', '--detach', tree, commit]).catch((cause: unknown) => {
      throw new Error(
        `git has no commit ${commit} here; a shallow clone has to be deepened (git fetch --unshallow)`,
        { cause },
      );
    });
    if (await hasSamePackages(tree)) await symlink(join(root, 'node_modules'), join(tree, 'node_modules'));
    else {
      say('It has other packages than this tree: npm ci ...');
      await run(tree, 'npm', ['ci', '--no-audit', '--no-fund']);
    }
    say('Building it ...');
    await run(tree, 'npm', ['run', '--silent', 'build:server']);
    return { bin: join(tree, 'bin', 'barista.js'), remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

async function hasSamePackages(tree: string): Promise<boolean> {
  if (!existsSync(join(root, 'node_modules'))) return false;
  const [own, others] = await Promise.all([root, tree].map((each) => readFile(join(each, lockfile), 'utf8')));
  return own === others;
}

async function run(cwd: string, command: string, args: readonly string[]): Promise<void> {
  await promisify(execFile)(command, [...args], { cwd, maxBuffer: 64 * 1024 * 1024 });
}
