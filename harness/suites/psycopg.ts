/**
 * psycopg's own tests, by pytest, against one database.
 *
 * `sources` is psycopg's source tree; the Python given has the same version of psycopg and what its tests ask for. Which tests are left out, and why, is in README.md.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { connectionString } from '../bench/sql.ts';
import { commandOutput } from './command-output.ts';
import type { Outcome, SuiteRun } from './outcome.ts';
import { parseJunit } from './test-output.ts';

export interface PsycopgOptions {
  readonly sources: string;
  readonly python: string;
  /** pytest's -k; null: all tests. */
  readonly only: string | null;
}

/** They measure time, start other programs, or ask for what has nothing to do with the server. */
const leftOut = 'not slow and not timing and not flakey and not mypy and not dns and not crdb and not gevent';

export async function runPsycopg(options: PsycopgOptions, run: SuiteRun): Promise<readonly Outcome[]> {
  const { target, directory, signal, progress } = run;
  const report = join(directory, 'report.xml');
  progress(`psycopg: running at port ${target.port}`);
  const args = ['-m', 'pytest', 'tests', '-q', '-p', 'no:randomly'];
  const selection = ['-m', leftOut, ...(options.only === null ? [] : ['-k', options.only])];
  const { code, text } = await commandOutput(
    options.python,
    [
      ...args,
      ...selection,
      `--junitxml=${report}`,
      '-o',
      'junit_family=xunit1',
      '-o',
      `cache_dir=${join(directory, 'cache')}`,
    ],
    {
      cwd: options.sources,
      env: {
        ...process.env,
        PSYCOPG_TEST_DSN: `${connectionString(target)} password=${target.password}`,
      },
      signal,
    },
  );
  const xml = await readFile(report, 'utf8').catch(() => null);
  if (xml === null) throw new Error(`pytest ended with ${code} and wrote no report:\n${text.slice(-3000)}`);
  return parseJunit(xml);
}
