/**
 * PostgreSQL's own regression and isolation suites, by its own drivers (pg_regress, pg_isolation_regress), as an ordinary role.
 *
 * Responsible for: a fresh database, the files as the drivers want them, the driver's run, and what each file came to. `sources` is a source tree of the server's own version;
 * nothing in it is changed.
 *
 * One thing is done to the SQL: a COPY that reads a data file of the suite on the server, which needs a superuser, becomes psql's \copy of the same file. Otherwise the tables that
 * most of the suite reads would be empty on both sides.
 */
import { cp, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { locateBinaries } from '../../server/src/adapters/postgres/binaries.ts';
import { querySql } from '../bench/sql.ts';
import { commandOutput } from './command-output.ts';
import type { Outcome, SuiteRun, Target } from './outcome.ts';
import { parsePgRegress } from './test-output.ts';

export type RegressSuite = 'regress' | 'isolation';

export interface RegressOptions {
  readonly suite: RegressSuite;
  /** PostgreSQL's source tree, with src/test in it. */
  readonly sources: string;
  /** Folder of the drivers' programs as PostgreSQL installs them (`pgxs/src/test`); null: those of the embedded PostgreSQL. */
  readonly drivers: string | null;
  /** Folder of psql; null: the one in PATH. */
  readonly psqlDirectory: string | null;
}

const databases: Readonly<Record<RegressSuite, string>> = {
  regress: 'regression',
  isolation: 'isolation_regression',
};

/** Those of the settings that the driver gives its database which an ordinary role may give, too. */
const databaseSettings = [
  "lc_monetary = 'C'",
  "lc_numeric = 'C'",
  "lc_time = 'C'",
  "bytea_output = 'hex'",
  "timezone_abbreviations = 'Default'",
] as const;

export async function runRegress(
  options: RegressOptions,
  { target, directory, signal, progress }: SuiteRun,
): Promise<readonly Outcome[]> {
  const { suite, sources } = options;
  // The same for every side, for its name comes back in the output.
  const input = join(dirname(directory), 'input');
  const output = join(directory, 'output');
  await prepareInput(join(sources, 'src', 'test', suite), input, suite);
  await mkdir(join(output, 'results'), { recursive: true });
  await prepareDatabase(target, databases[suite]);
  progress(`${suite}: running at port ${target.port}`);
  const driver = await driverOf(options);
  const args = [
    `--inputdir=${input}`,
    `--expecteddir=${input}`,
    `--outputdir=${output}`,
    `--schedule=${join(input, suite === 'regress' ? 'parallel_schedule' : 'isolation_schedule')}`,
    '--use-existing',
    `--dbname=${databases[suite]}`,
    `--host=${target.host}`,
    `--port=${target.port}`,
    `--user=${target.user}`,
    `--dlpath=${driver.libraries}`,
    // Empty: as the PATH has it.
    `--bindir=${suite === 'regress' ? (options.psqlDirectory ?? '') : dirname(driver.program)}`,
  ];
  const { text } = await commandOutput(driver.program, args, {
    cwd: output,
    env: { ...process.env, ...driver.env, PGPASSWORD: target.password },
    signal,
  });
  await writeFile(join(directory, 'driver.txt'), text);
  const told = parsePgRegress(text);
  if (told.length === 0) throw new Error(`${driver.program} ran no test:\n${text.slice(-2000)}`);
  await mkdir(join(directory, 'seen'), { recursive: true });
  return Promise.all(
    told.map(async ({ name, result }) => {
      const file = `${name}.out`;
      const seen = await readFile(join(output, 'results', file), 'latin1').catch(() => '');
      const evidence = comparable(seen, output);
      await writeFile(join(directory, 'seen', file), evidence, 'latin1');
      return { name, result, evidence };
    }),
  );
}

interface Driver {
  readonly program: string;
  readonly libraries: string;
  readonly env: Readonly<Record<string, string>>;
}

async function driverOf({ suite, drivers }: RegressOptions): Promise<Driver> {
  const { postgres, env } = await locateBinaries();
  const native = dirname(dirname(postgres));
  const folder = drivers ?? join(native, 'lib', 'postgresql', 'pgxs', 'src', 'test');
  const program = join(folder, suite, suite === 'regress' ? 'pg_regress' : 'pg_isolation_regress');
  // The isolation tester needs a libpq of its own version, which the system may not have.
  const libraries = [join(native, 'lib'), env['LD_LIBRARY_PATH'], process.env['LD_LIBRARY_PATH']];
  const path = libraries.filter((each) => each !== undefined && each !== '').join(':');
  return {
    program,
    libraries: join(native, 'lib', 'postgresql'),
    env: drivers === null ? { ...env, LD_LIBRARY_PATH: path } : env,
  };
}

async function prepareInput(from: string, to: string, suite: RegressSuite): Promise<void> {
  await rm(to, { recursive: true, force: true });
  await cp(from, to, { recursive: true });
  if (suite === 'isolation') return;
  for (const folder of ['sql', 'expected']) {
    for (const name of await readdir(join(to, folder))) {
      if (!/\.(sql|out)$/.test(name)) continue;
      const file = join(to, folder, name);
      // Some files hold bytes that are no UTF-8.
      const text = await readFile(file, 'latin1');
      const changed = copyFromHere(text, to);
      if (changed !== text) await writeFile(file, changed, 'latin1');
    }
  }
}

const settingLine = /^\\set filename :abs_srcdir '(\/data\/[\w.]+)'$/i;
const otherSetting = /^\\set filename /i;
const serverCopy = /^COPY ([^;]+) FROM :'filename';$/i;

/** Line by line: `COPY ... FROM :'filename';` while the variable names a file of the suite's data. */
export function copyFromHere(sql: string, input: string): string {
  let file: string | null = null;
  const lines = sql.split('\n').map((line) => {
    const setting = settingLine.exec(line);
    if (setting !== null) file = setting[1] ?? null;
    else if (otherSetting.test(line)) file = null;
    const copy = serverCopy.exec(line);
    return copy === null || file === null ? line : `\\copy ${copy[1]} FROM '${input}${file}'`;
  });
  return lines.join('\n');
}

/** Names that PostgreSQL makes from numbers that it gives to whoever comes first. */
const numberedNames = /\b((?:pg_temp|pg_toast_temp|pg_toast|RI_ConstraintTrigger_[ac])_)\d+/g;

/** Output of a file without what is another in every run. */
export function comparable(output: string, directory: string): string {
  return output.replaceAll(directory, 'DIRECTORY').replaceAll(numberedNames, '$1N');
}

/** Without what an earlier run may have left: its database, and the roles that it made. */
async function prepareDatabase(target: Target, database: string): Promise<void> {
  await querySql(target, `DROP DATABASE IF EXISTS ${database}`);
  const left = await querySql(target, "SELECT rolname FROM pg_roles WHERE rolname LIKE 'regress%'");
  for (const { rolname } of left) {
    // One that still owns something elsewhere stays, as it would stay for the other side.
    await querySql(target, `DROP ROLE "${String(rolname)}"`).catch(() => undefined);
  }
  await querySql(target, `CREATE DATABASE ${database} TEMPLATE template0`);
  for (const setting of databaseSettings) await querySql(target, `ALTER DATABASE ${database} SET ${setting}`);
}
