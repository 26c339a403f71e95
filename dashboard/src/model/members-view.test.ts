import { describe, expect, test } from 'vitest';
import { memberRole, newestMembership, outsidersOf, quorumOf, wipeLosesQuorum } from './members-view.ts';
import { clusterOf, membershipOf, other, replica, status } from './testing.ts';
import { emptyTrace, foldEvents } from './trace-model.ts';

const voters = { r1: 'voter', r2: 'voter', r3: 'voter' } as const;

describe('the members', () => {
  test('are those of the newest configuration that any replica knows', () => {
    const older = membershipOf(voters, {}, 3);
    const newer = membershipOf({ ...voters, r3: 'learner' }, { r3: 2 }, 4);
    const none = { version: 0, members: [] };
    const cluster = clusterOf(
      replica('r1', { membership: older }),
      replica('r2', { membership: newer }),
      replica('r3', { membership: none }),
    );
    expect(newestMembership(cluster)).toBe(newer);
    expect(newestMembership(clusterOf(replica('r1', { membership: none })))).toBe(null);
  });

  test('an incarnation that has been replaced is none of them', () => {
    const membership = membershipOf({ ...voters, r3: 'learner' }, { r3: 2 });
    expect(memberRole(status('r3', { membership, incarnation: 2 }))).toBe('learner');
    expect(memberRole(status('r3', { membership, incarnation: 1 }))).toBe(null);
    expect(memberRole(status('r9', { membership }))).toBe(null);
  });
});

test('a replica that runs and is not among the newest members is told apart, until nobody knows them', () => {
  const without = membershipOf({ r1: 'voter', r3: 'voter' }, {}, 4);
  const told = replica('r1', { membership: without });
  const removed = replica('r2', { membership: membershipOf(voters, {}, 3) });
  expect(outsidersOf(clusterOf(told, removed, replica('r3', { membership: without })))).toEqual(['r2']);
  expect(outsidersOf(clusterOf(removed))).toEqual([]);
  expect(outsidersOf(clusterOf(replica('r2', { membership: { version: 0, members: [] } })))).toEqual([]);
});

describe('a quorum', () => {
  test('is a majority of the voters, up or not', () => {
    const cluster = clusterOf(
      replica('r1'),
      replica('r2', {}, { process: 'stopped' }),
      replica('r3', {}, { process: 'paused' }),
    );
    expect(quorumOf(cluster)).toEqual({ up: 1, voters: 3, votersUp: 1, needed: 2 });
  });

  test('does not count learners, nor a voter whose log is gone', () => {
    const membership = membershipOf({ r1: 'voter', r2: 'voter', r3: 'learner' }, {}, 2);
    const cluster = clusterOf(
      replica('r1', { membership }),
      replica('r2', { membership, state: 'joining', incarnation: 0 }),
      replica('r3', { membership }),
    );
    expect(quorumOf(cluster)).toEqual({ up: 3, voters: 2, votersUp: 1, needed: 2 });
  });

  test('is lost by wiping a log when too few other voters are left', () => {
    const all = clusterOf(replica('r1'), replica('r2'), replica('r3'));
    expect(wipeLosesQuorum(all, 'r1')).toBe(false);
    const one = clusterOf(replica('r1'), replica('r2', { state: 'joining' }), replica('r3'));
    expect(wipeLosesQuorum(one, 'r1')).toBe(true);
    expect(wipeLosesQuorum(one, 'r2')).toBe(false);
    const membership = membershipOf({ r1: 'voter', r2: 'voter', r3: 'learner' });
    const learner = clusterOf(
      replica('r1', { membership }),
      replica('r2', { membership }),
      replica('r3', { membership }),
    );
    expect(wipeLosesQuorum(learner, 'r3')).toBe(false);
    expect(wipeLosesQuorum(learner, 'r1')).toBe(true);
  });
});

test('the last comparison is the one that was told of last', () => {
  const done = (seq: number, slot: number) =>
    other({ seq }, { layer: 'operation', name: 'VerifyDone', result: { slot, replicas: [] } });
  const between = other({ seq: 3 }, { layer: 'operation', name: 'LogResumed', reason: '' });
  expect(foldEvents(emptyTrace, [done(1, 10), done(2, 20), between]).verify?.slot).toBe(20);
  expect(foldEvents(emptyTrace, [between]).verify).toBe(null);
});
