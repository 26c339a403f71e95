import { expect, it } from 'vitest';
import { damageIn } from './database-error.ts';
import { failureOf, observeStart, ReplayFailures } from './start-failure.ts';

const at = '2026-11-20 19:18:21.501 UTC';

function verdict(...lines: readonly string[]): ReturnType<ReturnType<typeof observeStart>['verdict']> {
  const observer = observeStart();
  // As pipes do: cut anywhere.
  for (const piece of `${lines.join('\n')}\n`.match(/[^]{1,37}/g) ?? []) observer.add(piece);
  return observer.verdict();
}

it('damaged files are told from a full disk, from want of memory, and from settings', () => {
  const lost = (reason: string): unknown => ({ code: 'databaseLost', reason });
  const full = (reason: string): unknown => ({ code: 'databaseFull', reason });
  const refused = (reason: string): unknown => ({ code: 'launchRefused', reason });
  const other = { code: 'launchFailed', reason: '' };
  expect(verdict(`${at} [9] XX000 PANIC:  could not locate a valid checkpoint record at 0/174B310`)).toEqual(
    lost('could not locate a valid checkpoint record at 0/174B310'),
  );
  expect(
    verdict(`${at} [9] 58P01 FATAL:  could not open file "pg_xact/0000": No such file or directory`),
  ).toEqual(lost('could not open file "pg_xact/0000": No such file or directory'));
  expect(
    verdict(`${at} [9] 58P01 FATAL:  could not access file "nonsense": No such file or directory`),
  ).toEqual(refused('could not access file "nonsense": No such file or directory'));
  expect(verdict(`${at} [9] 42501 FATAL:  could not open file "base/1/1259": Permission denied`)).toEqual(
    refused('could not open file "base/1/1259": Permission denied'),
  );
  expect(verdict(`${at} [9] 22023 FATAL:  invalid value for parameter "shared_buffers": "nonsense"`)).toEqual(
    refused('invalid value for parameter "shared_buffers": "nonsense"'),
  );
  expect(
    verdict(`${at} [9] 53200 FATAL:  could not map anonymous shared memory: Cannot allocate memory`),
  ).toEqual(full('could not map anonymous shared memory: Cannot allocate memory'));
  expect(
    verdict(
      `${at} [9] 53100 PANIC:  could not write to file "pg_wal/xlogtemp.9": No space left on device`,
      `${at} [7] 00000 LOG:  startup process (PID 9) was terminated by signal 6: Aborted`,
    ),
  ).toEqual(full('could not write to file "pg_wal/xlogtemp.9": No space left on device'));
  expect(
    verdict(`${at} [7] 00000 LOG:  startup process (PID 9) was terminated by signal 11: Segmentation fault`),
  ).toEqual(lost('startup process (PID 9) was terminated by signal 11: Segmentation fault'));
  // The system's, for want of memory.
  expect(verdict(`${at} [7] 00000 LOG:  startup process (PID 9) was terminated by signal 9: Killed`)).toEqual(
    other,
  );
});

it('a tablespace whose directory is not on this machine is no damage, at a standby that replays or at a start', () => {
  const missing = 'directory "/srv/ts" does not exist';
  const refused = {
    code: 'launchRefused',
    reason: `${missing}: make it on this machine, too, for the tablespace`,
  };
  const said = `${at} [9] 58P01 FATAL:  ${missing}`;
  expect(verdict(said)).toEqual(refused);
  expect(verdict(`${at} [9] 00000 LOG:  entering standby mode`, said)).toEqual(refused);
});

