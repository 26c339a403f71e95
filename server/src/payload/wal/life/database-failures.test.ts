import { describe, expect, it } from 'vitest';
import { DatabaseFailures } from './database-failures.ts';

const failure = (code: string | null, message = 'it does not start'): Error =>
  Object.assign(new Error(message), code === null ? {} : { code });

describe('attempts to bring up a database that fail', () => {
  it('are damage at the third in a row, which is only presumed', () => {
    const failures = new DatabaseFailures();
    expect([failures.failed(failure('launchFailed')), failures.failed(failure(null))]).toEqual([null, null]);
    expect(failures.failed(failure('ENOENT', 'no such file'))).toEqual({
      cause: 'databaseLost',
      isPresumed: true,
      reason: '3 attempts in a row to bring up the database have failed: no such file',
    });
  });

  it('are damage at once where PostgreSQL says so', () => {
    expect(new DatabaseFailures().failed(failure('databaseLost', 'zeros'))).toEqual({
      cause: 'databaseLost',
      reason: 'zeros',
    });
  });

  it('are none after a query was answered', () => {
    const failures = new DatabaseFailures();
    failures.failed(failure('launchFailed'));
    failures.failed(failure('launchFailed'));
    failures.answered();
    expect(failures.failed(failure('launchFailed'))).toBeNull();
  });

  it.each(['databaseFull', 'launchRefused', 'EMFILE', 'ENOSPC'])(
    'are never damage, however many: %s',
    (code) => {
      const failures = new DatabaseFailures();
      for (let times = 0; times < 10; times += 1) expect(failures.failed(failure(code))).toBeNull();
    },
  );

  it('have copies made ever more seldom, until one answers a query', () => {
    const failures = new DatabaseFailures();
    expect([failures.copyPauseMs(0), failures.vain]).toEqual([0, null]);
    failures.copied(1000);
    expect([failures.copyPauseMs(1000), failures.copyPauseMs(31_000)]).toEqual([30_000, 0]);
    failures.copied(31_000);
    expect(failures.copyPauseMs(31_000)).toBe(60_000);
    expect(failures.vain).toBe("2 copies of another replica's database did not help");
    for (let times = 0; times < 100; times += 1) failures.copied(0);
    expect(failures.copyPauseMs(0)).toBe(30 * 60_000);
    failures.answered();
    expect([failures.copyPauseMs(0), failures.vain]).toEqual([0, null]);
  });
});
