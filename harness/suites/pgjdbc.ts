/**
 * pgjdbc's own tests, by Maven, against one database.
 *
 * `sources` is pgjdbc's source tree; nothing in it is changed. Its own build makes many more things than the driver and its tests: both are compiled here by a project file of ours.
 */
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { commandOutput } from './command-output.ts';
import type { Outcome, SuiteRun, Target } from './outcome.ts';
import { pgjdbcProject } from './pgjdbc-project.ts';
import { parseJunit } from './test-output.ts';

export interface PgjdbcOptions {
  readonly sources: string;
  /** Surefire's -Dtest; null: all tests. */
  readonly only: string | null;
}

const scramLine = /com\.ongres\.scram:scram-client:([\d.]+)/;

export async function runPgjdbc(
  { sources, only }: PgjdbcOptions,
  { target, directory, signal, progress }: SuiteRun,
): Promise<readonly Outcome[]> {
  const build = await readFile(join(sources, 'pgjdbc', 'build.gradle.kts'), 'utf8');
  const scramVersion = scramLine.exec(build)?.[1];
  if (scramVersion === undefined) throw new Error(`${sources} names no version of scram-client`);
  // Of all sides: it is compiled once.
  const project = join(dirname(directory), 'project');
  const reports = join(directory, 'reports');
  await mkdir(project, { recursive: true });
  await writeFile(join(project, 'pom.xml'), pgjdbcProject({ sources, scramVersion }));
  progress(`pgjdbc: running at port ${target.port}`);
  const selection = only === null ? [] : [`-Dtest=${only}`, '-Dsurefire.failIfNoSpecifiedTests=false'];
  const args = ['-B', 'test', `-Dsuite.reports=${reports}`, ...selection, ...propertiesOf(target)];
  const { code, text } = await commandOutput('mvn', args, { cwd: project, env: process.env, signal });
  await writeFile(join(directory, 'maven.txt'), text);
  const files = await readdir(reports).catch(() => []);
  const outcomes: Outcome[] = [];
  for (const file of files.filter((name) => /^TEST-.*\.xml$/.test(name)).toSorted()) {
    outcomes.push(...parseJunit(await readFile(join(reports, file), 'utf8')));
  }
  if (outcomes.length === 0)
    throw new Error(`Maven ended with ${code} and ran no test:\n${text.slice(-3000)}`);
  return numbered(outcomes);
}

/** Tests with parameters may share a name: they are told apart by their order. */
function numbered(outcomes: readonly Outcome[]): readonly Outcome[] {
  const seen = new Map<string, number>();
  return outcomes.map((outcome) => {
    const count = (seen.get(outcome.name) ?? 0) + 1;
    seen.set(outcome.name, count);
    return count === 1 ? outcome : { ...outcome, name: `${outcome.name} #${count}` };
  });
}

/** As pgjdbc's `build.properties` has them, and as its newer tests ask for them. There is no privileged user but the client's own. */
function propertiesOf({ host, port, user, password, database }: Target): readonly string[] {
  const properties = {
    server: host,
    port: String(port),
    database,
    username: user,
    'test.url.PGHOST': host,
    'test.url.PGPORT': String(port),
    'test.url.PGDBNAME': database,
    user,
    password,
    privilegedUser: user,
    privilegedPassword: password,
  };
  const opened = ['util', 'lang'].map((name) => `--add-opens=java.base/java.${name}=ALL-UNNAMED`);
  const args = Object.entries(properties).map(([name, value]) => `-D${name}=${value}`);
  return [`-DargLine=-Xmx1g ${opened.join(' ')}`, ...args];
}
