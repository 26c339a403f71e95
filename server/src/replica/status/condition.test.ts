import { expect, it } from 'vitest';
import type { RecoveryProgress } from '../../api/status.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import { conditionOf, type Facts } from './condition.ts';

const [r2, r3] = ['r2', 'r3'] as ReplicaId[];
const copying: RecoveryProgress = {
  phase: 'copying',
  cause: 'databaseLost',
  source: null,
  bytes: 0,
  bytesTotal: null,
  percent: null,
  attempts: 0,
  lastFailure: null,
  sinceMs: 0,
};
const calm: Facts = {
  removed: null,
  divergence: null,
  logTrouble: null,
  databaseTrouble: null,
  damage: null,
  lostMajority: null,
  disbelief: null,
  slowness: null,
  recovery: null,
  databaseUp: true,
  applyStands: null,
  launchStep: null,
  role: 'follower',
  service: 'nowhere',
  leaderServes: false,
  pointer: 0 as Slot,
  commitPoint: 0 as Slot,
};
const messageOf = (recovery: Partial<RecoveryProgress>, databaseTrouble: string | null = null): string => {
  const { state, message } = conditionOf({
    ...calm,
    databaseTrouble,
    recovery: { ...copying, ...recovery },
    databaseUp: false,
  });
  expect(state).toBe('restoring');
  return message ?? '';
};

it('a replica that starts says what it is doing, and of its first moment nothing', () => {
  const starting = { ...calm, databaseUp: false };
  expect(conditionOf(starting)).toEqual({ state: 'starting', message: null });
  expect(conditionOf({ ...starting, launchStep: 'creating' })).toEqual({
    state: 'starting',
    message: 'A new database is being created.',
  });
});

it('a replica whose group has lost its majority says so, though its database waits for that', () => {
  const waiting: Facts = { ...calm, databaseUp: false, launchStep: 'judging' };
  expect(conditionOf({ ...waiting, lostMajority: 'Two of three are lost.' })).toEqual({
    state: 'noLeader',
    message: 'Two of three are lost.',
  });
  expect(conditionOf(calm)).toEqual({ state: 'noLeader', message: null });
});

it('a leader that does not believe a member serves, and says whom it does not hear', () => {
  const leading: Facts = { ...calm, role: 'leader', service: 'here' };
  expect(conditionOf(leading)).toEqual({ state: 'serving', message: null });
  expect(conditionOf({ ...leading, disbelief: 'r2 says what cannot be.' })).toEqual({
    state: 'serving',
    message: 'r2 says what cannot be.',
  });
});

it('a follower serves while its leader does', () => {
  const following: Facts = { ...calm, service: 'at' };
  expect(conditionOf({ ...following, leaderServes: true })).toEqual({ state: 'serving', message: null });
  expect(conditionOf(following)).toEqual({
    state: 'recovering',
    message: 'The leader does not serve clients yet.',
  });
});

it('a replica whose copy failed says why, and whose it was', () => {
  const lastFailure = { reason: 'there is no space for the copy', source: r2!, agoMs: 1000 };
  expect(messageOf({ lastFailure })).toBe(
    'The database must be copied from another replica. The last attempt failed, with r2: there is no space for the copy.',
  );
  expect(messageOf({ lastFailure, source: r3!, attempts: 2 })).toBe(
    'The database is being copied from r3, attempt 2. The last attempt failed, with r2: there is no space for the copy.',
  );
});

it('a replica says what the trouble is once', () => {
  const reason = 'PostgreSQL could not be started: a page is damaged.';
  expect(messageOf({ lastFailure: { reason, source: null, agoMs: 0 } }, reason)).toBe(
    `The database must be copied from another replica (${reason}).`,
  );
  expect(messageOf({ phase: 'starting', source: r2!, lastFailure: { reason, source: null, agoMs: 0 } })).toBe(
    "PostgreSQL starts on a copy of another replica's data. The last attempt failed: PostgreSQL could not be started: a page is damaged.",
  );
  expect(messageOf({})).toBe('The database must be copied from another replica.');
  expect(messageOf({ source: r2!, percent: 99 })).toBe('The database is being copied from r2.');
  expect(messageOf({ source: r2!, percent: 100 })).toBe(
    "A copy of r2's database is here, and is being made durable.",
  );
});
