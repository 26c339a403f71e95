/** What tests of the gateway share. */
import type { Client } from 'pg';
import { expect } from 'vitest';
import type { ReplicaId } from '../../../multipaxos/types/names.ts';
import type { Service } from '../../../ports/client-service.ts';
import * as send from '../../../pgwire/frontend-messages.ts';
import type { MemoryClientService } from './memory-client-service.ts';
import type { TestPostgres } from './postgres.ts';
import { describeFrame, type WireClient } from './wire-client.ts';

export interface SqlFailure {
  readonly code?: string;
  readonly message: string;
  readonly detail?: string;
}

/** Resolves with the error that `work` fails with. */
export async function failure(work: Promise<unknown>): Promise<SqlFailure> {
  try {
    await work;
  } catch (error) {
    return error as SqlFailure;
  }
  throw new Error('it did not fail');
}

export async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  return (await failure(work)).code;
}

export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

/** What is under way between sockets of this process has come. Not a matter of time: after a standstill timers are due before sockets are looked at. */
export async function settled(): Promise<void> {
  await sleep(10);
  for (let turn = 0; turn < 50; turn += 1) await new Promise((resolve) => setImmediate(resolve));
}

export const q = send.query;

/** Parse, Bind, Describe, Execute. */
export function run(sql: string, ...parameters: string[]): Buffer {
  const bind = send.bind({ portal: '', statement: '', parameters });
  return Buffer.concat([send.parse('', sql), bind, send.describePortal(''), send.execute('')]);
}

/** Sends, and resolves with all up to ReadyForQuery. */
export async function ask(wire: WireClient, ...messages: readonly Buffer[]): Promise<string[]> {
  wire.send(...messages);
  return (await wire.until('Z')).map(describeFrame);
}

/** All that is said until the connection is closed, without the texts of errors. */
export async function lastWords(wire: WireClient): Promise<string[]> {
  return (await wire.untilClosed()).map((frame) => describeFrame(frame).replace(/ M=.*/, ''));
}

/** What a session that is ended by `code` hears, and nothing else. */
export function fatal(code: string): string {
  return `E V=FATAL C=${code}`;
}

export function leaderAt(port: number, leader = 'r1'): Service {
  return { kind: 'at', leader: leader as ReplicaId, host: '127.0.0.1', port };
}

export const elsewhere: Service = leaderAt(1, 'r2');

/** From now on every COMMIT waits for a standby that does not come; the returned function lets them go. */
export async function holdCommits(pg: TestPostgres): Promise<() => Promise<void>> {
  await pg.set('synchronous_standby_names', 'barista');
  const probe = await pg.connect();
  const { rows } = await probe.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const pid = rows[0]?.pid ?? 0;
  // It is in force only when another process of PostgreSQL has taken note of it: some commits later.
  while (!(await waitsAtCommit(pg, probe, pid)));
  await probe.end();
  return () => pg.set('synchronous_standby_names', '');
}

/** Commits in this session of the superuser; whether that waits for the standby. It does not go on waiting. */
async function waitsAtCommit(pg: TestPostgres, session: Client, pid: number): Promise<boolean> {
  const progress = { done: false, waits: false };
  const commit = session.query("SELECT pg_logical_emit_message(true, '', '')").then(() => {
    progress.done = true;
  });
  while (!progress.done && !progress.waits) {
    await sleep(5);
    const { rowCount } = await pg.superuser.query(
      "SELECT FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'SyncRep'",
      [pid],
    );
    progress.waits = rowCount === 1;
  }
  if (progress.waits) await pg.superuser.query('SELECT pg_cancel_backend($1)', [pid]);
  await commit;
  return progress.waits;
}

/** Sessions of clients that wait for the standby. */
export async function waitingCommits(pg: TestPostgres): Promise<number> {
  const { rows } = await pg.superuser.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename <> 'postgres'`,
  );
  return rows[0]?.n ?? 0;
}

/** Waits until so many wait, and all that PostgreSQL has said before has reached the gateways and cables of this process: it is in their sockets by then, and each answer to a question that is asked here comes in a later turn of the process than what lies there. */
export async function untilCommitsWait(pg: TestPostgres, count: number): Promise<void> {
  await expect.poll(() => waitingCommits(pg)).toBe(count);
  for (let turn = 0; turn < 20; turn++) await pg.superuser.query('SELECT');
}

/** Sessions that are in pg_sleep. */
export async function sleeping(pg: TestPostgres): Promise<number | null> {
  return (await pg.superuser.query("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).rowCount;
}

/** Ends them: whoever cut them off has gone, and they need not sleep on. */
export async function endSleeping(pg: TestPostgres): Promise<void> {
  await pg.superuser.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE wait_event = 'PgSleep'",
  );
}

/** Nobody is told which transactions are open, until the returned function is called: what is told then is of the request that is under way. It resolves when something was told. */
export function withholdTransactions(service: MemoryClientService): () => Promise<void> {
  const { transactionsOf } = service;
  service.transactionsOf = () => Promise.resolve(new Map());
  return async () => {
    service.transactionsOf = transactionsOf;
    await expect.poll(() => service.told.length, { interval: 5 }).toBeGreaterThan(0);
    await settled();
  };
}

export async function backends(pg: TestPostgres): Promise<number> {
  const { rows } = await pg.superuser.query<{ n: number }>(
    `SELECT count(*)::int AS n FROM pg_stat_activity WHERE usename = 'barista'`,
  );
  return rows[0]?.n ?? 0;
}

/** The keys in the table `t`. */
export async function keys(pg: TestPostgres): Promise<number[]> {
  const { rows } = await pg.superuser.query<{ a: number }>('SELECT a FROM t ORDER BY a');
  return rows.map(({ a }) => a);
}

export interface KeyOfClient {
  readonly processID: number;
  readonly secretKey: number;
}

export function keyOf(client: Client): KeyOfClient {
  return client as unknown as KeyOfClient;
}

/** A CancelRequest, as clients send it. */
export function cancelPacket({ processID, secretKey }: KeyOfClient): Buffer {
  const packet = Buffer.alloc(16);
  packet.writeInt32BE(16, 0);
  packet.writeInt32BE((1234 << 16) | 5678, 4);
  packet.writeInt32BE(processID, 8);
  packet.writeInt32BE(secretKey, 12);
  return packet;
}
