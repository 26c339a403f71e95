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

it('a session that cannot be given its settings is ended', async () => {
  const barriers = new BarrierSessions(pg.socketDir);
  const postgres = await pg.connect('postgres');
  await postgres.query('ALTER FUNCTION pg_catalog.set_config RENAME TO set_config_away');
  await expect(barriers.begin()).rejects.toMatchObject({ code: '42883' });
  await expect.poll(sessions).toBe(0);
  await postgres.query('ALTER FUNCTION pg_catalog.set_config_away RENAME TO set_config');
  expect(await barriers.begin()).toBeGreaterThan(0);
  await expect.poll(sessions).toBe(1);
});
