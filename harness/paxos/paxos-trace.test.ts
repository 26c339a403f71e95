/** What simulated groups record is a behaviour of specs/Paxos.tla; what mutants record, or was altered, is not. */
import { describe, expect, it } from 'vitest';
import { paxosMutants } from './paxos-mutants.ts';
import { runPaxos } from './paxos-simulation.ts';
import { judgePaxosTrace } from './paxos-trace.ts';
import type { ReplicaEvent } from './simulated-replica.ts';

const REPLICAS = 3;

function record(seed: number, mutant?: (typeof paxosMutants)[number]): readonly ReplicaEvent[] {
  const world = { replicas: REPLICAS, faultsMs: 400, healMs: 200, proposals: 14, traces: true };
  const options = { ...world, seed, loses: seed % 2 === 1, isUnsteady: seed % 4 === 2 };
  return runPaxos(mutant === undefined ? options : { ...options, mutant }).events;
}

describe('recorded runs of single-decree Paxos', () => {
  it('are behaviours of the specification, and take all of its actions', async () => {
    const taken = new Set<string>();
    for (let seed = 1; seed <= 12; seed += 1) {
      const events = record(seed);
      for (const { event } of events) taken.add(event.name);
      expect(await judgePaxosTrace(events, REPLICAS), `seed ${seed}`).toMatchObject({ refused: null });
    }
    expect(taken.size).toBe(17);
  });

  const refused = [
    'promises are forgotten at a restart',
    'votes are forgotten at a restart',
    'an acceptor votes below its promise',
    'a proposer proposes its own in spite of votes',
    'one replica is a quorum',
    'any vote is taken for what is chosen',
    'what a replica has done itself it forgets',
    'a proposal moves when it is rejected',
    'its own promise is not written',
    'the commit point is written ahead',
  ];

  it.each(refused)('are refused where %s', async (name) => {
    const mutant = paxosMutants.find((each) => each.name === name)!;
    const verdicts: boolean[] = [];
    for (let seed = 1; seed <= 6 && !verdicts.includes(true); seed += 1)
      verdicts.push((await judgePaxosTrace(record(seed, mutant), REPLICAS)).refused !== null);
    expect(verdicts).toContain(true);
  });

  it('are refused where a step is missing, or anything of what a replica knew is something else', async () => {
    const events = record(4);
    const place = events.findIndex(({ event }, i) => i > 40 && event.name === 'HandleAccept');
    const { replica, event } = events[place]!;
    const state = event.state!;
    const [first, ...others] = state.slots.filter(({ label }) => label !== null);
    const withState = (changed: Partial<NonNullable<typeof event.state>>): ReplicaEvent[] => [
      { replica, event: { ...event, state: { ...state, ...changed } } },
    ];
    const withSlot = (changed: Partial<NonNullable<typeof first>>): ReplicaEvent[] =>
      withState({ slots: [{ ...first!, ...changed }, ...others] });
    const alterations: readonly (readonly ReplicaEvent[])[] = [
      [],
      [events[place]!, events[place]!],
      withState({ commitPoint: (state.commitPoint + 1) as typeof state.commitPoint }),
      withState({ purgedTo: (state.purgedTo + 1) as typeof state.purgedTo }),
      withState({ slots: [] }),
      withSlot({ promised: { ...first!.promised!, round: 77 } }),
      withSlot({ ballot: { round: 77, replica } }),
      withSlot({ label: 'noop' }),
      withSlot({ decided: !first!.decided }),
      withSlot({ own: 'noop' }),
      withSlot({ phase: first!.phase === 'accept' ? 'none' : 'accept' }),
    ];
    expect((await judgePaxosTrace(events, REPLICAS)).refused).toBeNull();
    for (const altered of alterations) {
      const all = [...events.slice(0, place), ...altered, ...events.slice(place + 1)];
      expect(
        (await judgePaxosTrace(all, REPLICAS)).refused,
        `with ${JSON.stringify(altered)}`,
      ).not.toBeNull();
    }
  });
});
