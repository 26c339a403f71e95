/** What the page knows of slots where statements travel: no votes, but what was chosen, and what that is. */
import { describe, expect, test } from 'vitest';
import type { OperationContent } from '../../../server/src/api/wal-summary.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { describeEntry, foldNotes } from './entry-notes.ts';
import { describeEvent, isRoutine, slotsOf } from './event-text.ts';
import { describeCircumstances, describeOperation } from './operation-text.ts';
import { cellAt, emptyLog, foldReplicaLog, pointersOf } from './replica-log.ts';
import { ballot, consensus, other, vote } from './testing.ts';

const session = { name: '3f09ac', at: 'r2' as ReplicaId };

function chosen(seq: number, slot: number, what: string | null = 'commit', label = `r2.x/${slot}`) {
  return other(
    { seq },
    { layer: 'operation', name: 'SlotChosen', slot, label, what, session: what === null ? null : session },
  );
}

describe('a chosen operation', () => {
  test('is noted by its label, and described', () => {
    const notes = foldNotes(new Map(), [chosen(1, 4), chosen(2, 5, null, 'noop')]);
    expect([...notes.keys()]).toEqual(['r2.x/4']);
    expect(describeEntry('r2.x/4', notes.get('r2.x/4'))).toBe('Commits in session 3f09ac of a client at r2');
    expect(describeEntry('noop', notes.get('noop'))).toBe(
      'A no-op: fills a hole that an earlier proposer left',
    );
  });

  test('is in the replica’s log, chosen, without a vote', () => {
    const log = foldReplicaLog(emptyLog, [chosen(1, 4), chosen(2, 5)]);
    const pointers = pointersOf(log, null);
    expect(pointers).toMatchObject({ commitPoint: 5, lastSlot: 5 });
    expect(cellAt(log, pointers, 4)).toEqual({ kind: 'chosen', vote: { ballot: null, label: 'r2.x/4' } });
  });

  test('keeps the vote that is known of it', () => {
    const votes = [vote(4, ballot(1, 'r1'), 'r2.x/4')];
    const voted = consensus({ seq: 1 }, { name: 'Fsync', votes });
    const log = foldReplicaLog(emptyLog, [voted, chosen(2, 4)]);
    expect(log.votes.get(4)?.ballot).toEqual(ballot(1, 'r1'));
  });

  test('is routine in the list of events, and leads to its slot', () => {
    const event = chosen(1, 4);
    expect(isRoutine(event)).toBe(true);
    expect(slotsOf(event)).toEqual({ from: 4, to: 4 });
    expect(describeEvent(event)).toBe('slot 4 · Commits in session 3f09ac of a client at r2');
    expect(describeEvent(chosen(1, 5, null, 'noop'))).toBe('slot 5 · noop');
  });
});

test('operations in words', () => {
  expect(describeOperation('cancelOpen', null)).toBe('Ends the open transaction of every session');
  expect(describeOperation('close', { name: 'ab', at: null })).toBe('Closes session ab');
  const content: OperationContent = {
    kind: 'operation',
    what: 'execute',
    session,
    proposer: 'r1' as ReplicaId,
    request: 3,
    level: 'sync',
    user: null,
    database: null,
    sql: [],
    bytes: 9,
  };
  expect(describeCircumstances(content)).toBe('request 3 of the session · proposed by r1 · answered at sync');
  expect(describeCircumstances({ ...content, request: null, level: null, user: 'u', database: 'd' })).toBe(
    'u in d · proposed by r1',
  );
});
