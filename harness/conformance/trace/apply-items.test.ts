import { expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { applyItems } from './apply-items.ts';

const leadership = { round: 2, replica: 'r3' };
const range = { layer: 'apply', leadership, timeline: 2 };

/** A leader whose record tells of its first range alone, and a follower that was fed three, and was asked. */
function shippedFrom(outcome: string, xid: string): unknown {
  const events = [
    {
      ...range,
      name: 'Ship',
      replica: 'r3',
      run: 'c',
      seq: 1,
      atUs: 10,
      label: 'r3.c/1',
      start: 8,
      end: 16,
      commits: ['7'],
    },
    {
      ...range,
      name: 'Feed',
      replica: 'r2',
      run: 'b',
      seq: 1,
      atUs: 20,
      label: 'r3.c/1',
      slot: 1,
      start: 8,
      end: 16,
    },
    {
      ...range,
      name: 'Feed',
      replica: 'r2',
      run: 'b',
      seq: 2,
      atUs: 21,
      label: 'r3.c/2',
      slot: 2,
      start: 16,
      end: 24,
    },
    {
      ...range,
      name: 'Feed',
      replica: 'r2',
      run: 'b',
      seq: 3,
      atUs: 22,
      label: 'r3.c/3',
      slot: 3,
      start: 24,
      end: 32,
    },
    {
      layer: 'apply',
      name: 'TellOutcome',
      replica: 'r2',
      run: 'b',
      seq: 4,
      atUs: 30,
      question: 1,
      leadership,
      xid,
      outcome,
    },
  ];
  return applyItems(events as unknown as TraceEvent[]).flatMap((item) =>
    item.kind === 'event' && item.event.name === 'Ship' ? [[item.event.label, item.event.commits]] : [],
  );
}

it('what a killed leader sent last, and did not tell, has the transactions that somebody was told to be committed', () => {
  const lost = (commits: readonly string[]) => [
    ['r3.c/1', ['7']],
    ['r3.c/2', commits],
    ['r3.c/3', []],
  ];
  expect(shippedFrom('committed', '8')).toEqual(lost(['8']));
  // That one is in a range which is told.
  expect(shippedFrom('committed', '7')).toEqual(lost([]));
  expect(shippedFrom('notCommitted', '8')).toEqual(lost([]));
});
