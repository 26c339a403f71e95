/**
 * `npx tsx harness/suites/main.ts SUITE --sources DIR [options]`: test suites that others wrote, direct against PostgreSQL and through Barista, and what differs.
 *
 * Responsible for: the command line, the servers, and the report. Exit codes: 0 nothing differs, 1 something does, 2 wrong option or nothing could be run.
 */
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { type FetchedSources, fetchSources } from './fetch-sources.ts';
import { isClean, judge } from './judgement.ts';
import { runNodePostgres } from './node-postgres.ts';
import type { Outcome, SuiteRun, Target } from './outcome.ts';
import { runPgjdbc } from './pgjdbc.ts';
import { runPsycopg } from './psycopg.ts';
import { runRegress } from './regress.ts';
import { reportText, type SideReport } from './report.ts';
import { startDemo, startPlain, type RunningServer } from './servers.ts';
import { runSqlalchemy } from './sqlalchemy.ts';

const suites = ['regress', 'isolation', 'psycopg', 'sqlalchemy', 'node-postgres', 'pgjdbc'] as const;
type SuiteName = (typeof suites)[number];

const help = `npx tsx harness/suites/main.ts SUITE --sources DIR|--fetch DIR [options]

Suites: ${suites.join(', ')}. What has to be in DIR is in harness/suites/README.md.

Options:
  --sources DIR      the suite's source tree, installed as it asks for
  --fetch DIR        fetch the suite into DIR and install it, by git and its own package manager; what is there is taken as it is
  --release NAME     --fetch: another tag or branch than the one that is known to work
  --direct PLACE     PostgreSQL: "plain" to start one for the run, or HOST:PORT (default: plain)
  --through PLACES   Barista: "leader" or "follower" of a demo that is started for the run, HOST:PORT, or "plain"; several by commas (default: leader,follower)
  --twice            direct a second time, to know what differs from run to run by itself
  --out DIR          keep all output there, in an empty directory (default: a directory of its own in the system's temporary one)
  --only TEXT        psycopg, sqlalchemy, node-postgres, pgjdbc: only tests whose names match
  --user NAME        default: barista; owns its database and may create databases and roles. Its password: PGPASSWORD, or barista
  --database NAME    default: barista
  --python FILE      psycopg, sqlalchemy: the Python to use (default: the one that --fetch installed, or python3)
  --psql DIR         regress: the folder of psql (default: as PATH has it)
  --drivers DIR      regress, isolation: the folder that has regress/pg_regress and isolation/pg_isolation_regress (default: embedded PostgreSQL's)
  --json FILE        write the outcomes, too
  --help`;

class UsageError extends Error {
  override readonly name = 'UsageError';
}

