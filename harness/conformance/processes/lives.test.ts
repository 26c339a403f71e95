/** Of what simulated groups record, only what processes would: the rest is put in again, so that the specification allows it. */
import { describe, expect, it } from 'vitest';
import { judgeProcesses, processAlterations, refusedAlterations } from './judge-processes.ts';
import { isProtocolTrace } from './lives.ts';
import { paxosAsProcesses, primaryAsProcesses } from './testing.ts';

const crashesIn = ({ actions }: Awaited<ReturnType<typeof judgeProcesses>>): number =>
  actions.get('Crash') ?? 0;

describe.each([
  ['Paxos', paxosAsProcesses, [2, 4, 6, 8]],
  ['PrimaryCopies', primaryAsProcesses, [1, 3, 4, 7, 9, 10]],
] as const)('the lives of %s', (module, record, seeds) => {
  it('are what the specification allows, with the ends that nobody told', async () => {
    let crashes = 0;
    for (const seed of seeds) {
      const events = record(seed);
      expect(isProtocolTrace(events)).toBe(true);
      const verdict = await judgeProcesses(events);
      expect({ seed, ...verdict }).toMatchObject({ seed, protocol: module, refused: null });
      crashes += crashesIn(verdict);
    }
    expect(crashes).toBeGreaterThan(3);
  });

  it('are refused with one step altered', async () => {
    const altered = await refusedAlterations(record(seeds[0]), module);
    expect([...altered]).toEqual(Object.keys(processAlterations[module]).map((shows) => [shows, true]));
  });

  it('are not judged with a gap', async () => {
    const events = record(seeds[0]);
    await expect(judgeProcesses(events.slice(1))).rejects.toThrow('has a gap');
  });
});

it('an altered step is refused elsewhere, if nobody waited for the one in the middle', async () => {
  const events = paxosAsProcesses(46);
  const inTheMiddle = processAlterations.Paxos['a flush that nobody told']!(events);
  expect(await judgeProcesses(inTheMiddle)).toMatchObject({ refused: null });
  expect((await refusedAlterations(events, 'Paxos')).get('a flush that nobody told')).toBe(true);
});
