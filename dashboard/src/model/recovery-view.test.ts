import { describe, expect, test } from 'vitest';
import type { RecoveryProgress } from '../../../server/src/api/status.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { recoveryView } from './recovery-view.ts';
import { membershipOf, status } from './testing.ts';

const progress = (changes: Partial<RecoveryProgress>): RecoveryProgress => ({
  phase: 'copying',
  cause: 'bothLost',
  source: 'r3' as ReplicaId,
  bytes: 0,
  bytesTotal: null,
  percent: null,
  attempts: 1,
  lastFailure: null,
  sinceMs: 0,
  ...changes,
});
const learner = membershipOf({ r1: 'voter', r2: 'learner', r3: 'voter' }, { r2: 2 });
const view = (recovery: RecoveryProgress | null, changes: Parameters<typeof status>[1] = {}) =>
  recoveryView(status('r2', { recovery, ...changes }));
const steps = (recovery: RecoveryProgress | null, changes: Parameters<typeof status>[1] = {}) =>
  view(recovery, changes)?.steps.map(({ name, state }) => `${name} ${state}`);
const MB = 1024 * 1024;

describe('a recovery', () => {
  test('is none while nothing is recovered, nor for a learner that does not serve yet for another reason', () => {
    expect(view(null)).toBe(null);
    expect(view(null, { membership: learner, incarnation: 2, state: 'noLeader' })).toBe(null);
  });

  test('of a lost disk goes through all steps, the vote last', () => {
    expect(steps(progress({ phase: 'joining', source: null }))).toEqual([
      'joining now',
      'copying todo',
      'starting todo',
      'catchingUp todo',
      'voting todo',
    ]);
    expect(steps(progress({ phase: 'starting' }), { membership: learner, incarnation: 2 })).toEqual([
      'joining done',
      'copying done',
      'starting now',
      'catchingUp todo',
      'voting todo',
    ]);
  });

  test('whose copy has arrived says that it is being made durable', () => {
    expect(view(progress({ bytes: 40 * MB, bytesTotal: 60 * MB, percent: 99 }))?.detail).toBe(
      '5,120 of 7,680 blocks compared with r3',
    );
    expect(view(progress({ bytes: 61 * MB, bytesTotal: 60 * MB, percent: 100 }))?.detail).toBe(
      'all blocks from r3: being made durable',
    );
  });

  test('of a lost log copies nothing, and one of a lost database joins nothing', () => {
    expect(steps(progress({ phase: 'catchingUp', cause: 'logLost' }))).toEqual([
      'joining done',
      'catchingUp now',
      'voting todo',
    ]);
    expect(steps(progress({ phase: 'copying', cause: 'databaseLost' }))).toEqual([
      'copying now',
      'starting todo',
      'catchingUp todo',
    ]);
    expect(steps(progress({ phase: 'copying', cause: 'logPurged' }))?.[0]).toBe('copying now');
  });

  test('of a new replica shows a copy only if there is one', () => {
    const now = (attempts: number) => steps(progress({ phase: 'catchingUp', cause: 'new', attempts }));
    expect(now(0)).toEqual(['joining done', 'catchingUp now', 'voting todo']);
    expect(now(1)?.[1]).toBe('copying done');
  });

  test('of a replica that cannot tell yet whether it is new shows all that may come', () => {
    expect(steps(progress({ phase: 'joining', cause: 'noLog', attempts: 0 }))?.length).toBe(5);
  });

  test('is not over before the replica votes again', () => {
    const waiting = view(null, { membership: learner, incarnation: 2 });
    expect(waiting?.step).toBe('voting');
    expect(waiting?.steps.at(-1)).toMatchObject({ name: 'voting', state: 'now' });
  });

  test('tells why the last attempt failed until a copy is in place', () => {
    const failure = (phase: RecoveryProgress['phase'], source: ReplicaId | null, agoMs: number) =>
      view(progress({ phase, lastFailure: { reason: 'there is no space for the copy', source, agoMs } }))
        ?.failure;
    expect(failure('copying', 'r3' as ReplicaId, 12_300)).toBe(
      'The last attempt failed 12 s ago, with r3: there is no space for the copy',
    );
    expect(failure('starting', null, 130_000)).toBe(
      'The last attempt failed 2 min ago: there is no space for the copy',
    );
    expect(failure('catchingUp', null, 0)).toBe(null);
    expect(view(progress({}))?.failure).toBe(null);
  });

  test('tells blocks compared and sent, and with whom, the total only while it is one', () => {
    const detail = (changes: Partial<RecoveryProgress>) => view(progress(changes))?.detail;
    expect(detail({ bytes: 12 * MB, bytesTotal: 30 * MB, percent: 40 })).toBe(
      '1,536 of 3,840 blocks compared with r3',
    );
    expect(detail({ bytes: 12 * MB, bytesReceived: MB, percent: 40 })).toBe(
      '1,536 blocks compared with r3, 1.0 MB sent',
    );
    expect(detail({ bytes: 31 * MB, bytesTotal: 30 * MB, percent: 99 })).toBe(
      '3,968 blocks compared with r3',
    );
    expect(detail({ bytes: 5 * MB, attempts: 2 })).toBe('640 blocks compared with r3, attempt 2');
    expect(detail({ source: null })).toBe('looking for a source');
    expect(detail({ phase: 'catchingUp', percent: 43 })).toBe('43%');
    expect(view(progress({ bytes: 12 * MB, percent: 40 }))?.steps[1]?.filled).toBe(0.4);
  });
});
