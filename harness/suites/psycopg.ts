/**
 * psycopg's own tests, by pytest, against one database.
 *
 * `sources` is psycopg's source tree; the Python given has the same version of psycopg and what its tests ask for. Which tests are left out, and why, is in README.md.
 */
import { connectionString } from '../bench/sql.ts';
import type { Outcome, SuiteRun } from './outcome.ts';
import { runPytest } from './pytest.ts';

export interface PsycopgOptions {
  readonly sources: string;
  readonly python: string;
  /** pytest's -k; null: all tests. */
  readonly only: string | null;
}

/** They measure time, start other programs, or ask for what has nothing to do with the server. */
const leftOut = 'not slow and not timing and not flakey and not mypy and not dns and not crdb and not gevent';

export async function runPsycopg(
  { sources, python, only }: PsycopgOptions,
  run: SuiteRun,
): Promise<readonly Outcome[]> {
  const { target, progress } = run;
  progress(`psycopg: running at port ${target.port}`);
  const selection = only === null ? [] : ['-k', only];
  return runPytest(
    {
      python,
      cwd: sources,
      args: ['tests', '-m', leftOut, ...selection],
      env: { PSYCOPG_TEST_DSN: `${connectionString(target)} password=${target.password}` },
    },
    run,
  );
}
