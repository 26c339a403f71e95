/** What a new leader finds out about commits that do not wait, look by look, in a real PostgreSQL. */
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { startTestPostgres, type TestPostgres } from '../../../gateways/pgwire/testing/postgres.ts';
import { lookAtCommits } from './look-at-commits.ts';

let pg: TestPostgres;

beforeAll(async () => {
  pg = await startTestPostgres();
});
afterAll(() => pg.stop());
afterEach(async () => {
  await pg.superuser.query('ALTER ROLE barista RESET ALL');
  const { rows } = await pg.superuser.query<{ gid: string }>('SELECT gid FROM pg_prepared_xacts');
  for (const { gid } of rows) await pg.superuser.query(`ROLLBACK PREPARED '${gid}'`);
});

async function prepare(gid: string, ...statements: string[]): Promise<void> {
  for (const sql of ['BEGIN', ...statements, `PREPARE TRANSACTION '${gid}'`]) await pg.superuser.query(sql);
}

/** Of the role barista: a client. */
async function connectClient(): Promise<Client> {
  const client = new Client({ host: pg.socketDir, port: pg.port, user: 'barista', password: 'barista' });
  client.on('error', () => {});
  await client.connect();
  return client;
}

const sessionsLive = 'sessions live that may have got a setting before it was looked for';
const turnDown = 'ALTER ROLE barista SET synchronous_commit = off';

it('nothing is unclear where nothing is prepared and nobody is served yet', async () => {
  // Of a larger thing only the socket is taken.
  const instance = { socketDir: pg.socketDir, user: { uid: 1 } };
  expect(await lookAtCommits(instance)(false)).toEqual({ code: 'clean' });
});

it('a look that fails before anybody is served is made again, and does not ask for the end of any session', async () => {
  const place = { socketDir: '/nowhere' };
  const look = lookAtCommits(place);
  await expect(look(false)).rejects.toThrow('ENOENT');
  const client = await connectClient();
  place.socketDir = pg.socketDir;
  expect(await look(false)).toEqual({ code: 'clean' });
  await client.end();
});

it('where the first look that tells anything is made while clients are served, the sessions of that time must have ended', async () => {
  await pg.superuser.query(turnDown);
  const client = await connectClient();
  await pg.superuser.query('ALTER ROLE barista RESET ALL');
  expect((await client.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }]);
  const look = lookAtCommits(pg);
  expect(await look(true)).toEqual({ code: 'unclear', reason: sessionsLive });
  await client.end();
  await expect.poll(() => look(true)).toEqual({ code: 'clean' });
});

it('a lock on what a view reads is not waited for long', async () => {
  await pg.superuser.query(
    'CREATE TABLE read_by_view (k int); CREATE VIEW reading AS SELECT k FROM read_by_view',
  );
  const look = lookAtCommits(pg);
  await pg.superuser.query('BEGIN; LOCK TABLE read_by_view IN ACCESS EXCLUSIVE MODE');
  try {
    await expect(look(false)).rejects.toMatchObject({ code: '55P03' });
  } finally {
    await pg.superuser.query('ROLLBACK; DROP TABLE read_by_view CASCADE');
  }
  expect(await look(false)).toEqual({ code: 'clean' });
});

it('a setting that a prepared transaction holds is found when that is committed, and is not overlooked before', async () => {
  await prepare('p', turnDown);
  const look = lookAtCommits(pg);
  for (let n = 0; n < 2; n += 1)
    expect(await look(false)).toEqual({
      code: 'unclear',
      reason: `transactions were prepared before, and are not decided: 'p'`,
    });
  await pg.superuser.query("COMMIT PREPARED 'p'");
  expect(await look(false)).toMatchObject({ code: 'weakened' });
});

it('what was prepared is over when it has ended, though its name is used again', async () => {
  await prepare('p', turnDown);
  const look = lookAtCommits(pg);
  expect(await look(false)).toMatchObject({ code: 'unclear' });
  await pg.superuser.query("ROLLBACK PREPARED 'p'");
  await prepare('p', 'SELECT pg_current_xact_id()');
  expect(await look(false)).toEqual({ code: 'clean' });
});

it('a session that may have got the setting before it was taken back keeps it: all is clear when that has ended', async () => {
  await prepare('p', turnDown);
  const look = lookAtCommits(pg);
  expect(await look(false)).toMatchObject({ code: 'unclear' });
  await pg.superuser.query("COMMIT PREPARED 'p'");
  const client = await connectClient();
  expect((await client.query('SHOW synchronous_commit')).rows).toEqual([{ synchronous_commit: 'off' }]);
  await pg.superuser.query('ALTER ROLE barista RESET ALL');
  expect(await look(true)).toEqual({ code: 'unclear', reason: sessionsLive });
  const later = await connectClient();
  await client.end();
  await expect.poll(() => look(true)).toEqual({ code: 'clean' });
  await later.end();
});
