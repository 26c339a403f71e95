/**
 * How long nobody can write when the leader is lost: its Node is killed with SIGKILL, and its PostgreSQL goes with it; or it stands still; or nobody hears it, nor it anybody.
 *
 * The cluster is under load when it happens. From that moment one writer at each of the other replicas connects and inserts a row, and begins again a few milliseconds after
 * each failure; the first INSERT that is acknowledged ends the time. Then the replica comes back, and everything is waited for.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { LocalCluster } from '../../cluster/local-cluster.ts';
import { SqlSession } from '../../workload/sql-session.ts';
import { querySql } from '../sql.ts';
import type { BaristaSystems } from './systems/barista.ts';
import { pgbench } from './loads/client-tools.ts';
import { undisturbed, type Patience, type Watched } from './undisturbed.ts';
import { pgbenchArgs, type LoadRun } from './loads/workloads.ts';

const retryMs = 5;
/** An attempt that takes longer is given up and repeated. */
const attemptMs = { connectMs: 1000, statementMs: 2000 } as const;
const outageMsMax = 60_000;
const settleMsMax = 180_000;
/** The load's time before the kill: this and up to as much again, so that kills fall anywhere between two heartbeats. */
const loadMs = 700;

/** What happens to the leader, and how it ends. */
const losses = {
  kill: { label: 'kill -9 of the leader', fault: 'crash', end: 'restart' },
  freeze: { label: 'the leader frozen', fault: 'pause', end: 'resume' },
  cut: { label: 'the leader cut off', fault: 'isolate', end: 'heal' },
} as const;

export type Loss = keyof typeof losses;
export const lossNames = Object.keys(losses) as readonly Loss[];

export function labelOfLoss(loss: Loss): string {
  return losses[loss].label;
}

export interface Failover extends Watched {
  readonly loss: Loss;
  readonly number: number;
  /** The leader that was. */
  readonly lost: string;
  /** Null: it could not be told afterwards. */
  readonly successor: string | null;
  readonly withoutServiceMs: number;
  /** Until the lost replica had come back and everyone had applied everything, from its start or the fault's end. */
  readonly wholeAgainMs: number;
}

export interface FailoverOptions {
  readonly systems: BaristaSystems;
  /** Of each kind. */
  readonly count: number;
  /** What runs while the leader is killed. */
  readonly load: LoadRun;
  readonly patience: Patience;
}

export async function runFailovers(options: FailoverOptions): Promise<readonly Failover[]> {
  const { systems, count, patience } = options;
  const { signal, progress } = patience;
  const client = await systems.barista.client();
  await querySql(client, 'DROP TABLE IF EXISTS bench_failover', 'CREATE TABLE bench_failover (n int)');
  await systems.cluster.settled(settleMsMax);
  const done: Failover[] = [];
  for (let number = 1; number <= count * lossNames.length; number++) {
    signal.throwIfAborted();
    // In turn, so that what changes on the machine meets all of them.
    const loss = lossNames[number % lossNames.length] ?? 'kill';
    const what = `${losses[loss].label}, ${number} of ${count * lossNames.length}`;
    const failover = await undisturbed(patience, what, () => failOver(loss, number, options));
    done.push(failover);
    progress(
      `${what}: ${failover.withoutServiceMs.toFixed(0)} ms without service ` +
        `(${failover.lost} to ${failover.successor ?? '?'}), whole again after ${(failover.wholeAgainMs / 1000).toFixed(1)} s`,
    );
  }
  return done;
}

async function failOver(
  loss: Loss,
  number: number,
  { systems, load, patience: { signal } }: FailoverOptions,
): Promise<Omit<Failover, keyof Watched>> {
  const { cluster, barista } = systems;
  const leader = await cluster.leader();
  const others = cluster.pgwirePorts.filter((port) => port !== leader.pgwire.port);
  const over = new AbortController();
  // It ends with its connections: that is what is expected of it here.
  const background = pgbench(
    await barista.client(),
    pgbenchArgs(load),
    AbortSignal.any([signal, over.signal]),
  ).catch(() => undefined);
  try {
    await sleep(loadMs * (1 + Math.random()), undefined, { signal });
    const { fault, end } = losses[loss];
    const lostMs = performance.now();
    await cluster.fault({ action: fault, replica: leader.id });
    await firstWrite(others, number, signal);
    const withoutServiceMs = performance.now() - lostMs;
    const successor = await successorOf(cluster, leader.id);
    over.abort();
    await background;
    const startedMs = performance.now();
    await cluster.fault(end === 'heal' ? { action: end } : { action: end, replica: leader.id });
    await cluster.settled(settleMsMax);
    const wholeAgainMs = performance.now() - startedMs;
    return { loss, number, lost: leader.id, successor, withoutServiceMs, wholeAgainMs };
  } finally {
    over.abort();
    await background;
  }
}

/** The one that was lost may still think that it leads. Null: it could not be told afterwards. */
async function successorOf(cluster: LocalCluster, lost: string): Promise<string | null> {
  const { replicas } = await cluster.status();
  return replicas.find(({ id, status }) => id !== lost && status?.role === 'leader')?.id ?? null;
}

/** Returns when one of them has been told that its row is committed. */
async function firstWrite(ports: readonly number[], number: number, signal: AbortSignal): Promise<void> {
  const over = new AbortController();
  const end = AbortSignal.any([over.signal, AbortSignal.timeout(outageMsMax), signal]);
  const tried = ports.map((port) => writeUntilDone(port, number, end));
  try {
    await Promise.any(tried);
  } catch (cause) {
    signal.throwIfAborted();
    throw new Error(`nobody could write for ${outageMsMax} ms after the leader was lost`, { cause });
  } finally {
    over.abort();
    await Promise.allSettled(tried);
  }
}

/** @throws Error if `end` comes first */
async function writeUntilDone(port: number, number: number, end: AbortSignal): Promise<void> {
  while (!end.aborted) {
    let session: SqlSession | null = null;
    const cut = (): void => session?.destroy();
    end.addEventListener('abort', cut);
    try {
      session = await SqlSession.open({ port, ...attemptMs });
      await session.statement('INSERT INTO bench_failover VALUES ($1)', [number], 'writes');
      return;
    } catch {
      await sleep(retryMs);
    } finally {
      end.removeEventListener('abort', cut);
      session?.destroy();
    }
  }
  throw new Error(`no row could be written at port ${port}`);
}
