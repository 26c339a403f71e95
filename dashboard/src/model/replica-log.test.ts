import { describe, expect, test } from 'vitest';
import type { Slot } from '../../../server/src/multipaxos/types.ts';
import { cellAt, emptyLog, foldReplicaLog, pointersOf, votesMax } from './replica-log.ts';
import type { ReplicaLog } from './replica-log.ts';
import { ballot, consensus, other, status, vote } from './testing.ts';

const b1 = ballot(1, 'r1');
const slot = (value: number): Slot => value as Slot;

function kindOf(log: ReplicaLog, at: number): string {
  return cellAt(log, pointersOf(log, null), at).kind;
}

function accepted(seq: number, slots: readonly number[], commitPoint: number) {
  return consensus(
    { seq },
    {
      name: 'HandleAccept',
      votes: slots.map((at) => vote(at, b1, `c/${at}`)),
      state: { commitPoint: slot(commitPoint), lastSlot: slot(Math.max(...slots)) },
    },
  );
}

describe('a replica log', () => {
  test('shows a slot as accepted, then chosen, then applied', () => {
    const voted = foldReplicaLog(emptyLog, [accepted(1, [1, 2], 0)]);
    expect(kindOf(voted, 2)).toBe('accepted');
    const learnt = foldReplicaLog(voted, [accepted(2, [3], 2)]);
    expect([1, 2, 3].map((at) => kindOf(learnt, at))).toEqual(['chosen', 'chosen', 'accepted']);
    const applied = foldReplicaLog(learnt, [
      other(
        { seq: 3 },
        { layer: 'apply', name: 'ApplyBatch', fromSlot: 1, toSlot: 1, applied: [[1, 'c/1']], sql: [] },
      ),
    ]);
    expect([1, 2, 3].map((at) => kindOf(applied, at))).toEqual(['applied', 'chosen', 'accepted']);
  });

  test('leaves a hole empty where a later slot has a vote', () => {
    const log = foldReplicaLog(emptyLog, [accepted(1, [1], 0), accepted(2, [3], 0)]);
    expect([1, 2, 3].map((at) => kindOf(log, at))).toEqual(['accepted', 'empty', 'accepted']);
  });

  test('counts an entry learnt without a vote as chosen, even above the commit point', () => {
    const log = foldReplicaLog(emptyLog, [
      consensus({ seq: 1 }, { name: 'HandleCatchUpReply', votes: [vote(5, null, 'c/5')] }),
    ]);
    expect(kindOf(log, 5)).toBe('chosen');
  });

  test('keeps the last vote of a slot that was overwritten', () => {
    const b2 = ballot(2, 'r2');
    const log = foldReplicaLog(emptyLog, [
      accepted(1, [1], 0),
      consensus(
        { seq: 2 },
        { name: 'HandleAccept', votes: [vote(1, b2, 'd/1')], state: { lastSlot: slot(1) } },
      ),
    ]);
    expect(log.votes.get(1)).toEqual({ ballot: b2, label: 'd/1' });
  });

  test('shows what a leader committed out of order as applied, and forgets it below the pointer', () => {
    const commit = (seq: number, at: number) =>
      other({ seq }, { layer: 'apply', name: 'CommitChosen', slot: at, label: `c/${at}` });
    const ahead = foldReplicaLog(emptyLog, [accepted(1, [1, 2, 3], 3), commit(2, 3), commit(3, 1)]);
    expect([1, 2, 3].map((at) => kindOf(ahead, at))).toEqual(['applied', 'chosen', 'applied']);
    const moved = foldReplicaLog(ahead, [
      other({ seq: 4 }, { layer: 'apply', name: 'MovePointer', applicationPointer: 3 }),
    ]);
    expect(moved.above.size).toBe(0);
    expect(kindOf(moved, 2)).toBe('applied');
  });

  test('follows PostgreSQL back when a crash took asynchronous commits', () => {
    const log = foldReplicaLog(emptyLog, [
      accepted(1, [1, 2, 3, 4], 4),
      other({ seq: 2 }, { layer: 'apply', name: 'ApplyBatch', fromSlot: 1, toSlot: 4, applied: [], sql: [] }),
      other({ seq: 3 }, { layer: 'apply', name: 'DatabaseUp', applicationPointer: 1, above: [3] }),
    ]);
    expect([1, 2, 3, 4].map((at) => kindOf(log, at))).toEqual(['applied', 'chosen', 'applied', 'chosen']);
  });

  test('starts a new run from what that run reports, with its votes kept', () => {
    const log = foldReplicaLog(emptyLog, [
      accepted(1, [1, 2], 2),
      other({ seq: 2 }, { layer: 'apply', name: 'MovePointer', applicationPointer: 2 }),
      other({ seq: 1, run: 'next' }, { layer: 'operation', name: 'ReplicaStarted', pid: 7 }),
    ]);
    expect(log).toMatchObject({ run: 'next', commitPoint: 0, applicationPointer: 0, missed: 0 });
    expect(kindOf(log, 2)).toBe('accepted');
  });

  test('counts events that never arrived, within one run only', () => {
    const log = foldReplicaLog(emptyLog, [
      other({ seq: 40 }, { layer: 'operation', name: 'PeerLost', peer: 'r2' }),
      other({ seq: 44 }, { layer: 'operation', name: 'PeerLost', peer: 'r3' }),
    ]);
    expect(log.missed).toBe(3);
    const restarted = foldReplicaLog(log, [
      other({ seq: 1, run: 'next' }, { layer: 'operation', name: 'ReplicaStarted', pid: 7 }),
    ]);
    expect(restarted.missed).toBe(0);
  });

  test('never remembers more than its bound of votes, and drops the oldest first', () => {
    const slots = Array.from({ length: votesMax + 10 }, (_, index) => index + 1);
    const log = foldReplicaLog(emptyLog, [accepted(1, slots, 0)]);
    expect(log.votes.size).toBe(votesMax);
    expect(Math.min(...log.votes.keys())).toBe(11);
  });

  test('trusts the status for slots that were filled before the page was opened', () => {
    const log = foldReplicaLog(emptyLog, [accepted(90, [10], 5)]);
    const pointers = pointersOf(
      log,
      status('r1', { commitPoint: slot(6), applicationPointer: slot(4), lastSlot: slot(10) }),
    );
    const kinds = [4, 6, 8, 10, 11].map((at) => cellAt(log, pointers, at).kind);
    expect(kinds).toEqual(['applied', 'chosen', 'accepted', 'accepted', 'empty']);
  });

  test('takes slots for accepted whose votes may have been in events that never arrived', () => {
    const before = foldReplicaLog(emptyLog, [accepted(1, [1], 0)]);
    const log = foldReplicaLog(before, [accepted(9, [6], 0), accepted(10, [8], 0)]);
    expect([1, 4, 6, 7, 8].map((at) => kindOf(log, at))).toEqual([
      'accepted',
      'accepted',
      'accepted',
      'empty',
      'accepted',
    ]);
  });

  test('is not changed by folding more events onto it', () => {
    const before = foldReplicaLog(emptyLog, [accepted(1, [1], 0)]);
    const copy = structuredClone(before);
    foldReplicaLog(before, [accepted(2, [2, 3], 2)]);
    expect(before).toEqual(copy);
  });
});
