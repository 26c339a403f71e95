/**
 * node-postgres's own integration tests, one program each, against one database.
 *
 * `sources` is a source tree of it that is installed and built. A file passes if its program ends with 0, as its own Makefile has it; those of its pool and its cursor are for mocha.
 */
import { existsSync } from 'node:fs';
import { mkdir, readdir, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { commandOutput } from './command-output.ts';
import type { Outcome, SuiteRun, Target } from './outcome.ts';
import { steady } from './test-output.ts';

export interface NodePostgresOptions {
  readonly sources: string;
  /** Part of the files' names; null: all. */
  readonly only: string | null;
}

const fileMsMax = 60_000;
const mochaPackages = ['pg-pool', 'pg-cursor'] as const;

export async function runNodePostgres(
  options: NodePostgresOptions,
  run: SuiteRun,
): Promise<readonly Outcome[]> {
  const { sources, only } = options;
  const { target, directory, signal, progress } = run;
  progress(`node-postgres: running at port ${target.port}`);
  await mkdir(join(directory, 'output'), { recursive: true });
  const env = { ...process.env, ...environmentOf(target) };
  const outcomes: Outcome[] = [];
  for (const { name, args, cwd } of await programs(sources)) {
    if (only !== null && !name.includes(only)) continue;
    const limited = AbortSignal.any([signal, AbortSignal.timeout(fileMsMax)]);
    const { code, text } = await commandOutput(process.execPath, args, {
      cwd,
      env,
      signal: limited,
    }).catch((error: unknown) => {
      signal.throwIfAborted();
      if (!limited.aborted) throw error;
      return { code: null, text: `did not end within ${fileMsMax} ms` };
    });
    await writeFile(join(directory, 'output', `${name.replaceAll('/', '--')}.txt`), text);
    const isPassed = code === 0;
    outcomes.push({ name, result: isPassed ? 'pass' : 'fail', evidence: isPassed ? '' : reasonOf(text) });
  }
  return outcomes;
}

interface Program {
  readonly name: string;
  readonly args: readonly string[];
  readonly cwd: string;
}

async function programs(sources: string): Promise<readonly Program[]> {
  const pg = join(sources, 'packages', 'pg');
  const found = await readdir(join(pg, 'test', 'integration'), { recursive: true, withFileTypes: true });
  const own = found
    .filter((entry) => entry.isFile() && entry.name.endsWith('-tests.js'))
    .map((entry) => relative(pg, join(entry.parentPath, entry.name)))
    .toSorted()
    .map((file) => ({ name: file, args: [file], cwd: pg }));
  const mocha = join(sources, 'node_modules', 'mocha', 'bin', 'mocha.js');
  const others = mochaPackages
    .map((name) => ({ name, args: [mocha, '--exit'], cwd: join(sources, 'packages', name) }))
    .filter(({ cwd }) => existsSync(mocha) && existsSync(cwd));
  return [...own, ...others];
}

function environmentOf({ host, port, user, password, database }: Target): Readonly<Record<string, string>> {
  return {
    PGHOST: host,
    PGPORT: String(port),
    PGUSER: user,
    PGPASSWORD: password,
    PGDATABASE: database,
    // The same key goes to both sides; neither has TLS.
    PGTESTNOSSL: 'true',
  };
}

/** The first line that names an error, for the rest is the way to it. */
function reasonOf(text: string): string {
  const line = text.split('\n').find((each) => /error|fail|did not/i.test(each)) ?? text.slice(-200);
  return steady(line.trim());
}
