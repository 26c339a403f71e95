/**
 * What clients of the leader are at, from the samples that it sends while somebody watches, and the SQL of transactions by their ids.
 *
 * Pure. Keeps: the last sample of each replica, and the statements of at most `transactionsMax` transactions.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { RunningTransaction } from '../../../server/src/api/wal-summary.ts';
import { replicaOf } from './incarnation.ts';

export const transactionsMax = 4096;
/** Of one transaction. */
export const statementsMax = 4;
/** A sample that is older says nothing of now. */
const freshUs = 3_000_000;

export interface RunningSample {
  readonly atUs: number;
  readonly transactions: readonly RunningTransaction[];
  readonly more: number;
}

export interface Running {
  readonly samples: ReadonlyMap<string, RunningSample>;
  /** By `statementKey`; a transaction is seen now and then only, so there may have been others. */
  readonly statements: ReadonlyMap<string, readonly string[]>;
}

export const emptyRunning: Running = { samples: new Map(), statements: new Map() };

/** Two leaders may give the same id to different transactions, of which one has no effect. */
export function statementKey(replica: string, xid: number): string {
  return `${replicaOf(replica)} ${xid}`;
}

export function foldRunning(running: Running, batch: readonly TraceEvent[]): Running {
  const told = batch.filter((event) => event.name === 'RunningTransactions');
  if (told.length === 0) return running;
  const samples = new Map(running.samples);
  const statements = new Map(running.statements);
  for (const { replica, atUs, transactions, more } of told) {
    samples.set(replicaOf(replica), { atUs, transactions, more });
    for (const { xid, sql } of transactions) {
      if (xid !== null && sql !== null) addStatement(statements, statementKey(replica, xid), sql);
    }
  }
  while (statements.size > transactionsMax) statements.delete(statements.keys().next().value!);
  return { samples, statements };
}

function addStatement(statements: Map<string, readonly string[]>, key: string, sql: string): void {
  const known = statements.get(key) ?? [];
  if (known.at(-1) !== sql) statements.set(key, [...known, sql].slice(-statementsMax));
}

/** What the leader was last seen at; null: nothing is known of now. */
export function runningAt(running: Running, leader: string | null, nowUs: number): RunningSample | null {
  const sample = leader === null ? undefined : running.samples.get(leader);
  return sample === undefined || nowUs - sample.atUs > freshUs ? null : sample;
}
