import { describe, expect, it } from 'vitest';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import { isHealed, lossForbidden, nameOf, wholeDatabases } from './safety.ts';

const loss = (replica: string, incarnation = 1, logIsLost = true) => ({ replica, incarnation, logIsLost });

const all = ['r1', 'r2', 'r3', 'r4', 'r5'];

describe('losing disks', () => {
  it('is allowed for a minority at a time', () => {
    expect(lossForbidden('r1', 3, [], all)).toBeNull();
    expect(lossForbidden('r2', 3, [loss('r1')], all)).toContain('r1 and r2 would be without a disk');
    expect(lossForbidden('r2', 5, [loss('r1')], all)).toBeNull();
    expect(lossForbidden('r3', 5, [loss('r1'), loss('r2')], all)).toContain('at most 2 of 5');
    expect(lossForbidden('r1', 1, [], all)).not.toBeNull();
    expect(lossForbidden('r1', 2, [], all)).not.toBeNull();
  });

  it('is not allowed to a replica that has not come back from the last time', () => {
    expect(lossForbidden('r1', 5, [loss('r1')], all)).toBe('r1 is not healed yet');
  });

  it('leaves somebody a whole database', () => {
    expect(lossForbidden('r1', 5, [], ['r1'])).toContain('nobody but r1');
    expect(lossForbidden('r1', 5, [loss('r2')], ['r1', 'r2'])).toContain('nobody but r1');
    expect(lossForbidden('r1', 5, [loss('r2')], ['r1', 'r2', 'r4'])).toBeNull();
    expect(lossForbidden('r1', 5, [], ['r4'])).toBeNull();
  });
});

describe('a whole database', () => {
  const at = (id: string, round: number, change: Partial<ReplicaStatus> = {}): ReplicaStatus =>
    status({ id: id as ReplicaId, ballot: { round, replica: 'r1' as ReplicaId }, ...change });

  it('is one that serves, and that is not about to be rewound', () => {
    const deposed = at('r1', 4);
    const copied = at('r2.2', 5, { recovery: { phase: 'copying' } as ReplicaStatus['recovery'] });
    const starts = at('r3', 5, { state: 'recovering' });
    expect(wholeDatabases([deposed, copied, starts, at('r4.3', 5)])).toEqual(['r4']);
    expect(wholeDatabases([])).toEqual([]);
  });
});

function status(change: Partial<ReplicaStatus>, role: 'voter' | 'learner' = 'voter'): ReplicaStatus {
  const members = [{ replica: 'r1.2', incarnation: 2, role }];
  return {
    state: 'serving',
    recovery: null,
    incarnation: 2,
    membership: { version: 3, members },
    ...change,
  } as ReplicaStatus;
}

describe('a lost disk is healed', () => {
  it('when the replica serves and votes as another incarnation', () => {
    expect(isHealed(loss('r1', 1), status({}))).toBe(true);
  });

  it('not before', () => {
    expect(isHealed(loss('r1', 1), null)).toBe(false);
    expect(isHealed(loss('r1', 1), status({ state: 'recovering' }))).toBe(false);
    expect(isHealed(loss('r1', 1), status({}, 'learner'))).toBe(false);
    expect(isHealed(loss('r1', 2), status({}))).toBe(false);
  });

  it('in the same incarnation if the log was kept', () => {
    expect(isHealed(loss('r1', 2, false), status({}))).toBe(true);
  });
});

it('an incarnation belongs to its replica', () => {
  expect(['r1', 'r1.2', 'r1.10'].map(nameOf)).toEqual(['r1', 'r1', 'r1']);
});
