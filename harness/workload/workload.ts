/** What a workload is: requests drawn at random, and how each is put to a database. Who runs it and writes its history is run-workload.ts. */
import type { WorkloadName } from '../checkers/check-history.ts';
import type { Random } from './seeded-random.ts';
import type { SqlSession } from './sql-session.ts';

export interface WorkRequest {
  readonly f: string;
  readonly asked: unknown;
}

export interface Workload {
  readonly name: WorkloadName;
  /** For its checker, in the history's header. */
  readonly options: Readonly<Record<string, unknown>>;
  /** Clients at a time, and how long each waits between two operations, on average. */
  readonly clients: number;
  /** Whether there is one more client for each replica that only reads, and only there: whoever is cut off keeps a reader. */
  readonly readersEverywhere: boolean;
  /** Whether it can be asked for reads that a follower may answer, in a mode (docs/reads.md). */
  readonly hasReads: boolean;
  readonly pauseMs: number;
  /** SQL that makes its tables. Run once, on a healthy cluster. */
  readonly setup: readonly string[];
  /** `read`: what a session that only reads may ask. */
  next(random: Random, kind: 'any' | 'read'): WorkRequest;
  /** The answer, for the history. @throws SqlFailure */
  run(session: SqlSession, request: WorkRequest): Promise<unknown>;
  /** Nothing comes back of such a request but that it took effect: whoever hears that much, however it is told, has the answer. */
  returnsNothing(f: string): boolean;
  /** What to read when all is quiet and healed. */
  finalRequests(): readonly WorkRequest[];
}
