import { expect, it } from 'vitest';
import { createMetrics } from './metrics.ts';
import { fakeReplica } from './testing/fake-replica.ts';

it('of the event loop only what needs no timer is told', async () => {
  const replica = fakeReplica('r1');
  const text = await createMetrics(() => replica.status()).text();
  const told = [...text.matchAll(/^(nodejs_eventloop_lag_\w+) /gm)].map(([, name]) => name);
  expect(told).toEqual(['nodejs_eventloop_lag_seconds']);
});

it('the age of the newest backup is nothing without a schedule, and without end if there is none', async () => {
  const replica = fakeReplica('r1');
  const metrics = createMetrics(() => replica.status());
  const told = async (name: string): Promise<number> => {
    const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(await metrics.text())?.[1] ?? '';
    return value === '+Inf'
      ? Number.POSITIVE_INFINITY
      : Number(value.toUpperCase() === 'NAN' ? Number.NaN : value);
  };
  expect(await told('barista_backup_age_seconds')).toBeNaN();
  const backup = {
    directory: '/b',
    kept: 0,
    newest: null,
    ageMs: null,
    dueAt: '2026-05-04T10:30:00.000Z',
    running: null,
    problem: null,
    test: null,
  };
  replica.change({ backup });
  expect(await told('barista_backup_age_seconds')).toBe(Number.POSITIVE_INFINITY);
  expect(await told('barista_backup_failed')).toBe(0);
  const test = { name: 'a', ok: false, at: '2026-05-04T10:30:00.000Z', message: 'damaged' };
  replica.change({ backup: { ...backup, kept: 2, ageMs: 90_000, problem: 'no space', test } });
  expect(await told('barista_backup_age_seconds')).toBe(90);
  expect(await told('barista_backups_kept')).toBe(2);
  expect(await told('barista_backup_failed')).toBe(1);
  expect(await told('barista_restore_test_failed')).toBe(1);
  expect(await told('barista_archive_failed')).toBe(0);
});
