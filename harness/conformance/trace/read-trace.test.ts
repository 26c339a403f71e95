import { expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { losses, optionsOfSeed } from '../../simulation/options.ts';
import { simulate } from '../../simulation/simulation.ts';
import { recordTrace } from '../../simulation/trace-recorder.ts';
import { orderTrace } from './read-trace.ts';

const recorder = recordTrace(10_000);
simulate(optionsOfSeed(1, { ...losses, steps: 400 }), recorder);
const events: readonly TraceEvent[] = recorder.events;

it('a recorded run is read as a whole', () => {
  expect(orderTrace(events).events).toBe(events.length);
});

it('a run with an event of another replica is refused, wherever that stands in it', () => {
  for (const target of [events[0]!, events.at(-1)!]) {
    const other = events.find(({ replica }) => replica !== target.replica)!;
    const altered = events.with(events.indexOf(target), { ...target, replica: other.replica });
    expect(() => orderTrace(altered)).toThrow('has an event of');
  }
});
