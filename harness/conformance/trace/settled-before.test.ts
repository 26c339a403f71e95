import { expect, it } from 'vitest';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ConsensusEvent } from './read-trace.ts';
import { learnSettled, settledBefore } from './settled-before.ts';
import { newSpecState, replicaOf } from './spec-state.ts';

const [r1, r2] = ['r1', 'r2'] as [ReplicaId, ReplicaId];

function twoReplicas(base: number) {
  const founding = { version: 1, slot: 0, voters: [r1, r2] };
  const state = newSpecState([r1, r2], founding, { chosen: new Map(), voters: new Map() });
  Object.assign(replicaOf(state, r1), { base, role: 'follower' });
  return state;
}

const handedOut = (firstSlot: number, labels: readonly string[]): ConsensusEvent =>
  ({
    name: 'HandleCatchUpReply',
    message: { kind: 'CatchUpReply', firstSlot, labels },
  }) as unknown as ConsensusEvent;

it('what is handed out of slots from before is what those hold who had it', () => {
  const state = twoReplicas(5);
  expect(settledBefore(state)).toBe(5);
  learnSettled(state, handedOut(5, ['a/1', 'a/2']));
  expect([...state.chosen]).toEqual([[5, 'a/1']]);
  expect([...replicaOf(state, r1).durableLog]).toEqual([[5, { ballot: null, label: 'a/1' }]]);
  expect(replicaOf(state, r2).durableLog.size).toBe(0);
});

it('what they hold is settled once, and not at all in a trace that begins with the group', () => {
  const state = twoReplicas(5);
  learnSettled(state, handedOut(5, ['a/1']));
  learnSettled(state, handedOut(5, ['b/9']));
  expect(state.chosen.get(5)).toBe('a/1');
  const founded = twoReplicas(0);
  learnSettled(founded, handedOut(1, ['a/1']));
  expect(founded.chosen.size).toBe(0);
});
