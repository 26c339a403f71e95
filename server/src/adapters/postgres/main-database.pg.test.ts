/** The database that Barista's own sessions are in may be taken away by a superuser. */
import { dirname } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { foundDatabase, logOf, resumePrimary } from '../../ports/testing/test-primary.ts';
import { BarrierSessions } from './barrier-sessions.ts';
import { digestOf } from './digest/testing/digests.ts';
import { sqlStateOf } from './database-error.ts';
import { FileLook } from './file-look.ts';
import { connectPg } from './pg-client.ts';
import { openRealFixture, type RealFixture } from './testing/real-fixture.ts';
import { testBinaries } from './testing/test-instance.ts';

let fixture: RealFixture;
beforeEach(async () => {
  fixture = await openRealFixture(await testBinaries());
  await resumePrimary(fixture, logOf(await foundDatabase(fixture)));
});
afterEach(async () => {
  await fixture.dispose();
});

it.each([
  ['dropped', 'DROP DATABASE postgres (FORCE)'],
  ['renamed', 'ALTER DATABASE postgres RENAME TO other'],
  ['shut', 'ALTER DATABASE postgres ALLOW_CONNECTIONS false'],
])('without the database postgres, which was %s, another one serves', async (_, statement) => {
  const { dataDir, socketDir, version } = fixture.server.instance;
  const superuser = await connectPg({ socketDir, database: 'template1', silentMsMax: 60_000 });
  // No standby is here to wait for.
  await superuser.query('SET synchronous_commit = local');
  // The replica's own sessions begin anew a second later, and PostgreSQL waits for 5 s until nobody is left in it.
  const isInUse = '55006';
  let code: string | null | undefined = isInUse;
  while (code === isInUse) {
    await superuser.query(
      "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname = 'postgres'",
    );
    code = await superuser.query(statement).then(
      () => 'done',
      (error: unknown) => sqlStateOf(error),
    );
  }
  expect(code).toBe('done');
  await superuser.end();
  const own = await connectPg({ socketDir, database: 'postgres', silentMsMax: 10_000 });
  expect((await own.query('SELECT current_database() AS name')).rows).toEqual([{ name: 'template1' }]);
  await own.end();
  const barriers = new BarrierSessions(socketDir, 10_000);
  await barriers.warmUp();
  expect(await barriers.begin()).toBeGreaterThan(0n);
  expect(await new FileLook({ directory: dirname(dataDir), dataDir, socketDir }).look()).toEqual({
    code: 'whole',
  });
  expect((await digestOf({ socketDir }, version)).objects.length).toBeGreaterThan(50);
});