it('a standby that replays is ended by what the process that replays meets, and by nothing else', () => {
  const other = { code: 'launchFailed', reason: '' };
  const standby = `${at} [9] 00000 LOG:  entering standby mode`;
  const page = 'invalid page in block 0 of relation "base/5/16384"';
  expect(verdict(standby, `${at} [9] XX001 FATAL:  ${page}`)).toEqual({ code: 'databaseLost', reason: page });
  // One that receives WAL, or a session.
  expect(verdict(standby, `${at} [12] XX001 FATAL:  ${page}`)).toEqual(other);
  expect(verdict(standby, `${at} [12] XX001 postgres@postgres FATAL:  ${page}`)).toEqual(other);
  expect(
    verdict(
      standby,
      `${at} [12] 53100 FATAL:  could not write to file "pg_wal/x"`,
      `${at} [9] XX001 FATAL:  ${page}`,
    ).code,
  ).toBe('databaseLost');
});

it('a standby whose replay ends for the same reason again and again is lost, whatever the reason is', () => {
  const standby = `${at} [9] 00000 LOG:  entering standby mode`;
  const because = (message: string, sqlState = 'XX000'): ReturnType<typeof verdict> =>
    verdict(standby, `${at} [9] ${sqlState} FATAL:  ${message}`);
  const failures = new ReplayFailures();
  const codes = (...all: readonly ReturnType<typeof verdict>[]): string[] =>
    all.map((one) => failures.judge(one).code);
  const strange = because('something unheard of');
  expect(codes(strange, strange)).toEqual(['launchFailed', 'launchFailed']);
  expect(failures.judge(strange)).toEqual({
    code: 'databaseLost',
    reason: 'something unheard of (3 times in a row)',
  });
  // The copy in their place has its own three attempts.
  expect(codes(strange, strange, strange)).toEqual(['launchFailed', 'launchFailed', 'databaseLost']);
  const killed = verdict(standby);
  expect(codes(killed, strange, strange, killed, strange, because('something else'), strange)).not.toContain(
    'databaseLost',
  );
  for (const [message, sqlState] of [
    ['terminating process due to administrator command', '57P01'],
    ['recovery aborted because of insufficient parameter settings', '22023'],
  ] as const) {
    const one = because(message, sqlState);
    expect(codes(one, one, one, one)).not.toContain('databaseLost');
  }
  const full = because('could not extend file "base/5/1"', '53100');
  expect(codes(full, full, full)).toEqual(['databaseFull', 'databaseFull', 'databaseFull']);
  // One of these is enough.
  expect(because("requested timeline 3 is not a child of this server's history").code).toBe('databaseLost');
});

it('no client can have a start taken for damage', () => {
  const other = { code: 'launchFailed', reason: '' };
  expect(verdict(`${at} [9] XX001 app@barista FATAL:  invalid page in block 0`)).toEqual(other);
  expect(
    verdict(`${at} [9] P0001 app@barista ERROR:  hello`, `\t${at} [9] XX001 FATAL:  invalid page in block 0`),
  ).toEqual(other);
});

/** As `pg` throws what PostgreSQL reports. */
function reported(code: string, message: string, file: string): Error {
  return Object.assign(new Error(message), { severity: 'ERROR', code, file });
}

it('what a client raises with the SQLSTATE of damage is a refusal, what PostgreSQL finds is damage', () => {
  const page = 'invalid page in block 3 of relation "base/16384/16500"';
  expect(damageIn(reported('XX001', page, 'bufmgr.c'))).toContain(page);
  expect(damageIn(reported('XX002', 'right sibling', 'nbtsearch.c'))).not.toBeNull();
  expect(damageIn(reported('XX001', page, 'pl_exec.c'))).toBeNull();
  expect(
    damageIn(reported('58P01', 'could not open file "base/16384/16500": No such file', 'md.c')),
  ).not.toBeNull();
  expect(damageIn(reported('58P01', 'could not open file "/etc/x": No such file', 'copyfrom.c'))).toBeNull();
  expect(damageIn(reported('53100', 'could not extend file', 'md.c'))).toBeNull();
  expect(failureOf(reported('XX001', page, 'bufmgr.c')).code).toBe('databaseLost');
  expect(failureOf(new Error('connect ENOENT')).code).toBe('launchFailed');
  const named = 'database "could not access status of transaction" does not exist';
  expect(failureOf(reported('3D000', named, 'postinit.c')).code).toBe('launchFailed');
});
