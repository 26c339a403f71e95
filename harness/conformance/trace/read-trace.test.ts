import { expect, it } from 'vitest';
import { recordGroup } from '../fresh/record-group.ts';
import { begunBefore, orderTrace } from './read-trace.ts';

const events = await recordGroup(10, 'losses');
const consensus = events.flatMap((event) => (event.layer === 'consensus' ? [event] : []));

it('a recorded run is read as a whole', () => {
  expect(orderTrace(events).events).toBe(consensus.length);
});

it('a run with an event of another replica is refused, wherever that stands in it', () => {
  for (const target of [consensus[0]!, consensus.at(-1)!]) {
    const other = consensus.find(({ replica }) => replica !== target.replica)!;
    const altered = events.with(events.indexOf(target), { ...target, replica: other.replica });
    expect(() => orderTrace(altered)).toThrow('has an event of');
  }
});

it('whoever has a log that is not empty when the trace begins is told, and nobody else is', () => {
  expect(begunBefore(orderTrace(events))).toEqual([]);
  const restart = consensus.findLast(({ name, state }) => name === 'Restart' && state.promised.round > 0)!;
  const lastRun = events.filter(({ run }) => run === restart.run);
  expect(begunBefore(orderTrace(lastRun))).toEqual([restart.replica]);
});
