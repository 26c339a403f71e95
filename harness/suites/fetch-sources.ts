/**
 * Fetches a suite that others wrote, and what its tests need, by git and the suite's own package manager, into a directory that the operator names.
 *
 * Responsible for: which release of each is taken, and how it is installed. What is there already is left as it is.
 */
import { existsSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { commandOutput } from './command-output.ts';

interface Source {
  readonly url: string;
  /** A tag or a branch. */
  readonly release: string;
  /** In the source tree, one after another. */
  readonly install: readonly (readonly [program: string, ...args: string[]])[];
  /** The Python that the install step has made, in the source tree. */
  readonly python?: string;
}

const venv = 'barista-venv';
const python = join(venv, 'bin', 'python');
/** With the programs of this machine; nothing of the suite is compiled but by its own steps. */
const makeVenv = ['python3', '-m', 'venv', venv] as const;

function pip(...packages: readonly string[]): readonly [string, ...string[]] {
  return [python, '-m', 'pip', 'install', '--quiet', ...packages];
}

const postgres: Source = {
  url: 'https://github.com/postgres/postgres.git',
  release: 'REL_18_4',
  install: [],
};

const sources: Readonly<Record<string, Source>> = {
  regress: postgres,
  isolation: postgres,
  psycopg: {
    url: 'https://github.com/psycopg/psycopg.git',
    release: '3.2.9',
    install: [makeVenv, pip('psycopg[binary,test]==3.2.9', 'psycopg-pool')],
    python,
  },
  sqlalchemy: {
    url: 'https://github.com/sqlalchemy/sqlalchemy.git',
    release: 'rel_2_0_44',
    install: [makeVenv, pip('sqlalchemy==2.0.44', 'psycopg[binary]==3.2.9', 'pytest<9')],
    python,
  },
  'node-postgres': {
    url: 'https://github.com/brianc/node-postgres.git',
    release: 'master',
    install: [
      ['npx', '--yes', 'yarn@1.22.22', 'install', '--frozen-lockfile', '--ignore-scripts'],
      ['npx', '--yes', 'yarn@1.22.22', 'build'],
    ],
  },
  pgjdbc: { url: 'https://github.com/pgjdbc/pgjdbc.git', release: 'REL42.7.8', install: [] },
};

export interface FetchedSources {
  readonly directory: string;
  /** Null: the suite needs none. */
  readonly python: string | null;
}

/** `release`: another than the one that is named here. @throws Error with the output of the command that failed */
export async function fetchSources(
  suite: string,
  into: string,
  release: string | null,
  signal: AbortSignal,
): Promise<FetchedSources> {
  const source = sources[suite];
  if (source === undefined) throw new Error(`no source of ${suite} is known`);
  const folder = source.url.replace(/^.*\/|\.git$/g, '');
  const directory = join(into, folder);
  const installed = source.python === undefined ? null : join(directory, source.python);
  if (existsSync(directory)) return { directory, python: installed };
  await mkdir(into, { recursive: true });
  const clone = ['clone', '--quiet', '--depth', '1', '--branch', release ?? source.release, source.url];
  await must('git', [...clone, directory], into, signal);
  for (const [program, ...args] of source.install) await must(program, args, directory, signal);
  return { directory, python: installed };
}

async function must(
  program: string,
  args: readonly string[],
  cwd: string,
  signal: AbortSignal,
): Promise<void> {
  const { code, text } = await commandOutput(program, args, { cwd, env: process.env, signal });
  if (code !== 0) throw new Error(`${program} ${args.join(' ')} ended with ${code}:\n${text.slice(-3000)}`);
}
