import { describe, expect, it } from 'vitest';
import type { Entry, GroupId, ReplicaId, Slot } from '../multipaxos/types.ts';
import { createPartTracker, forgetParts, keepFrom, trackEntry } from './part-tracker.ts';

const group = 'g' as GroupId;
const command = {
  kind: 'command',
  group,
  proposal: { client: 'c', request: 1 },
  payload: new Uint8Array(),
} as Entry;
const leaderStart: Entry = { kind: 'leaderStart', group, ballot: { round: 2, replica: 'r2' as ReplicaId } };
const part = (transaction: string, last = false) => ({ transaction, part: 0, last });

describe('the part tracker', () => {
  it('keeps the log from the first waiting part on', () => {
    const tracker = createPartTracker();
    expect(keepFrom(tracker, 9 as Slot)).toBe(10);
    trackEntry(tracker, 4 as Slot, command, part('a'));
    trackEntry(tracker, 5 as Slot, command, part('b'));
    trackEntry(tracker, 6 as Slot, command, part('a'));
    expect(keepFrom(tracker, 9 as Slot)).toBe(4);
    trackEntry(tracker, 7 as Slot, command, part('a', true));
    expect(keepFrom(tracker, 9 as Slot)).toBe(5);
  });

  it('keeps parts for a pointer that has not come to the last of them', () => {
    const tracker = createPartTracker();
    trackEntry(tracker, 4 as Slot, command, part('a'));
    trackEntry(tracker, 6 as Slot, command, part('a', true));
    expect(keepFrom(tracker, 5 as Slot)).toBe(4);
    expect(keepFrom(tracker, 6 as Slot)).toBe(7);
    forgetParts(tracker, 5 as Slot);
    expect(keepFrom(tracker, 5 as Slot)).toBe(4);
    forgetParts(tracker, 6 as Slot);
    expect(tracker.spans.size).toBe(0);
  });

  it('keeps, when a new leader starts, the parts of a transaction that is complete', () => {
    const tracker = createPartTracker();
    trackEntry(tracker, 4 as Slot, command, part('a'));
    trackEntry(tracker, 5 as Slot, command, part('a', true));
    trackEntry(tracker, 6 as Slot, leaderStart, null);
    expect(keepFrom(tracker, 3 as Slot)).toBe(4);
    expect(keepFrom(tracker, 4 as Slot)).toBe(4);
  });

  it('lets go of every waiting part when a new leader starts', () => {
    const tracker = createPartTracker();
    trackEntry(tracker, 4 as Slot, command, part('a'));
    trackEntry(tracker, 5 as Slot, leaderStart, null);
    expect(keepFrom(tracker, 5 as Slot)).toBe(6);
  });
});
