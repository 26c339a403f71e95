/**
 * The clients that measure: pgbench and psql as they are installed, ended when the benchmark is.
 *
 * Responsible for: running them, and what pgbench printed. Judges no figure.
 */
import { spawn } from 'node:child_process';
import { BenchError } from '../../bench-error.ts';
import { ratePerSecond } from '../../summary.ts';
import { connectionString, type SqlTarget } from '../../sql.ts';

export interface ToolRun {
  readonly command: 'pgbench' | 'psql' | 'sysbench';
  readonly args: readonly string[];
  /** Passed by PGPASSWORD and never on a command line. */
  readonly password?: string;
  readonly signal: AbortSignal;
}

export interface ToolResult {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Whatever its exit code. @throws Error if it cannot be started, or the signal's reason */
export function runTool({ command, args, password, signal }: ToolRun): Promise<ToolResult> {
  const child = spawn(command, args, {
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...(password === undefined ? {} : { PGPASSWORD: password }) },
    signal,
  });
  let stdout = '';
  let stderr = '';
  child.stdout.on('data', (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  return new Promise((resolve, reject) => {
    child.once('error', (cause) => {
      if (signal.aborted) reject(signal.reason as Error);
      else reject(new BenchError(missing(command), { cause }));
    });
    child.once('close', (code) => resolve({ code, stdout, stderr }));
  });
}

function missing(command: string): string {
  if (command === 'sysbench') return 'sysbench is not to be found (on Debian: apt-get install sysbench).';
  return `${command} is not to be found. Install PostgreSQL's client programs (on Debian: apt-get install postgresql-contrib postgresql-client).`;
}

/** Such as `15.18`. @throws Error that says what to install */
export async function toolVersion(command: ToolRun['command'], signal: AbortSignal): Promise<string> {
  const { stdout } = await runTool({ command, args: ['--version'], signal });
  return /\d+(\.\d+)*/.exec(stdout)?.[0] ?? stdout.trim();
}

export interface PgbenchFigures {
  readonly tps: number;
  readonly transactions: number;
  readonly latencyMs: number;
}

/** @throws Error if a transaction failed, or none was done, or the output is not that of a run */
export function readPgbench(output: string): PgbenchFigures {
  if (/^number of transactions actually processed: 0$/m.test(output)) {
    throw new BenchError('not one transaction was done: the machine is too busy, or the runs are too short');
  }
  const tps = ratePerSecond(output);
  const transactions = /^number of transactions actually processed: (\d+)/m.exec(output)?.[1];
  const latencyMs = /^latency average = ([\d.]+) ms/m.exec(output)?.[1];
  if (transactions === undefined || latencyMs === undefined) {
    throw new Error(`pgbench did not say what it did:\n${output}`);
  }
  return { tps, transactions: Number(transactions), latencyMs: Number(latencyMs) };
}

/** How long a run of pgbench took to connect all its clients, which is part of its time but of no figure. 0: it did not say. */
export function readConnectingMs(output: string): number {
  return Number(/^initial connection time = ([\d.]+) ms/m.exec(output)?.[1] ?? 0);
}

/** @throws Error with what pgbench said, if it failed */
export async function pgbench(
  target: SqlTarget,
  args: readonly string[],
  signal: AbortSignal,
): Promise<string> {
  const { code, stdout, stderr } = await runTool({
    command: 'pgbench',
    args: [...args, connectionString(target)],
    ...passwordOf(target),
    signal,
  });
  if (code !== 0) throw new Error(`pgbench ended with exit code ${code}:\n${stderr}`);
  return stdout;
}

/** One command of psql, such as \copy. @throws Error with what psql said, if it failed */
export async function psql(target: SqlTarget, command: string, signal: AbortSignal): Promise<void> {
  const { code, stderr } = await runTool({
    command: 'psql',
    args: ['-X', '-q', '-v', 'ON_ERROR_STOP=1', '-c', command, connectionString(target)],
    ...passwordOf(target),
    signal,
  });
  if (code !== 0) throw new Error(`psql ended with exit code ${code}:\n${stderr}`);
}

function passwordOf({ password }: SqlTarget): { readonly password?: string } {
  return password === undefined ? {} : { password };
}
