/** Prepared transactions that are too old, in a real PostgreSQL. */
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { startTestPostgres, type TestPostgres } from '../../../gateways/pgwire/testing/postgres.ts';
import { PreparedAgeLimit, type RolledBack } from './old-prepared.ts';

const never = 3_600_000;
let pg: TestPostgres;
let client: Client;
let leads: boolean;
let rolledBack: RolledBack[];
const problems: (string | null)[] = [];
const limits: PreparedAgeLimit[] = [];

beforeAll(async () => {
  pg = await startTestPostgres();
});
afterAll(() => pg.stop());
beforeEach(async () => {
  leads = true;
  rolledBack = [];
  problems.length = 0;
  client = await connectTo(pg.database);
});
afterEach(async () => {
  for (const limit of limits.splice(0)) limit.stop();
  await client.end();
});

async function connectTo(database: string): Promise<Client> {
  const made = new Client({ host: pg.socketDir, port: pg.port, user: 'barista', database });
  made.on('error', () => {});
  await made.connect();
  return made;
}

/** What it is told of the oldest is older than anything. */
function limitOf(ageMsMax: number): PreparedAgeLimit {
  const limit = new PreparedAgeLimit(
    pg,
    {
      ageMsMax,
      leads: () => leads,
      withRoom: (work) => work(),
      oldestMs: () => Number.MAX_SAFE_INTEGER,
      onRolledBack: (what) => rolledBack.push(what),
      onProblem: (problem) => problems.push(problem),
    },
    never,
  );
  limits.push(limit);
  return limit;
}

const prepare = (session: Client, gid: string) =>
  session.query(`BEGIN; SELECT pg_current_xact_id(); PREPARE TRANSACTION '${gid}'`);

async function prepared(): Promise<string[]> {
  const { rows } = await pg.superuser.query<{ gid: string }>(
    'SELECT gid FROM pg_prepared_xacts ORDER BY prepared',
  );
  return rows.map(({ gid }) => gid);
}

it('those that are older are rolled back, in whatever database they are', async () => {
  await pg.superuser.query(
    `CREATE DATABASE "naïve" ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0 OWNER barista`,
  );
  const other = await connectTo('naïve');
  await prepare(client, "it''s one \\ of them");
  await prepare(other, 'déjà vu');
  const limit = limitOf(0);
  await limit.look();
  expect(await prepared()).toEqual([]);
  expect(rolledBack).toMatchObject([
    { gid: "it's one \\ of them", database: 'barista' },
    { database: 'naïve' },
  ]);
  expect([limit.rolledBack, limit.problem]).toEqual([2, null]);
  await expect(other.query(`COMMIT PREPARED 'déjà vu'`)).rejects.toMatchObject({ code: '42704' });
  await other.end();
});

it('those that are younger stay, and all do at a replica that does not lead', async () => {
  await prepare(client, 'young');
  await limitOf(3_600_000).look();
  leads = false;
  await limitOf(0).look();
  expect([await prepared(), rolledBack]).toEqual([['young'], []]);
  await client.query(`ROLLBACK PREPARED 'young'`);
});

it('one whose PREPARE or COMMIT PREPARED waits to be chosen stays', async () => {
  await prepare(client, 'committing');
  await pg.set('synchronous_standby_names', 'nobody');
  const second = await connectTo(pg.database);
  const commits = client.query(`COMMIT PREPARED 'committing'`);
  const prepares = prepare(second, 'preparing');
  const waiting = async () => {
    const { rows } = await pg.superuser.query(
      "SELECT FROM pg_stat_activity WHERE wait_event = 'SyncRep' AND usename = 'barista'",
    );
    return rows.length;
  };
  await expect.poll(waiting).toBe(2);
  const limit = limitOf(0);
  await limit.look();
  expect([limit.rolledBack, limit.problem]).toEqual([0, null]);
  await pg.set('synchronous_standby_names', '');
  await Promise.all([commits, prepares]);
  expect(await prepared()).toEqual(['preparing']);
  await limit.look();
  expect([await prepared(), limit.rolledBack]).toEqual([[], 1]);
  await second.end();
});

it('why one stays is told once, and that nothing is in the way any more', async () => {
  await pg.superuser.query('CREATE DATABASE shut TEMPLATE template0 OWNER barista');
  const other = await connectTo('shut');
  await prepare(other, 'inside');
  await other.end();
  await pg.superuser.query('ALTER DATABASE shut ALLOW_CONNECTIONS false');
  const limit = limitOf(0);
  await limit.look();
  await limit.look();
  expect(limit.problem).toMatch(/^database "shut": /);
  await pg.superuser.query('ALTER DATABASE shut ALLOW_CONNECTIONS true');
  await limit.look();
  expect(problems).toEqual([expect.stringContaining('shut'), null]);
  expect(await prepared()).toEqual([]);
});
