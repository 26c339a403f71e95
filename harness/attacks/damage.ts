/**
 * What an attack has done to a cluster: whether all of its doors still let people in, who leads, and what its processes hold.
 *
 * Responsible for: looking. What may not have changed is for the test to say.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Ballot } from '../../server/src/multipaxos/types/names.ts';
import type { LocalCluster } from '../cluster/local-cluster.ts';
import { pgbench } from '../cluster/pg-tools.ts';
import { challengeAt } from './intruder.ts';

export interface Doors {
  readonly sql: readonly number[];
  readonly peers: readonly number[];
  readonly http: readonly number[];
}

const answerMsMax = 15_000;

/** What does not let people in; empty: all do. At each SQL port a client logs in and commits a transaction. */
export async function closedDoors({ sql, peers, http }: Doors): Promise<readonly string[]> {
  const attempts: readonly (readonly [string, Promise<unknown>])[] = [
    ...sql.map((port) => [`SQL ${port}`, transaction(port)] as const),
    ...peers.map((port) => [`peers ${port}`, within(challengeAt(port))] as const),
    ...http.map((port) => [`HTTP ${port}`, healthy(port)] as const),
  ];
  const outcomes = await Promise.allSettled(attempts.map(([, attempt]) => attempt));
  return outcomes.flatMap((outcome, index) =>
    outcome.status === 'fulfilled' ? [] : [`${attempts[index]![0]}: ${String(outcome.reason)}`],
  );
}

async function transaction(port: number): Promise<void> {
  const { code, stderr } = await within(pgbench(port, ['-n', '-t', '1', '-c', '1']));
  if (code !== 0) throw new Error(stderr);
}

async function healthy(port: number): Promise<void> {
  const response = await fetch(`http://127.0.0.1:${port}/healthz`, {
    signal: AbortSignal.timeout(answerMsMax),
    headers: { connection: 'close' },
  });
  if (!response.ok) throw new Error(`status ${response.status}`);
  await response.text();
}

function within<T>(work: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`no answer for ${answerMsMax} ms`)), answerMsMax);
    work.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}

export interface Office {
  readonly leader: string;
  readonly ballot: Ballot;
}

export async function officeOf(cluster: LocalCluster): Promise<Office> {
  const { id, ballot } = await cluster.leader();
  return { leader: id, ballot };
}

const run = promisify(execFile);

/** What the process has in memory, in MiB. */
export async function residentMib(pid: number): Promise<number> {
  const { stdout } = await run('ps', ['-o', 'rss=', '-p', String(pid)]);
  return Number(stdout) / 1024;
}
