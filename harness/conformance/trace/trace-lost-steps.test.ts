import { expect, it } from 'vitest';
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import { recordGroup } from '../fresh/record-group.ts';
import type { ConsensusEvent } from './read-trace.ts';
import { orderTrace } from './read-trace.ts';
import { flushUpTo } from './lost-steps.ts';
import { cutSegments } from './segments.ts';

it('the search for what killed processes did comes to an end where no steps lead to what an event asks for', async () => {
  const events = await recordGroup(10, 'losses');
  const target = events.findLast(
    (event): event is ConsensusEvent => event.layer === 'consensus' && event.name === 'HandleAccepted',
  )!;
  const message = { ...target.message!, firstSlot: 0 as Slot };
  const altered = events.with(events.indexOf(target), { ...target, message });
  const { linearized } = cutSegments(orderTrace(altered));
  expect(linearized.events).toBe(events.filter(({ layer }) => layer === 'consensus').length);
});

it('what a killed leader told of a commit point makes its own votes up to there durable, and none above', () => {
  const ballot = { round: 1, replica: 'r1' as ReplicaId };
  const vote = (slot: number) => ({
    record: { kind: 'vote' as const, slot, ballot, label: `r1/${slot}` },
    replies: [],
  });
  const buffer = [vote(7), vote(8), vote(9)];
  const records = (slot: number) => flushUpTo(ballot.replica, { buffer }, slot).map((step) => step.records);
  expect(records(8)).toEqual([2]);
  // It was durable before: the vote behind it may have been lost.
  expect(records(6)).toEqual([]);
  expect(records(9)).toEqual([3]);
});
