/**
 * What a session has answered to requests that had a name, for those that are repeated.
 *
 * Pure. Invariants: a request that is repeated is not executed again while it is remembered; two different requests of one name are told from each other.
 */
import { createHash } from 'node:crypto';
import type { ResultSet } from '../codec/barista-api.ts';
import * as errors from '../errors.ts';
import type { SqlRequest } from './sql-sessions.ts';

interface Kept {
  readonly digest: string;
  outcome: Promise<ResultSet | null>;
}

export class KeptAnswers {
  private readonly kept = new Map<string, Kept>();
  private readonly answersMax: number;
  private readonly bytesMax: number;

  constructor(answersMax: number, bytesMax: number) {
    this.answersMax = answersMax;
    this.bytesMax = bytesMax;
  }

  /** What it was answered, or what `execute` makes of it now. `isFinal`: whether an error is what a repetition is to be told, too. @throws SqlError */
  once(
    seqId: string,
    request: SqlRequest,
    execute: () => Promise<ResultSet | null>,
    isFinal: () => boolean,
  ): Promise<ResultSet | null> {
    const digest = digestOf(request);
    const before = this.kept.get(seqId);
    if (before !== undefined) {
      if (before.digest !== digest) throw errors.nameTaken();
      return before.outcome;
    }
    const entry: Kept = { digest, outcome: execute() };
    this.kept.set(seqId, entry);
    const [oldest] = this.kept.keys();
    if (this.kept.size > this.answersMax && oldest !== undefined) this.kept.delete(oldest);
    entry.outcome.then(
      (result) => {
        if (result === null || bytesOf(result) <= this.bytesMax) return;
        entry.outcome = Promise.reject(errors.answerNotKept());
        entry.outcome.catch(() => undefined);
      },
      () => {
        if (!isFinal()) this.kept.delete(seqId);
      },
    );
    return entry.outcome;
  }
}

function bytesOf({ tuples, fieldNames, fieldTypes }: ResultSet): number {
  const values = [...tuples.bytes, ...fieldNames, ...fieldTypes];
  return values.reduce((sum, { length }) => sum + length, 0);
}

/** Two different requests have different ones. */
export function digestOf(request: SqlRequest): string {
  const hash = createHash('sha256').update(request.kind);
  if ('query' in request) {
    for (const value of [request.query, ...request.params]) {
      hash.update(value === null ? 'null' : `:${value.length}:`);
      if (value !== null) hash.update(value);
    }
  }
  return hash.digest('base64');
}
