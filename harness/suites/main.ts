/**
 * `npx tsx harness/suites/main.ts SUITE --sources DIR [options]`: test suites that others wrote, direct against PostgreSQL and through Barista, and what differs.
 *
 * Responsible for: the command line, the servers, and the report. Exit codes: 0 nothing differs, 1 something does, 2 wrong option or nothing could be run.
 */
import { mkdir, mkdtemp, readdir, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { isClean, judge } from './judgement.ts';
import { runNodePostgres } from './node-postgres.ts';
import type { Outcome, SuiteRun, Target } from './outcome.ts';
import { runPsycopg } from './psycopg.ts';
import { runRegress } from './regress.ts';
import { reportText } from './report.ts';
import { startDemo, startPlain, type RunningServer } from './servers.ts';

const suites = ['regress', 'isolation', 'psycopg', 'node-postgres'] as const;
type SuiteName = (typeof suites)[number];

const help = `npx tsx harness/suites/main.ts SUITE --sources DIR [options]

Suites: ${suites.join(', ')}. What has to be in DIR is in harness/suites/README.md.

Options:
  --direct PLACE     PostgreSQL: "plain" to start one for the run, or HOST:PORT (default: plain)
  --through PLACE    Barista: "leader" or "follower" of a demo that is started for the run, HOST:PORT, or "plain" (default: leader)
  --twice            direct a second time, to know what differs from run to run by itself
  --out DIR          keep all output there, in an empty directory (default: a directory of its own in the system's temporary one)
  --only TEXT        psycopg, node-postgres: only tests whose names match
  --user NAME        default: barista; owns its database and may create databases and roles. Its password: PGPASSWORD, or barista
  --database NAME    default: barista
  --python FILE      psycopg: the Python to use (default: python3)
  --psql DIR         regress: the folder of psql (default: as PATH has it)
  --drivers DIR      regress, isolation: the folder that has regress/pg_regress and isolation/pg_isolation_regress (default: embedded PostgreSQL's)
  --json FILE        write the outcomes, too
  --help`;

class UsageError extends Error {
  override readonly name = 'UsageError';
}

const options = {
  sources: { type: 'string' },
  direct: { type: 'string', default: 'plain' },
  through: { type: 'string', default: 'leader' },
  twice: { type: 'boolean', default: false },
  out: { type: 'string' },
  only: { type: 'string' },
  user: { type: 'string', default: 'barista' },
  database: { type: 'string', default: 'barista' },
  python: { type: 'string', default: 'python3' },
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

function suiteOf(name: SuiteName, sources: string, values: Values): Suite {
  const only = values.only ?? null;
  if (name === 'psycopg') return (run) => runPsycopg({ sources, python: values.python, only }, run);
  if (name === 'node-postgres') return (run) => runNodePostgres({ sources, only }, run);
  const drivers = values.drivers ?? null;
  return (run) => runRegress({ suite: name, sources, drivers, psqlDirectory: values.psql ?? null }, run);
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
  if (values.sources === undefined) throw new UsageError('Name the sources of the suite: --sources DIR.');
  const suite = suiteOf(name, resolve(values.sources), values);
  const out = resolve(values.out ?? (await mkdtemp(join(tmpdir(), `barista-suites-${name}-`))));
  await mkdir(out, { recursive: true });
  if ((await readdir(out)).length > 0) throw new UsageError(`--out ${out} is not empty.`);
  const side = (place: string, folder: string): Promise<readonly Outcome[]> =>
    runSide({ suite, place, directory: join(out, folder), values, signal });
  const direct = await side(values.direct, 'direct');
  const again = values.twice ? await side(values.direct, 'again') : null;
  const through = await side(values.through, 'through');
  const judgement = judge({ direct, through, again });
  if (values.json !== undefined) {
    await writeFile(
      values.json,
      `${JSON.stringify({ suite: name, judgement, direct, again, through }, null, 1)}\n`,
    );
  }
  console.log(await reportText({ suite: name, judgement, direct, through, out }));
  return isClean(judgement) ? 0 : 1;
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
