import { expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { createSources } from './sources.ts';

const named = (text: string): ReplicaId[] => text.split(' ') as ReplicaId[];

function setUp(connected: string) {
  const time = new SimulatedTime();
  const world: { leader: ReplicaId | null } = { leader: 'r2.1' as ReplicaId };
  const sources = createSources({
    transport: { connected: () => named(connected) },
    membership: {
      others: () => named('r2 r3 r4'),
      joined: () => ({ all: named('r1 r2 r3'), voters: named('r1 r2 r3') }),
    },
    leader: () => world.leader,
    nowMs: () => time.nowMs(),
    leaderWaitMs: 100,
  });
  return { time, world, sources };
}

it('nobody is asked who is no member of the group any more', () => {
  const { sources } = setUp('r2 r3 r7');
  expect(sources({})).toEqual(named('r3 r2'));
});

it('voters that are not the leader are asked before it, and all of them before a learner', () => {
  const { sources } = setUp('r4 r2 r3');
  expect(sources({})).toEqual(named('r3 r2 r4'));
});

it('nobody is asked before it is known who leads, or that nobody tells', async () => {
  const { sources, time, world } = setUp('r2 r3');
  world.leader = null;
  expect(sources({})).toEqual([]);
  await time.pass(100);
  expect(sources({})).toEqual(named('r2 r3'));
});
