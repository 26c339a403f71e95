import { expect, it } from 'vitest';
import type { Slot } from '../../../server/src/multipaxos/types/names.ts';
import { recordGroup } from '../fresh/record-group.ts';
import type { ConsensusEvent } from './read-trace.ts';
import { orderTrace } from './read-trace.ts';
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
