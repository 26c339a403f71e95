/**
 * Runs one client program against a cluster, changes the leader in the middle, and says what is not as it must be.
 *
 * Responsible for: a database of its own, its installation in a temporary directory, its process, and the books: every transfer is there once, and no money was made or lost.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { stripVTControlCharacters } from 'node:util';
import { querySql, type SqlTarget } from '../bench/sql.ts';
import { commandOutput } from '../suites/command-output.ts';
import type { ClientProgram } from './client-program.ts';

export interface ClientCluster {
  /** Of all replicas. */
  readonly ports: readonly number[];
  /** Returns when another leads. */
  changeLeader(): Promise<void>;
}

export interface ProgramReport {
  /** Empty: all is well. */
  readonly complaints: readonly string[];
  /** What the program has told. */
  readonly transfers: number;
  readonly retries: number;
  readonly seconds: number;
}

const transfersDue = 100;
const accounts = 10;
const balanceEach = 100;
const outputCharsMax = 100_000;
const told = /^\{"transfers": ?(\d+), ?"retries": ?(\d+)\}$/;

const account = { host: '127.0.0.1', user: 'barista', password: 'barista' } as const;

/** @throws Error if it cannot be installed; the signal's reason */
export async function runProgram(
  program: ClientProgram,
  cluster: ClientCluster,
  signal: AbortSignal,
): Promise<ProgramReport> {
  const source = fileURLToPath(new URL(`programs/${program.name}`, import.meta.url));
  const isOwn = program.install.length === 0;
  const root = isOwn ? null : await mkdtemp(join(tmpdir(), `barista-client-${program.name}-`));
  try {
    const directory = root ?? source;
    if (root !== null) {
      await cp(source, root, { recursive: true });
      await install(program, root, signal);
    }
    const target = {
      ...account,
      port: cluster.ports[0] ?? 0,
      database: `client_${program.name.replaceAll('-', '_')}`,
    };
    const operator = { ...target, database: 'barista' };
    await querySql(
      operator,
      `DROP DATABASE IF EXISTS ${target.database}`,
      `CREATE DATABASE ${target.database}`,
    );
    return await watch(program, directory, target, cluster, signal);
  } finally {
    if (root !== null) await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}

async function install(program: ClientProgram, directory: string, signal: AbortSignal): Promise<void> {
  for (const [command, ...args] of program.install) {
    const { code, text } = await commandOutput(command, args, { cwd: directory, env: process.env, signal });
    if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}:\n${text.slice(-3000)}`);
  }
}

async function watch(
  program: ClientProgram,
  directory: string,
  target: SqlTarget,
  cluster: ClientCluster,
  signal: AbortSignal,
): Promise<ProgramReport> {
  const started = performance.now();
  const [command, ...args] = program.run;
  const child = spawn(command, args, {
    cwd: directory,
    env: { ...process.env, ...environmentOf(target, cluster.ports) },
    stdio: ['ignore', 'pipe', 'pipe'],
    signal,
  });
  const changes: Promise<string | null>[] = [];
  const { code, output } = await hear(child, (line) => {
    if (line === 'half' && changes.length === 0) changes.push(whyNotChanged(cluster));
  });
  const complaints = code === 0 ? [] : [`it ended with ${code}: ${output.slice(-2000)}`];
  if (changes.length === 0) complaints.push('it never was half done: the leader was not changed');
  complaints.push(...(await Promise.all(changes)).filter((each) => each !== null));
  const last = told.exec(output.trimEnd().split('\n').at(-1) ?? '');
  const transfers = Number(last?.[1] ?? 0);
  if (code === 0 && transfers !== transfersDue) complaints.push(`it tells of ${transfers} transfers`);
  if (code === 0) complaints.push(...(await brokenBooks(target)));
  const seconds = (performance.now() - started) / 1000;
  return { complaints, transfers, retries: Number(last?.[2] ?? 0), seconds };
}

async function whyNotChanged(cluster: ClientCluster): Promise<string | null> {
  try {
    await cluster.changeLeader();
    return null;
  } catch (error) {
    return String(error);
  }
}

function environmentOf(target: SqlTarget, ports: readonly number[]): Readonly<Record<string, string>> {
  return {
    PGHOST: ports.map(() => target.host).join(','),
    PGPORT: ports.join(','),
    PGUSER: target.user,
    PGPASSWORD: target.password ?? '',
    PGDATABASE: target.database,
  };
}

/** Both outputs, and each line of them as it comes, without the colours that Maven resets even where there are none. */
function hear(
  child: ChildProcess,
  onLine: (line: string) => void,
): Promise<{ readonly code: number | null; readonly output: string }> {
  let output = '';
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    createInterface({ input: stream }).on('line', (coloured) => {
      const line = stripVTControlCharacters(coloured);
      output = `${output}${line}\n`.slice(-outputCharsMax);
      onLine(line);
    });
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => resolve({ code, output }));
  });
}

/** Every transfer once, and every account what its transfers make of it. */
async function brokenBooks(target: SqlTarget): Promise<readonly string[]> {
  const [books] = await querySql(
    target,
    `SELECT (SELECT count(*)::int FROM transfer) AS transfers, (SELECT count(*)::int FROM account) AS accounts,
            (SELECT sum(balance)::int FROM account) AS total,
            (SELECT count(*)::int FROM account a WHERE balance <> ${balanceEach}
               + (SELECT coalesce(sum(amount), 0) FROM transfer WHERE credit = a.id)
               - (SELECT coalesce(sum(amount), 0) FROM transfer WHERE debit = a.id)) AS wrong,
            (SELECT count(*)::int FROM transfer WHERE note IS NULL) AS unnoted`,
  );
  const due = { transfers: transfersDue, accounts, total: accounts * balanceEach, wrong: 0, unnoted: 0 };
  return JSON.stringify(books) === JSON.stringify(due) ? [] : [`the books: ${JSON.stringify(books)}`];
}
