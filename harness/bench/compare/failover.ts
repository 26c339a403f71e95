/**
 * How long nobody can write when the leader's Node is killed with SIGKILL, and its PostgreSQL goes with it.
 *
 * The cluster is under load when it happens. From that moment one writer at each of the other replicas connects and inserts a row, and begins again a few milliseconds after
 * each failure; the first INSERT that is acknowledged ends the time. Then the replica is started again, and everything is waited for.
 */
import { setTimeout as sleep } from 'node:timers/promises';
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

export interface Failover extends Watched {
  readonly number: number;
  readonly killed: string;
  /** Null: it could not be told afterwards. */
  readonly successor: string | null;
  readonly withoutServiceMs: number;
  /** Until the killed replica had come back and everyone had applied everything, from its start. */
  readonly wholeAgainMs: number;
}

export interface FailoverOptions {
  readonly systems: BaristaSystems;
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
  for (let number = 1; number <= count; number++) {
    signal.throwIfAborted();
    const what = `kill -9 of the leader, ${number} of ${count}`;
    const failover = await undisturbed(patience, what, () => failOver(number, options));
    done.push(failover);
    progress(
      `${what}: ${failover.withoutServiceMs.toFixed(0)} ms without service ` +
        `(${failover.killed} to ${failover.successor ?? '?'}), whole again ${(failover.wholeAgainMs / 1000).toFixed(1)} s after its start`,
    );
  }
  return done;
}

async function failOver(
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
    const killedMs = performance.now();
    await cluster.fault({ action: 'crash', replica: leader.id });
    await firstWrite(others, number, signal);
    const withoutServiceMs = performance.now() - killedMs;
    const successor = await cluster.leader().then(
      ({ id }) => id,
      () => null,
    );
    over.abort();
    await background;
    const startedMs = performance.now();
    await cluster.fault({ action: 'restart', replica: leader.id });
    await cluster.settled(settleMsMax);
    const wholeAgainMs = performance.now() - startedMs;
    return { number, killed: leader.id, successor, withoutServiceMs, wholeAgainMs };
  } finally {
    over.abort();
    await background;
  }
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
    throw new Error(`nobody could write for ${outageMsMax} ms after the leader was killed`, { cause });
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