const options = {
  sources: { type: 'string' },
  fetch: { type: 'string' },
  release: { type: 'string' },
  direct: { type: 'string', default: 'plain' },
  through: { type: 'string', default: 'leader,follower' },
  twice: { type: 'boolean', default: false },
  out: { type: 'string' },
  only: { type: 'string' },
  user: { type: 'string', default: 'barista' },
  database: { type: 'string', default: 'barista' },
  python: { type: 'string' },
  psql: { type: 'string' },
  drivers: { type: 'string' },
  json: { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

function parse() {
  try {
    return parseArgs({ args: process.argv.slice(2), options, allowPositionals: true });
  } catch (cause) {
    throw new UsageError((cause as Error).message, { cause });
  }
}
type Values = ReturnType<typeof parse>['values'];

type Suite = (run: SuiteRun) => Promise<readonly Outcome[]>;

async function sourcesOf(name: SuiteName, values: Values, signal: AbortSignal): Promise<FetchedSources> {
  if ((values.sources === undefined) === (values.fetch === undefined)) {
    throw new UsageError(
      'Name the sources of the suite (--sources DIR), or where to fetch them to (--fetch DIR).',
    );
  }
  if (values.sources !== undefined) return { directory: resolve(values.sources), python: null };
  return fetchSources(name, resolve(values.fetch ?? ''), values.release ?? null, signal);
}

function suiteOf(name: SuiteName, found: FetchedSources, values: Values): Suite {
  const sources = found.directory;
  const only = values.only ?? null;
  const python = values.python ?? found.python ?? 'python3';
  switch (name) {
    case 'psycopg':
      return (run) => runPsycopg({ sources, python, only }, run);
    case 'sqlalchemy':
      return (run) => runSqlalchemy({ sources, python, only }, run);
    case 'node-postgres':
      return (run) => runNodePostgres({ sources, only }, run);
    case 'pgjdbc':
      return (run) => runPgjdbc({ sources, only }, run);
    case 'regress':
    case 'isolation': {
      const psqlDirectory = values.psql ?? null;
      return (run) =>
        runRegress({ suite: name, sources, drivers: values.drivers ?? null, psqlDirectory }, run);
    }
    default:
      return name satisfies never;
  }
}

/** A server of its own for every run: what one leaves behind must not be in the next one's way. */
async function serverAt(place: string, values: Values): Promise<RunningServer> {
  if (place === 'plain') return startPlain();
  if (place === 'leader' || place === 'follower') return startDemo(place);
  const match = /^(.+):(\d+)$/.exec(place);
  if (match === null) throw new UsageError(`"${place}" is no HOST:PORT, and no server that can be started`);
  const target: Target = {
    host: match[1] ?? '',
    port: Number(match[2]),
    user: values.user,
    database: values.database,
    password: process.env['PGPASSWORD'] ?? 'barista',
  };
  return { target, stop: () => Promise.resolve() };
}

interface Side {
  readonly suite: Suite;
  readonly place: string;
  readonly directory: string;
  readonly values: Values;
  readonly signal: AbortSignal;
}

async function runSide({ suite, place, directory, values, signal }: Side): Promise<readonly Outcome[]> {
  signal.throwIfAborted();
  const progress = (line: string): void => console.error(line);
  progress(`server: ${place}; output: ${directory}`);
  const server = await serverAt(place, values);
  try {
    await mkdir(directory, { recursive: true });
    return await suite({ target: server.target, directory, signal, progress });
  } finally {
    await server.stop();
  }
}

async function compare(name: SuiteName, values: Values, signal: AbortSignal): Promise<number> {
  const places = values.through.split(',');
  if (places.some((place) => place === '')) throw new UsageError('--through: a place is missing');
  const found = await sourcesOf(name, values, signal);
  const suite = suiteOf(name, found, values);
  const out = resolve(values.out ?? (await mkdtemp(join(tmpdir(), `barista-suites-${name}-`))));
  await mkdir(out, { recursive: true });
  if ((await readdir(out)).length > 0) throw new UsageError(`--out ${out} is not empty.`);
  const side = (place: string, folder: string): Promise<readonly Outcome[]> =>
    runSide({ suite, place, directory: join(out, folder), values, signal });
  const direct = await side(values.direct, 'direct');
  const again = values.twice ? await side(values.direct, 'again') : null;
  const sides: SideReport[] = [];
  for (const [index, place] of places.entries()) {
    const folder = `through-${index + 1}`;
    const through = await side(place, folder);
    sides.push({ place, folder, through, judgement: judge({ direct, through, again }) });
  }
  if (values.json !== undefined) {
    await writeFile(values.json, `${JSON.stringify({ suite: name, direct, again, sides }, null, 1)}\n`);
  }
  console.log(await reportText({ suite: name, direct, sides, out }));
  return sides.every(({ judgement }) => isClean(judgement)) ? 0 : 1;
}

async function main(): Promise<number> {
  const abort = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => abort.abort(new UsageError('Ended before it was done.')));
  }
  try {
    const { values, positionals } = parse();
    if (values.help) {
      console.log(help);
      return 0;
    }
    const [first, ...rest] = positionals;
    const name = suites.find((each) => each === first);
    if (name === undefined || rest.length > 0) throw new UsageError(`Name one suite: ${suites.join(', ')}.`);
    return await compare(name, values, abort.signal);
  } catch (error) {
    console.error(
      error instanceof UsageError ? `${error.message}\n\n--help shows what can be given.` : error,
    );
    return 2;
  }
}

process.exitCode = await main();
