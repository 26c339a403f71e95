import { describe, expect, test } from 'vitest';
import type { Slot } from '../../../server/src/multipaxos/types/names.ts';
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

/** A range that ends at this position, and how far the standby has come. */
function feed(seq: number, at: number, end: number) {
  return other(
    { seq },
    { layer: 'apply', name: 'Feed', slot: at, label: `c/${at}`, timeline: 1, start: 0, end },
  );
}

function replay(seq: number, replayed: number) {
  return other({ seq }, { layer: 'apply', name: 'Replay', flushed: replayed, replayed });
}

describe('a replica log', () => {
  test('shows a slot as accepted, then chosen, then applied', () => {
    const voted = foldReplicaLog(emptyLog, [accepted(1, [1, 2], 0)]);
    expect(kindOf(voted, 2)).toBe('accepted');
    const learnt = foldReplicaLog(voted, [accepted(2, [3], 2)]);
    expect([1, 2, 3].map((at) => kindOf(learnt, at))).toEqual(['chosen', 'chosen', 'accepted']);
    const fed = foldReplicaLog(learnt, [feed(3, 1, 100), feed(4, 2, 200)]);
    expect([1, 2, 3].map((at) => kindOf(fed, at))).toEqual(['chosen', 'chosen', 'accepted']);
    const applied = foldReplicaLog(fed, [replay(5, 199)]);
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

  test('takes a slot for applied at the leader when its commits are released', () => {
    const log = foldReplicaLog(emptyLog, [
      accepted(1, [1, 2, 3], 3),
      other({ seq: 2 }, { layer: 'apply', name: 'Release', slot: 2, position: 200 }),
    ]);
    expect([1, 2, 3].map((at) => kindOf(log, at))).toEqual(['applied', 'applied', 'chosen']);
  });

  test('does not wait for WAL that a new timeline has left behind', () => {
    const begin = { layer: 'apply', name: 'BeginLeadership', slot: 3, label: 'd/1', timeline: 2, fork: 150 };
    const log = foldReplicaLog(emptyLog, [
      accepted(1, [1, 2, 3, 4], 4),
      feed(2, 1, 100),
      feed(3, 2, 200),
      other({ seq: 4 }, begin),
      feed(5, 4, 250),
      replay(6, 150),
    ]);
    expect([1, 2, 3, 4].map((at) => kindOf(log, at))).toEqual(['applied', 'applied', 'applied', 'chosen']);
  });

  test('counts a slot that changes nothing as applied with what lies below it', () => {
    const skip = (seq: number, at: number) =>
      other(
        { seq },
        { layer: 'apply', name: 'Skip', slot: at, label: `s/${at}`, why: 'its leadership is over' },
      );
    const log = foldReplicaLog(emptyLog, [
      accepted(1, [1, 2, 3], 3),
      skip(2, 1),
      feed(3, 2, 200),
      skip(4, 3),
    ]);
    expect([1, 2, 3].map((at) => kindOf(log, at))).toEqual(['applied', 'chosen', 'chosen']);
    expect(kindOf(foldReplicaLog(log, [replay(5, 200)]), 3)).toBe('applied');
  });

  test('leaves it to the status how far a PostgreSQL is that has just started, or a copy', () => {
    const up = { layer: 'apply', name: 'DatabaseUp', role: 'standby', slot: 4, position: 400, timeline: 1 };
    const copied = { layer: 'apply', name: 'EndCopy', source: 'r3', slot: 3, position: 300, timeline: 1 };
    const before = foldReplicaLog(emptyLog, [accepted(1, [1, 2, 3, 4], 4), feed(2, 1, 100), replay(3, 100)]);
    const started = foldReplicaLog(before, [other({ seq: 4 }, up)]);
    expect([1, 4].map((at) => kindOf(started, at))).toEqual(['chosen', 'chosen']);
    const told = pointersOf(started, status('r1', { applicationPointer: slot(2), lastSlot: slot(4) }));
    expect([2, 3].map((at) => cellAt(started, told, at).kind)).toEqual(['applied', 'chosen']);
    const copy = foldReplicaLog(started, [other({ seq: 5 }, copied)]);
    expect([3, 4].map((at) => kindOf(copy, at))).toEqual(['applied', 'chosen']);
  });

  test('remembers only so many slots that wait to be replayed', () => {
    const fed = Array.from({ length: 5000 }, (_, index) => feed(index + 1, index + 1, (index + 1) * 10));
    const log = foldReplicaLog(emptyLog, fed);
    expect(log.pending).toHaveLength(4096);
    expect(foldReplicaLog(log, [replay(5001, 49_990)]).applicationPointer).toBe(4999);
  });

  test('starts a new run from what that run reports, with its votes kept', () => {
    const log = foldReplicaLog(emptyLog, [
      accepted(1, [1, 2], 2),
      other({ seq: 2 }, { layer: 'apply', name: 'Release', slot: 2, position: 200 }),
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

  test('shares its votes with the log before it until one is written', () => {
    const log = foldReplicaLog(emptyLog, [accepted(1, [1, 2], 0)]);
    const heard = foldReplicaLog(log, [
      other({ seq: 2 }, { layer: 'lease', name: 'HandleHeartbeat', ballot: b1 }),
    ]);
    expect(heard.votes).toBe(log.votes);
    const voted = foldReplicaLog(heard, [accepted(3, [3], 0)]);
    expect([...voted.votes.keys()]).toEqual([1, 2, 3]);
    expect([...log.votes.keys()]).toEqual([1, 2]);
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
