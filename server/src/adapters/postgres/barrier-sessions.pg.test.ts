/** The sessions of a primary's barriers, in a real PostgreSQL. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { startTestPostgres, type TestPostgres } from '../../gateways/pgwire/testing/postgres.ts';
import { BarrierSessions } from './barrier-sessions.ts';

let pg: TestPostgres;

beforeAll(async () => {
  pg = await startTestPostgres();
});
afterAll(() => pg.stop());

async function sessions(): Promise<number> {
  const { rows } = await pg.superuser.query<{ n: number }>(
    "SELECT count(*)::int AS n FROM pg_stat_activity WHERE application_name = 'barista'",
  );
  return rows[0]!.n;
}

it('the session of the first barrier may be opened ahead of it, and one that cannot be is opened then', async () => {
  const barriers = new BarrierSessions(pg.socketDir);
  await barriers.warmUp();
  expect(await sessions()).toBe(1);
  expect(await barriers.begin()).toBeGreaterThan(0);
  expect(await sessions()).toBe(1);
  await pg.superuser.query(
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'barista'",
  );
  await expect.poll(sessions).toBe(0);
  const away = new BarrierSessions('/nowhere');
  await away.warmUp();
  await expect(away.begin()).rejects.toThrow('ENOENT');
});
