/** A message is drawn as what it says to who receives it, and is another one than that of a rival. */
import { describe, expect, test } from 'vitest';
import type { Slot } from '../../../server/src/multipaxos/types/names.ts';
import { ballot } from '../model/testing.ts';
import { carries, type FlightKind, type FlownMessage, kindOf } from './flown-message.ts';

const message = (kind: FlownMessage['kind'], round = 1, replica = 'r1', slots: object = {}): FlownMessage =>
  ({ kind, ballot: ballot(round, replica), ...slots }) as FlownMessage;

const kinds: readonly (readonly [drawn: FlightKind, kinds: readonly FlownMessage['kind'][]])[] = [
  ['reject', ['Reject', 'SlotReject', 'Refuse', 'Resigned']],
  ['prepare', ['PreVote', 'Prepare', 'SlotPrepare', 'AskWord']],
  ['promise', ['PreVoteReply', 'Promise', 'SlotPromise', 'Word']],
  ['accept', ['Accept', 'SlotAccept']],
  ['accepted', ['Accepted', 'SlotAccepted', 'Received']],
  ['heartbeat', ['Heartbeat', 'Learn', 'Status', 'Told', 'Operations']],
  ['acknowledgement', ['HeartbeatAck']],
  ['catchUp', ['CatchUpRequest', 'CatchUpReply', 'LearnRequest', 'LearnReply']],
];

describe('a message that flies', () => {
  test.each(kinds)('is drawn as %s where it says that: %j', (drawn, all) => {
    expect(all.map((kind) => kindOf(message(kind)))).toEqual(all.map(() => drawn));
  });

  test('asks for a vote where it carries operations', () => {
    expect(kindOf(message('Operations', 1, 'r1', { firstSlot: 4 as Slot }))).toBe('accept');
  });

  test('is not the one of a rival in the same round, nor of another round, kind or slot', () => {
    const slots = { firstSlot: 3, lastSlot: 5 };
    const all = message('Accepted', 2, 'r1', slots);
    expect(carries(all, message('Accepted', 2, 'r1', { firstSlot: 4, lastSlot: 4 }))).toBe(true);
    for (const other of [
      message('Accepted', 2, 'r2', slots),
      message('Accepted', 3, 'r1', slots),
      message('Accept', 2, 'r1', slots),
      message('Accepted', 2, 'r1', { firstSlot: 2, lastSlot: 5 }),
      message('Accepted', 2, 'r1', { firstSlot: 3, lastSlot: 6 }),
    ])
      expect(carries(all, other)).toBe(false);
  });
});
