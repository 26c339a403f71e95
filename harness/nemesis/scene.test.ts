import { describe, expect, it } from 'vitest';
import type { ClusterReplica, ReplicaStatus } from '../../server/src/api/status.ts';
import { takeLoss, takeTarget } from './scene.ts';
import type { PlannedFault, Wish } from './schedule.ts';

const ids = ['r1', 'r2', 'r3'];
const planned = (number: number, wish: Wish = 'anyone', choice = 0): PlannedFault => ({
  number,
  kind: 'wipeBoth',
  atMs: 0,
  durationMs: 1,
  wish,
  choice,
});
const members = ids.map((replica) => ({ replica, incarnation: 1, role: 'voter' }));
const replica = (id: string, change: Partial<ReplicaStatus> = {}): ClusterReplica =>
  ({
    id,
    process: 'running',
    ageMs: 10,
    status: {
      id,
      role: id === 'r1' ? 'leader' : 'follower',
      ballot: { round: 3, replica: 'r1' },
      state: 'serving',
      incarnation: 1,
      recovery: null,
      membership: { version: 1, members },
      ...change,
    } as ReplicaStatus,
  }) as ClusterReplica;
const replicas = ids.map((id) => replica(id));
const scene = () => ({ ids, claims: new Map<string, number>(), losses: new Map() });
const all = () => true;

describe('choosing whom to strike', () => {
  it('follows the wish if it can be had', () => {
    expect(takeTarget(scene(), planned(1, 'leader', 0.9), replicas, all).id).toBe('r1');
    expect(takeTarget(scene(), planned(1, 'follower', 0.9), replicas, all).id).toBe('r3');
    expect(takeTarget(scene(), planned(1, 'leader', 0.9), replicas.slice(1), all).id).toBe('r3');
  });

  it('strikes no replica twice at a time, and none that is down', () => {
    const one = scene();
    expect(takeTarget(one, planned(1), replicas, all).id).toBe('r1');
    expect(takeTarget(one, planned(2), replicas, all).id).toBe('r2');
    const down = { ...replicas[2]!, process: 'stopped' as const };
    expect(() => takeTarget(one, planned(3), [replicas[0]!, replicas[1]!, down], all)).toThrow(
      'no replica is free',
    );
  });
});

describe('losing disks', () => {
  it('one fault at a time of three replicas, however close together they come', () => {
    const one = scene();
    takeLoss(one, planned(1), replicas, true);
    expect(() => takeLoss(one, planned(2), replicas, false)).toThrow('at most 1 of 3 may');
    one.claims.clear();
    expect(() => takeLoss(one, planned(2, 'leader'), replicas, false)).toThrow('r1 is not healed yet');
    expect(one.losses.size).toBe(1);
  });

  it('not while a member does not vote', () => {
    const learning = ids.map((id, index) => ({
      replica: id,
      incarnation: 1,
      role: index < 2 ? 'voter' : 'learner',
    }));
    const membership = { version: 2, members: learning } as unknown as ReplicaStatus['membership'];
    const seen = ids.map((id) => replica(id, { membership }));
    expect(() => takeLoss(scene(), planned(1), seen, true)).toThrow('no replica is free');
  });
});
