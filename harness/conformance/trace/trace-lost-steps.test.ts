import { expect, it } from 'vitest';
import type { Slot } from '../../../server/src/multipaxos/types/names.ts';
import { recordSeed } from '../fresh/record-seed.ts';
import type { ConsensusEvent } from './read-trace.ts';
import { orderTrace } from './read-trace.ts';
import { cutSegments } from './segments.ts';

it('the search for what killed processes did comes to an end where no steps lead to what an event asks for', () => {
  const events = recordSeed(1, { mix: 'losses', steps: 500 });
  const target = events.findLast(
    (event): event is ConsensusEvent => event.layer === 'consensus' && event.name === 'HandleAccepted',
  )!;
  const message = { ...target.message!, firstSlot: 0 as Slot };
  const altered = events.with(events.indexOf(target), { ...target, message });
  const { linearized } = cutSegments(orderTrace(altered));
  expect(linearized.events).toBe(events.length);
});
