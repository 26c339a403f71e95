/**
 * What clients of the leader are at, from the samples that it sends while somebody watches, and the SQL of transactions by their ids.
 *
 * Most transactions last for moments, so each session's last one is kept for a while after it was seen.
 * Pure. Keeps: the sessions of each replica that were seen within `keptUs`, and the statements of at most `transactionsMax` transactions.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { RunningTransaction } from '../../../server/src/api/wal-summary.ts';
import { replicaOf } from './incarnation.ts';

export const transactionsMax = 4096;
/** Of one transaction. */
export const statementsMax = 4;
/** A sample that is older says nothing of now. */
const freshUs = 3_000_000;
const keptUs = 5_000_000;

interface SeenTransaction {
  readonly atUs: number;
  readonly transaction: RunningTransaction;
}

interface RunningSample {
  readonly atUs: number;
  /** By the process of the session, in the order in which they were first seen. */
  readonly sessions: ReadonlyMap<number, SeenTransaction>;
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
  let statements: Map<string, readonly string[]> | null = null;
  for (const { replica, atUs, transactions, more } of told) {
    const id = replicaOf(replica);
    samples.set(id, { atUs, sessions: sessionsOf(samples.get(id), transactions, atUs), more });
    for (const { xid, sql } of transactions) {
      if (xid === null || sql === null) continue;
      const key = statementKey(replica, xid);
      if ((statements ?? running.statements).get(key)?.at(-1) === sql) continue;
      statements ??= new Map(running.statements);
      addStatement(statements, key, sql);
    }
  }
  if (statements === null) return { samples, statements: running.statements };
  while (statements.size > transactionsMax) statements.delete(statements.keys().next().value!);
  return { samples, statements };
}

function sessionsOf(
  before: RunningSample | undefined,
  transactions: readonly RunningTransaction[],
  atUs: number,
): ReadonlyMap<number, SeenTransaction> {
  const kept = [...(before?.sessions ?? [])].filter(([, seen]) => atUs - seen.atUs < keptUs);
  return new Map([...kept, ...transactions.map((each) => [each.pid, { atUs, transaction: each }] as const)]);
}

function addStatement(statements: Map<string, readonly string[]>, key: string, sql: string): void {
  statements.set(key, [...(statements.get(key) ?? []), sql].slice(-statementsMax));
}

export interface ShownTransaction {
  readonly transaction: RunningTransaction;
  /** When it was last looked. */
  readonly isOpen: boolean;
}

export interface RunningNow {
  readonly shown: readonly ShownTransaction[];
  /** How many open ones were left out. */
  readonly more: number;
}

/** What the leader was last seen at, and a moment before. */
export function runningAt(running: Running, leader: string | null, nowUs: number): RunningNow {
  const sample = leader === null ? undefined : running.samples.get(leader);
  if (sample === undefined) return { shown: [], more: 0 };
  const isFresh = nowUs - sample.atUs <= freshUs;
  const shown = [...sample.sessions.values()]
    .filter(({ atUs }) => nowUs - atUs < keptUs)
    .map(({ atUs, transaction }) => ({ transaction, isOpen: isFresh && atUs === sample.atUs }));
  return { shown, more: isFresh ? sample.more : 0 };
}
