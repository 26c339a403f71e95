/**
 * SQLAlchemy's tests of its PostgreSQL dialect, and the suite that every dialect has to pass, by pytest, with psycopg 3 as the driver.
 *
 * `sources` is SQLAlchemy's source tree; the Python given has the same version of SQLAlchemy, psycopg and pytest. The database is made anew, with the schemas and extensions that
 * SQLAlchemy's own instructions ask for.
 */
import { querySql } from '../bench/sql.ts';
import type { Outcome, SuiteRun, Target } from './outcome.ts';
import { runPytest } from './pytest.ts';

export interface SqlalchemyOptions {
  readonly sources: string;
  readonly python: string;
  /** pytest's -k; null: all tests. */
  readonly only: string | null;
}

const database = 'sqlalchemy_test';
const parts = ['test/dialect/postgresql', 'test/dialect/test_suite.py'] as const;

export async function runSqlalchemy(
  { sources, python, only }: SqlalchemyOptions,
  run: SuiteRun,
): Promise<readonly Outcome[]> {
  const { target, progress } = run;
  await prepareDatabase(target);
  progress(`sqlalchemy: running at port ${target.port}`);
  const { host, port, user, password } = target;
  const login = `${encodeURIComponent(user)}:${encodeURIComponent(password)}`;
  const uri = `postgresql+psycopg://${login}@${host}:${port}/${database}`;
  const selection = only === null ? [] : ['-k', only];
  // Its own configuration gives up after 250 failures.
  return runPytest(
    { python, cwd: sources, args: [...parts, '--dburi', uri, '--maxfail=100000', ...selection] },
    run,
  );
}

async function prepareDatabase(target: Target): Promise<void> {
  await querySql(
    target,
    `DROP DATABASE IF EXISTS ${database}`,
    `CREATE DATABASE ${database} TEMPLATE template0 ENCODING 'UTF8'`,
    `ALTER DATABASE ${database} SET default_text_search_config = 'pg_catalog.english'`,
  );
  await querySql(
    { ...target, database },
    'CREATE SCHEMA test_schema',
    'CREATE SCHEMA test_schema_2',
    'CREATE EXTENSION hstore',
    'CREATE EXTENSION citext',
  );
}
