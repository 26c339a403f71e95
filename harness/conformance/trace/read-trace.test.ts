import { expect, it } from 'vitest';
import { recordGroup } from '../fresh/record-group.ts';
import { beginsTooLate, begunBefore, orderTrace } from './read-trace.ts';

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

/** As `trace.filesMax` has it: the oldest runs go first. */
function withoutFirstRuns(member: string) {
  const own = consensus.filter(({ replica }) => replica.split('.')[0] === member);
  const [first, second] = [...new Set(own.map(({ run }) => run))];
  expect(second).toBeDefined();
  return events.filter(({ run }) => run !== first);
}

it('whoever was heard before its trace begins is told, whole runs of it being gone', () => {
  expect(beginsTooLate(orderTrace(events))).toEqual([]);
  const [member] = consensus[0]!.replica.split('.') as [string];
  expect(beginsTooLate(orderTrace(withoutFirstRuns(member)))).toEqual([consensus[0]!.replica]);
  const nobody = events.filter(({ replica }) => replica !== consensus[0]!.replica);
  expect(beginsTooLate(orderTrace(nobody))).toEqual([consensus[0]!.replica]);
});

it('a run of which the first events are gone is told to be incomplete, and one with a hole to have a gap', () => {
  const { run } = consensus[0]!;
  const own = events.filter((event) => event.run === run);
  expect(() => orderTrace(events.filter((event) => event !== own[0]))).toThrow(
    /is incomplete: it begins with event 2,/,
  );
  expect(() => orderTrace(events.filter((event) => event !== own[3]))).toThrow(
    /has a gap: event 5 comes after 3/,
  );
});
