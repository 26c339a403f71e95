/**
 * What clients did to lists and were told, as the checker of list-append reads it.
 *
 * Responsible for: taking a transaction that reads and then writes for two. The modelled PostgreSQL is READ COMMITTED: what was read may have changed before what was written is committed.
 */
import type { Transaction, TransactionEnd } from '../../server/src/replica/testing/memory-client.ts';
import { appendsOf } from './appends.ts';
import type { MicroOperation } from '../checkers/append-transactions.ts';
import type { Call } from '../checkers/history.ts';

interface Begun {
  readonly transaction: Transaction;
  readonly process: number;
  readonly begin: number;
  readonly beginMs: number;
}

export class GroupHistory {
  readonly calls: Call[] = [];
  private events = 0;
  private processes = 0;

  begins(transaction: Transaction, beginMs: number): Begun {
    this.events += 1;
    this.processes += 2;
    return { transaction, process: this.processes, begin: this.events, beginMs };
  }

  ends(begun: Begun, end: TransactionEnd, endMs: number): void {
    this.events += 1;
    const { reads } = begun.transaction;
    const appends = appendsOf(begun.transaction).map(
      ({ key, value }): MicroOperation => ['append', key, numberOf(value)],
    );
    if (appends.length > 0) this.add(begun, 0, outcomeOf(end), appends, endMs);
    if (end.kind !== 'done' || reads.length === 0) return;
    const found = reads.map(
      (key, index): MicroOperation => ['r', key, end.lists[index]!.map((value) => numberOf(value))],
    );
    this.add(begun, 1, 'ok', found, endMs);
  }

  private add(
    { process, begin, beginMs }: Begun,
    part: number,
    outcome: Call['outcome'],
    micros: readonly MicroOperation[],
    endMs: number,
  ): void {
    const isOver = outcome !== 'info';
    this.calls.push({
      process: process + part,
      f: 'transaction',
      outcome,
      asked: micros,
      answer: micros,
      begin,
      end: isOver ? this.events : Number.POSITIVE_INFINITY,
      beginUs: beginMs * 1000,
      endUs: isOver ? endMs * 1000 : Number.POSITIVE_INFINITY,
      error: null,
      terms: null,
      currentAt: begin,
    });
  }
}

function outcomeOf(end: TransactionEnd): Call['outcome'] {
  if (end.kind === 'done') return 'ok';
  if (end.kind === 'refused') return 'fail';
  if (end.outcome === 'committed') return 'ok';
  return end.outcome === 'notCommitted' ? 'fail' : 'info';
}

/** Values begin with `v` and a number of their own. */
function numberOf(value: string): number {
  return Number.parseInt(value.slice(1), 10);
}
