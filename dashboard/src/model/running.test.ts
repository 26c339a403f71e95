import { describe, expect, test } from 'vitest';
import type { RunningTransaction } from '../../../server/src/api/wal-summary.ts';
import {
  emptyRunning,
  foldRunning,
  runningAt,
  statementKey,
  statementsMax,
  transactionsMax,
} from './running.ts';
import type { Running } from './running.ts';
import { other } from './testing.ts';

const open = (xid: number | null, sql: string | null, pid = 7): RunningTransaction => ({
  pid,
  xid,
  state: 'running',
  user: 'u',
  database: 'd',
  sql,
  sinceMs: 5,
});
const sample = (replica: string, seq: number, ...transactions: readonly RunningTransaction[]) =>
  other({ replica, seq }, { layer: 'operation', name: 'RunningTransactions', transactions, more: 0 });

describe('what clients are at', () => {
  test('is the last sample of the leader, while it is fresh', () => {
    const running = foldRunning(emptyRunning, [
      sample('r1.2', 1, open(8, 'A')),
      sample('r1.2', 2, open(9, 'B')),
    ]);
    const shown = (leader: string | null, nowUs: number) => runningAt(running, leader, nowUs).shown;
    expect(shown('r1', 5_000)).toEqual([{ transaction: open(9, 'B'), isOpen: true }]);
    expect(shown('r2', 5_000)).toEqual([]);
    expect(shown(null, 5_000)).toEqual([]);
    expect(shown('r1', 3_002_001)).toEqual([{ transaction: open(9, 'B'), isOpen: false }]);
    expect(shown('r1', 5_002_001)).toEqual([]);
  });

  test('is kept for a moment after it has ended, each session in its place', () => {
    const seen = (running: Running, nowUs: number) =>
      runningAt(running, 'r1', nowUs).shown.map(({ transaction, isOpen }) => [transaction.xid, isOpen]);
    const both = foldRunning(emptyRunning, [
      sample('r1', 1000, open(1, 'A', 7), open(2, 'B', 8)),
      sample('r1', 2000, open(3, 'C', 8)),
    ]);
    expect(seen(both, 2_000_000)).toEqual([
      [1, false],
      [3, true],
    ]);
    const none = foldRunning(both, [sample('r1', 3000)]);
    expect(seen(none, 3_000_000)).toEqual([
      [1, false],
      [3, false],
    ]);
    expect(seen(foldRunning(none, [sample('r1', 6500)]), 6_500_000)).toEqual([[3, false]]);
  });

  test('tells the statements of a transaction, as far as they were seen, by its leader', () => {
    const running = foldRunning(emptyRunning, [
      sample('r1', 1, open(8, 'UPDATE a'), open(null, 'SELECT 1')),
      sample('r1', 2, open(8, 'UPDATE a')),
      sample('r1', 3, open(8, 'COMMIT')),
      sample('r2', 4, open(8, 'DELETE FROM b')),
    ]);
    expect(running.statements.get(statementKey('r1.3', 8))).toEqual(['UPDATE a', 'COMMIT']);
    expect(running.statements.get(statementKey('r2', 8))).toEqual(['DELETE FROM b']);
    expect(running.statements.size).toBe(2);
  });

  test('is bounded', () => {
    const texts = Array.from({ length: 9 }, (_, at) => sample('r1', at + 1, open(8, `statement ${at}`)));
    expect(foldRunning(emptyRunning, texts).statements.get(statementKey('r1', 8))).toHaveLength(
      statementsMax,
    );
    const many = Array.from({ length: transactionsMax + 3 }, (_, at) => sample('r1', at + 1, open(at, 'A')));
    expect(foldRunning(emptyRunning, many).statements.size).toBe(transactionsMax);
  });

  test('stays the same object if nothing is told', () => {
    expect(
      foldRunning(emptyRunning, [other({ seq: 1 }, { layer: 'operation', name: 'PeerLost', peer: 'r2' })]),
    ).toBe(emptyRunning);
  });
});
