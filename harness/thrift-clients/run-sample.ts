/**
 * Builds one sample client in a copy of clients/, runs it against a cluster of which a replica is struck in the middle, and says what is not as it must be.
 *
 * Responsible for: the copy, the process, and the books: each number once, the sum, NULLs.
 */
import { spawn, spawnSync } from 'node:child_process';
import { cp, mkdtemp, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { querySql, type SqlTarget } from '../bench/sql.ts';
import { commandOutput } from '../suites/command-output.ts';
import type { SampleClient } from './sample-client.ts';

export interface SampleCluster {
  /** Those for Thrift clients, in the order in which they are tried. */
  readonly places: readonly string[];
  readonly sql: SqlTarget;
  /** When half is done. Returns when it has happened; null: nothing is to happen. */
  readonly strike: (() => Promise<void>) | null;
}

const steps = 40;
const sum = (steps * (steps + 1)) / 2;
const told = /^\{"steps": ?(\d+), ?"retries": ?(\d+), ?"begun": ?(\d+)\}$/;
const source = fileURLToPath(new URL('../../clients', import.meta.url));
const built: ReadonlySet<string> = new Set(['gen', 'venv', 'node_modules']);
const packages = fileURLToPath(new URL('../../node_modules', import.meta.url));

/** The programs that are not here. */
export function missingFor({ needs }: SampleClient): readonly string[] {
  return needs
    .filter(([program, ...args]) => spawnSync(program, args).status !== 0)
    .map((each) => each.join(' '));
}

export interface BuiltSample {
  readonly directory: string;
  remove(): Promise<void>;
}

/** @throws Error with what the build has said */
export async function buildSample(client: SampleClient, signal: AbortSignal): Promise<BuiltSample> {
  const root = await mkdtemp(join(tmpdir(), `barista-thrift-${client.name}-`));
  const remove = (): Promise<void> => rm(root, { recursive: true, force: true, maxRetries: 5 });
  try {
    // What was built before may be of other sources.
    const filter = (path: string): boolean => !built.has(basename(path));
    await cp(source, join(root, 'clients'), { recursive: true, filter });
    await symlink(packages, join(root, 'node_modules'));
    const directory = join(root, 'clients', client.name);
    for (const [command, ...args] of client.build) {
      const { code, text } = await commandOutput(command, args, { cwd: directory, env: process.env, signal });
      if (code !== 0)
        throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${text.slice(-3000)}`);
    }
    return { directory, remove };
  } catch (error) {
    await remove();
    throw error;
  }
}

export interface SampleReport {
  readonly complaints: readonly string[];
  readonly retries: number;
  /** Transactions, those that were begun again counted each time. */
  readonly begun: number;
  readonly seconds: number;
}

export interface SampleRun {
  readonly code: number | null;
  readonly lines: readonly string[];
  readonly seconds: number;
}

/** Runs it as it is. `settings`: of its environment. */
export async function startSample(
  client: SampleClient,
  { directory }: BuiltSample,
  settings: Readonly<Record<string, string>>,
  signal: AbortSignal,
  onLine: (line: string) => void = () => undefined,
): Promise<SampleRun> {
  const started = performance.now();
  const [command, ...args] = client.run;
  const child = spawn(command, args, {
    cwd: directory,
    env: { ...process.env, ...settings },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      lines.push(line);
      onLine(line);
    });
  }
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, lines, seconds: (performance.now() - started) / 1000 };
}

/** `settings`: of its environment, besides where and in which table. */
export async function runSample(
  client: SampleClient,
  built: BuiltSample,
  cluster: SampleCluster,
  signal: AbortSignal,
  settings: Readonly<Record<string, string>> = {},
): Promise<SampleReport> {
  const { strike, places } = cluster;
  const table = settings['BARISTA_TABLE'] ?? `sample_${client.name}`;
  let struck: Promise<string | null> | null = null;
  const all = { BARISTA_REPLICAS: places.join(','), BARISTA_TABLE: table, ...settings };
  const { code, lines, seconds } = await startSample(client, built, all, signal, (line) => {
    if (line === 'half' && strike !== null) struck ??= whyNot(strike());
  });
  const complaints: string[] = [];
  const [, done = '', retries = '0', begun = '0'] = told.exec(lines.at(-1) ?? '') ?? [];
  if (code !== 0) complaints.push(`it ended with ${code}: ${lines.slice(-30).join('\n')}`);
  else if (Number(done) !== steps) complaints.push(`it tells of ${done} steps: ${lines.join('\n')}`);
  const failed = await (struck as Promise<string | null> | null);
  if (struck === null && strike !== null) complaints.push('it never was half done: nothing was struck');
  if (failed !== null) complaints.push(failed);
  if (code === 0) {
    const own = lines.at(-2);
    const due = [steps, steps, steps / 2, '\\N', sum].join(' ');
    if (own !== due) complaints.push(`it has read ${own}, and not ${due}`);
    complaints.push(...(await brokenBooks(cluster.sql, table)));
  }
  return {
    complaints,
    retries: Number(retries),
    begun: Number(begun),
    seconds,
  };
}

async function whyNot(work: Promise<void>): Promise<string | null> {
  try {
    await work;
    return null;
  } catch (error) {
    return String(error);
  }
}

async function brokenBooks(sql: SqlTarget, table: string): Promise<readonly string[]> {
  const [books] = await querySql(
    sql,
    `SELECT (SELECT count(*)::int FROM ${table}) AS rows, (SELECT count(DISTINCT n)::int FROM ${table}) AS numbers,
            (SELECT count(*)::int FROM ${table} WHERE (n % 2 = 0) <> (note IS NULL) OR note <> '\\N') AS wrong,
            (SELECT count(*)::int FROM ${table}_sum) AS sums, (SELECT sum(total)::int FROM ${table}_sum) AS total`,
  );
  const due = { rows: steps, numbers: steps, wrong: 0, sums: 1, total: sum };
  return JSON.stringify(books) === JSON.stringify(due) ? [] : [`the books: ${JSON.stringify(books)}`];
}
