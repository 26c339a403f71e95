/** Where whole records of WAL end, by what replicas tell. */
import { expect, it } from 'vitest';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { segmentBytes } from '../../../server/src/wal/lsn.ts';
import type { ApplyEvent, ApplyItem } from './apply-event.ts';
import { factsOf } from './apply-facts.ts';

const segmentEnd = 9 * segmentBytes;
const chosenEnd = segmentEnd - 1_000_000;

function told(...events: readonly object[]): ApplyItem[] {
  return events.map((event) => ({
    kind: 'event',
    replica: 'r1' as ReplicaId,
    event: { layer: 'apply', replica: 'r1', run: 'a', seq: 1, atUs: 1, ...event } as unknown as ApplyEvent,
  }));
}

const comesUp = { name: 'DatabaseUp', role: 'standby', slot: 7, position: chosenEnd, timeline: 1 };

it('what is chosen of the empty rest behind a switch of segments is no part of a record', () => {
  const facts = factsOf(told(comesUp, { name: 'Replay', flushed: segmentEnd, replayed: segmentEnd }));
  expect(facts.isWhole(1, chosenEnd)).toBe(true);
});

it('what is chosen of a record is part of it, wherever in its segment', () => {
  const before = chosenEnd - 1000;
  const facts = factsOf(told(comesUp, { name: 'Replay', flushed: chosenEnd, replayed: before }));
  expect(facts.isWhole(1, before)).toBe(true);
  expect(facts.isWhole(1, chosenEnd)).toBe(false);
});
