import { describe, expect, it } from 'vitest';
import type { Ballot, ReplicaId, Slot } from '../multipaxos/types.ts';
import { RecentOutcomes } from './recent-outcomes.ts';

const first: Ballot = { round: 1, replica: 'r1' as ReplicaId };
const second: Ballot = { round: 2, replica: 'r2' as ReplicaId };
const third: Ballot = { round: 3, replica: 'r1' as ReplicaId };

function pass(
  outcomes: RecentOutcomes,
  slot: number,
  newest: Ballot,
  transaction?: string,
  effect = true,
): void {
  outcomes.pass(slot as Slot, newest, transaction === undefined ? null : { transaction, effect });
}
const ask = (outcomes: RecentOutcomes, transaction: string, above: number, leadership = first) =>
  outcomes.outcomeOf({ transaction, leadership, above: above as Slot });

describe('recent outcomes', () => {
  it('know a transaction that took effect', () => {
    const outcomes = new RecentOutcomes();
    pass(outcomes, 1, first);
    pass(outcomes, 2, first, 'a');
    expect(ask(outcomes, 'a', 1)).toBe('committed');
    pass(outcomes, 3, second);
    expect(ask(outcomes, 'a', 1)).toBe('committed');
  });

  it('know that a transaction never takes effect only once a newer leader has begun', () => {
    const outcomes = new RecentOutcomes();
    pass(outcomes, 1, first);
    pass(outcomes, 2, first, 'a');
    expect(ask(outcomes, 'b', 1)).toBe('unknown');
    pass(outcomes, 3, second);
    expect(ask(outcomes, 'b', 1)).toBe('notCommitted');
  });

  it('do not take the beginning of the very leader that executed it for the end of it', () => {
    const outcomes = new RecentOutcomes();
    pass(outcomes, 1, second);
    expect(ask(outcomes, 'a', 0, second)).toBe('unknown');
    pass(outcomes, 2, second, 'a');
    expect(ask(outcomes, 'a', 0, second)).toBe('committed');
  });

  it('know that one in a slot above a newer beginning took no effect', () => {
    const outcomes = new RecentOutcomes();
    pass(outcomes, 1, first);
    pass(outcomes, 2, second);
    pass(outcomes, 3, second, 'late', false);
    expect(ask(outcomes, 'late', 1)).toBe('notCommitted');
  });

  it('stay with the slot that took effect if it stands in the log twice', () => {
    const outcomes = new RecentOutcomes();
    pass(outcomes, 1, first, 'a');
    pass(outcomes, 2, second);
    pass(outcomes, 3, second, 'a', false);
    expect(ask(outcomes, 'a', 0)).toBe('committed');
  });

  it('say nothing of a stretch that they have forgotten', () => {
    const outcomes = new RecentOutcomes(2);
    pass(outcomes, 1, first, 'a');
    pass(outcomes, 2, first, 'b');
    pass(outcomes, 3, first, 'c');
    pass(outcomes, 4, second);
    expect(ask(outcomes, 'a', 0)).toBe('unknown');
    expect(ask(outcomes, 'x', 0)).toBe('unknown');
    expect(ask(outcomes, 'x', 1)).toBe('notCommitted');
    expect(ask(outcomes, 'b', 0)).toBe('committed');
  });

  it('say nothing of what came before a database that was copied', () => {
    const outcomes = new RecentOutcomes();
    outcomes.startAt(100 as Slot, second);
    expect(ask(outcomes, 'a', 99)).toBe('unknown');
    expect(ask(outcomes, 'a', 100)).toBe('notCommitted');
    pass(outcomes, 101, third);
    pass(outcomes, 110, third, 'b');
    expect(ask(outcomes, 'x', 105, second)).toBe('unknown');
    expect(ask(outcomes, 'b', 105, third)).toBe('committed');
  });

  it('go on after a database has gone back: the log does not change', () => {
    const outcomes = new RecentOutcomes();
    pass(outcomes, 1, first, 'a');
    outcomes.startAt(0 as Slot, first);
    pass(outcomes, 1, first, 'a');
    expect(ask(outcomes, 'a', 0)).toBe('committed');
  });

  it('are waited for, for a bounded time', async () => {
    const outcomes = new RecentOutcomes();
    pass(outcomes, 1, first);
    const mark = { transaction: 'a', leadership: first, above: 1 as Slot };
    expect(await outcomes.awaitOutcome(mark, 20)).toBe('unknown');
    const waiting = outcomes.awaitOutcome(mark, 5_000);
    pass(outcomes, 2, first, 'other');
    pass(outcomes, 3, first, 'a');
    expect(await waiting).toBe('committed');
  });
});
