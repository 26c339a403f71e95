/** Where a batch ends, and what each of its slots does to the database. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { Entry, ReplicaId, Slot, SlotEntry } from '../multipaxos/types.ts';
import { createAppliedSet, type AppliedSet } from './applied-set.ts';
import { gatherBatch, type Batch } from './batch.ts';
import { createPassage, keptAt, type Passage } from './passage.ts';
import { ArrayLog, check, group, noop, part, start, transaction } from './testing/array-log.ts';

let log: ArrayLog;
let passage: Passage;
let applied: AppliedSet;
let appliedTransactions: Set<string>;
beforeEach(() => {
  log = new ArrayLog();
  passage = createPassage();
  applied = createAppliedSet(0 as Slot);
  appliedTransactions = new Set();
});

function gather(entries: readonly SlotEntry[], checks = true): Batch {
  return gatherBatch(entries, { log, passage, applied, appliedTransactions, checks });
}
const slotsOf = (batch: Batch): number[] => batch.slots.map(({ slot }) => slot);
/** Slots that change the data. */
const changing = (batch: Batch): number[] =>
  batch.slots.flatMap(({ slot, transaction: changes }) => (changes === null ? [] : [slot]));

describe('a batch', () => {
  it('takes entries of every kind, and has nothing to do for those that are no transactions', () => {
    const batch = gather(log.append([start, transaction('a'), noop, transaction('b')]));
    expect(slotsOf(batch)).toEqual([1, 2, 3, 4]);
    expect(changing(batch)).toEqual([2, 4]);
    expect(batch.applied.map(([slot]) => slot)).toEqual([2, 4]);
    expect(batch.passed.map(([slot, { kind }]) => [slot, kind])).toEqual([
      [1, 'nothing'],
      [2, 'transaction'],
      [3, 'nothing'],
      [4, 'transaction'],
    ]);
  });

  it('ends before the beginning of the next leader, and passes nothing of what is beyond', () => {
    const second = { round: 2, replica: 'r2' as ReplicaId };
    const entries: Entry[] = [start, transaction('a'), { kind: 'leaderStart', group, ballot: second }];
    expect(slotsOf(gather(log.append(entries)))).toEqual([1, 2]);
    expect(passage.succession.newest).toEqual({ round: 1, replica: 'r1' });
  });

  it('ends before a large transaction, which is the first of the next', () => {
    const last = transaction('big', { part: 1, partSlots: [1] });
    const entries = log.append([part('big', 0), transaction('a'), last, noop]);
    expect(slotsOf(gather(entries))).toEqual([1, 2]);
    expect(keptAt(passage, 2 as Slot).keepFrom).toBe(1);
    const next = gather(entries.slice(2));
    expect(slotsOf(next)).toEqual([3, 4]);
    expect(changing(next)).toEqual([3]);
  });

  it('ends before a check, but goes over it where checks are passed over', () => {
    const entries = log.append([transaction('a'), check('c'), transaction('b')]);
    expect(slotsOf(gather(entries))).toEqual([1]);
    passage = createPassage();
    const over = gather(entries, false);
    expect(slotsOf(over)).toEqual([1, 2, 3]);
    expect(changing(over)).toEqual([1, 3]);
  });

  it('passes what sessions had committed, by slot or by name, and has nothing to do for it', () => {
    applied = createAppliedSet(0 as Slot, [2 as Slot]);
    appliedTransactions = new Set(['c']);
    const batch = gather(log.append([transaction('a'), transaction('b'), transaction('c')]));
    expect(slotsOf(batch)).toEqual([1, 2, 3]);
    expect(changing(batch)).toEqual([1]);
    expect(batch.passed).toHaveLength(3);
  });

  it('has nothing to do for a transaction that stands above the beginning of a newer leader', () => {
    passage.succession.newest = { round: 2, replica: 'r2' as ReplicaId };
    const batch = gather(log.append([transaction('late')]));
    expect(changing(batch)).toEqual([]);
    expect(batch.passed.map(([, { kind }]) => kind)).toEqual(['superseded']);
  });
});
