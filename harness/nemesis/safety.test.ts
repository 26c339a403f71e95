import { describe, expect, it } from 'vitest';
import type { ReplicaStatus } from '../../server/src/api/status.ts';
import { isHealed, lossForbidden, nameOf } from './safety.ts';

const loss = (replica: string, incarnation = 1, logIsLost = true) => ({ replica, incarnation, logIsLost });

describe('losing disks', () => {
  it('is allowed for a minority at a time', () => {
    expect(lossForbidden('r1', 3, [])).toBeNull();
    expect(lossForbidden('r2', 3, [loss('r1')])).toContain('r1 and r2 would be without a disk');
    expect(lossForbidden('r2', 5, [loss('r1')])).toBeNull();
    expect(lossForbidden('r3', 5, [loss('r1'), loss('r2')])).toContain('at most 2 of 5');
    expect(lossForbidden('r1', 1, [])).not.toBeNull();
    expect(lossForbidden('r1', 2, [])).not.toBeNull();
  });

  it('is not allowed to a replica that has not come back from the last time', () => {
    expect(lossForbidden('r1', 5, [loss('r1')])).toBe('r1 is not healed yet');
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
