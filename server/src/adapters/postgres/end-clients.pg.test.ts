import { Client } from 'pg';
import { expect, it } from 'vitest';
import { startTestPostgres } from '../../gateways/pgwire/testing/postgres.ts';
import { endClients } from './end-clients.ts';

it('ends clients whatever they do, and no session of the replica itself', async () => {
  const pg = await startTestPostgres();
  const own = await pg.connect();
  const client = new Client({
    host: pg.socketDir,
    port: pg.port,
    user: 'barista',
    password: 'barista',
    database: pg.database,
  });
  client.on('error', () => undefined);
  await client.connect();
  const stubborn = client
    .query(
      `DO $$ BEGIN FOR i IN 1..60 LOOP
        BEGIN PERFORM pg_sleep(1); EXCEPTION WHEN query_canceled THEN NULL; END;
        COMMIT;
      END LOOP; END $$`,
    )
    .then(
      () => null,
      (error: { readonly code?: string }) => error.code,
    );
  await expect
    .poll(
      async () =>
        (await pg.superuser.query("SELECT FROM pg_stat_activity WHERE wait_event = 'PgSleep'")).rowCount,
    )
    .toBe(1);
  await endClients(pg.superuser);
  expect(await stubborn).toBe('57P01');
  const { rows } = await own.query(
    "SELECT usename FROM pg_stat_activity WHERE backend_type = 'client backend' GROUP BY usename",
  );
  expect(rows).toEqual([{ usename: 'postgres' }]);
  await own.end();
  await pg.stop();
});

it('waits for no client that PostgreSQL cannot interrupt, and that one does nothing more', async () => {
  const pg = await startTestPostgres();
  await pg.superuser.query('CREATE TABLE t (a int)');
  const client = new Client({
    host: pg.socketDir,
    port: pg.port,
    user: 'barista',
    password: 'barista',
    database: pg.database,
  });
  client.on('error', () => undefined);
  await client.connect();
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  // libxml looks for no signal. It takes hours.
  const asked = client.query(`DO $$ BEGIN
    PERFORM xpath('count(//a[count(//a[count(//a)>0])>0])', ('<r>' || repeat('<a/>', 20000) || '</r>')::xml);
    COMMIT; INSERT INTO t VALUES (1); END $$`);
  const ended = asked.catch(() => null);
  await expect
    .poll(
      async () =>
        (await pg.superuser.query("SELECT FROM pg_stat_activity WHERE query LIKE 'DO%' AND state = 'active'"))
          .rowCount,
    )
    .toBe(1);
  expect(await endClients(pg.superuser)).toEqual([rows[0]!.pid]);
  expect((await pg.superuser.query('SELECT FROM t')).rowCount).toBe(0);
  pg.superuser.on('error', () => undefined);
  process.kill(rows[0]!.pid, 'SIGKILL');
  await ended;
  await pg.stop();
});
