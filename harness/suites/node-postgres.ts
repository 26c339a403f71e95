/**
 * node-postgres's own integration tests, one program each, against one database.
 *
 * `sources` is a source tree of it that is installed and built. A file passes if its program ends with 0, as its own Makefile has it; those of its pool and its cursor
 * are run by mocha.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { commandOutput, type CommandOutput } from './command-output.ts';
import type { Outcome, SuiteRun, Target } from './outcome.ts';
import { parseJunit, steady } from './test-output.ts';

export interface NodePostgresOptions {
  readonly sources: string;
  /** Part of the files' names; null: all. */
  readonly only: string | null;
}

const fileMsMax = 60_000;
const mochaMsMax = 300_000;
const mochaPackages = ['pg-pool', 'pg-cursor'] as const;

export async function runNodePostgres(
  options: NodePostgresOptions,
  run: SuiteRun,
): Promise<readonly Outcome[]> {
  run.progress(`node-postgres: running at port ${run.target.port}`);
  await mkdir(join(run.directory, 'output'), { recursive: true });
  const { sources, only } = options;
  const outcomes: Outcome[] = [];
  for (const file of await integrationTests(sources)) {
    if (only === null || file.includes(only)) outcomes.push(await runFile(sources, file, run));
  }
  for (const name of mochaPackages) {
    if (only === null || name.includes(only)) outcomes.push(...(await runMocha(sources, name, run)));
  }
  return outcomes;
}

function packageIn(sources: string, name: string): string {
  return join(sources, 'packages', name);
}

async function integrationTests(sources: string): Promise<readonly string[]> {
  const pg = packageIn(sources, 'pg');
  const found = await readdir(join(pg, 'test', 'integration'), { recursive: true, withFileTypes: true });
  return found
    .filter((entry) => entry.isFile() && entry.name.endsWith('-tests.js'))
    .map((entry) => relative(pg, join(entry.parentPath, entry.name)))
    .toSorted();
}

async function runFile(sources: string, file: string, run: SuiteRun): Promise<Outcome> {
  const { code, text } = await limited([file], packageIn(sources, 'pg'), fileMsMax, run);
  await writeFile(join(run.directory, 'output', `${file.replaceAll('/', '--')}.txt`), text);
  const isPassed = code === 0;
  return { name: file, result: isPassed ? 'pass' : 'fail', evidence: isPassed ? '' : reasonOf(text) };
}

/** Every single test of a package, by mocha's own report. */
async function runMocha(sources: string, name: string, run: SuiteRun): Promise<readonly Outcome[]> {
  const mocha = join(sources, 'node_modules', 'mocha', 'bin', 'mocha.js');
  const report = join(run.directory, 'output', `${name}.xml`);
  const reporter = ['--reporter', 'xunit', '--reporter-option', `output=${report}`];
  const { text } = await limited([mocha, '--exit', ...reporter], packageIn(sources, name), mochaMsMax, run);
  const xml = await readFile(report, 'utf8').catch(() => null);
  if (xml === null) throw new Error(`mocha wrote no report for ${name}:\n${text.slice(-2000)}`);
  return parseJunit(xml).map((outcome) => {
    const { result, evidence } = outcome;
    return { name: `${name}::${outcome.name}`, result, evidence };
  });
}

/** Node with these arguments, for as long as it may take. */
async function limited(
  args: readonly string[],
  cwd: string,
  msMax: number,
  { target, signal }: SuiteRun,
): Promise<CommandOutput> {
  const end = AbortSignal.any([signal, AbortSignal.timeout(msMax)]);
  try {
    const env = { ...process.env, ...environmentOf(target) };
    return await commandOutput(process.execPath, args, { cwd, env, signal: end });
  } catch (error) {
    signal.throwIfAborted();
    if (!end.aborted) throw error;
    return { code: null, text: `did not end within ${msMax} ms` };
  }
}

function environmentOf({ host, port, user, password, database }: Target): Readonly<Record<string, string>> {
  return {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
    // Neither side has TLS.
    PGTESTNOSSL: 'true',
  };
}

/** The first line that names an error, for the rest is the way to it. */
function reasonOf(text: string): string {
  const line = text.split('\n').find((each) => /error|fail|did not/i.test(each)) ?? text.slice(-200);
  return steady(line.trim());
}
