/** Sessions of followers that change more than rows of their own database, when the leader goes in the middle of a commit. */
import { afterAll, afterEach, beforeAll, beforeEach, expect, it } from 'vitest';
import { effectsElsewhere, effectsOfSession } from '../../pgwire/effects-elsewhere.ts';
import { type Relay, startRelay } from '../../adapters/testing/relay.ts';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import { ask, holdCommits, leaderAt, q, untilCommitsWait } from './testing/helpers.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire, describeFrame, type WireClient } from './testing/wire-client.ts';

let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;
let cable: Relay;
let letCommitsGo: (() => Promise<void>) | null = null;
const wires: WireClient[] = [];

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query('CREATE DATABASE other OWNER barista');
  const other = await pg.connect('other');
  await other.query('CREATE TABLE public.kept (key text); ALTER TABLE public.kept OWNER TO barista');
  await other.end();
  await pg.superuser.query(`
    CREATE EXTENSION postgres_fdw;
    CREATE SERVER other FOREIGN DATA WRAPPER postgres_fdw
      OPTIONS (host '${pg.socketDir}', dbname 'other', options '-c synchronous_commit=local');
    CREATE USER MAPPING FOR barista SERVER other OPTIONS (user 'barista', password_required 'false');
    CREATE FOREIGN TABLE far (key text) SERVER other OPTIONS (table_name 'kept');
    CREATE TABLE t (a int);
    GRANT ALL ON far, t TO barista;
    CREATE FUNCTION writes() RETURNS int LANGUAGE sql AS 'INSERT INTO t VALUES (1) RETURNING a'`);
});
afterAll(() => pg.stop());
beforeEach(async () => {
  leader = await startGateway(pg, { limits: { lateMs: 60_000 } });
  cable = await startRelay(leader.connection.port);
  const service = createMemoryClientService(null);
  service.setService(leaderAt(cable.port));
  service.outcome = 'notCommitted';
  service.actsElsewhere = true;
  follower = await startGateway(pg, { service, limits: { keepWaitMs: 5_000 } });
});
afterEach(async () => {
  await letCommitsGo?.();
  letCommitsGo = null;
  for (const wire of wires.splice(0)) wire.close();
  await follower.listener.close();
  cable.close();
  await leader.listener.close();
  await pg.superuser.query('TRUNCATE t');
});

async function connect(): Promise<WireClient> {
  const wire = await connectWire(follower.connection);
  wires.push(wire);
  return wire;
}

async function applied(): Promise<string[]> {
  const other = await pg.connect('other');
  const { rows } = await other.query<{ key: string }>('SELECT key FROM public.kept ORDER BY key');
  await other.end();
  return rows.map(({ key }) => key);
}

function codes(lines: readonly string[]): string[] {
  return lines.map((line) => line.replace(/ M=.*/, ''));
}

it('eight of them, whose changes are in another database, have none made twice, and hear where it is not known', async () => {
  const clients = await Promise.all(Array.from({ length: 8 }, connect));
  const acknowledged: string[] = [];
  for (const [index, wire] of clients.entries()) {
    const key = `${index} first`;
    expect(await ask(wire, q(`INSERT INTO far VALUES ('${key}')`))).toContain('Z I');
    acknowledged.push(key);
  }
  letCommitsGo = await holdCommits(pg);
  for (const [index, wire] of clients.entries())
    wire.send(
      q(`INSERT INTO far SELECT '${index} next' FROM (SELECT pg_catalog.txid_current(), writes()) w`),
    );
  await untilCommitsWait(pg, 8);
  cable.cut();
  for (const wire of clients) {
    const told = codes((await wire.until('Z')).map(describeFrame));
    expect(told).toEqual(['E V=ERROR C=08007', 'Z I']);
  }
  const unknown = acknowledged.map((key) => key.replace('first', 'next'));
  expect(await applied()).toEqual([...acknowledged, ...unknown].toSorted());
});

it('a cursor WITH HOLD whose query writes at COMMIT has its id asked for, and its COMMIT is told as it was', async () => {
  follower.service.outcome = 'committed';
  const wire = await connect();
  await ask(wire, q('BEGIN; DECLARE c CURSOR WITH HOLD FOR SELECT writes()'));
  letCommitsGo = await holdCommits(pg);
  wire.send(q('COMMIT'));
  await untilCommitsWait(pg, 1);
  cable.cut();
  expect(codes((await wire.until('Z')).map(describeFrame))).toEqual(['C COMMIT\\0', 'Z I']);
  expect(follower.service.asked).toHaveLength(1);
});

it('a setting of a role is found by its object id: it may have another name by now, and its name another role', async () => {
  const plain = await pg.connect('postgres');
  await plain.query('CREATE ROLE carl; ALTER ROLE carl SET barista.effects_elsewhere = on');
  const { rows } = await plain.query<{ owner: string }>("SELECT 'carl'::regrole::oid || ':5' AS owner");
  const { owner } = rows[0]!;
  await plain.query('ALTER ROLE carl RENAME TO dora; CREATE ROLE carl');
  const acts = async (role: string, of: string | null): Promise<unknown> =>
    (await plain.query<{ acts: boolean }>(effectsOfSession, [role, of])).rows[0]?.acts;
  expect([await acts('carl', owner), await acts('carl', null), await acts('dora', null)]).toEqual([
    true,
    false,
    true,
  ]);
  expect([await acts('postgres', '10:5'), await acts('postgres', '10:1')]).toEqual([false, true]);
  await plain.query('DROP ROLE carl; DROP ROLE dora');
  expect([await acts('carl', owner), await acts('carl', null)]).toEqual([true, true]);
  await plain.end();
});

it('a database says whether its sessions may act elsewhere: by what it has, and by a setting of a role or of its own', async () => {
  const plain = await pg.connect('postgres');
  const acts = async (role = 'barista'): Promise<unknown> => {
    const { rows } = await plain.query(effectsElsewhere('$1::pg_catalog.name'), [role]);
    return Object.values((rows as object[])[0] ?? {})[0];
  };
  const here = await pg.superuser.query(effectsElsewhere('session_user'));
  expect(Object.values(here.rows[0] as object)).toEqual([true]);
  expect(await acts()).toBe(false);
  await plain.query('ALTER ROLE barista SET barista.effects_elsewhere = on');
  expect([await acts(), await acts('postgres')]).toEqual([true, false]);
  await plain.query('ALTER ROLE barista SET barista.effects_elsewhere = off');
  expect(await acts()).toBe(false);
  await plain.query('ALTER DATABASE postgres SET barista.effects_elsewhere = true');
  expect(await acts('postgres')).toBe(true);
  await plain.query('ALTER DATABASE postgres RESET ALL; SET barista.effects_elsewhere = on');
  expect(await acts('postgres')).toBe(true);
  await plain.query('SET barista.effects_elsewhere = off; CREATE EXTENSION dblink');
  expect(await acts()).toBe(true);
  await plain.query('DROP EXTENSION dblink; CREATE EXTENSION citext');
  expect(await acts()).toBe(false);
  await plain.query("CREATE FUNCTION c(text) RETURNS text LANGUAGE c AS '$libdir/citext', 'citext_hash'");
  expect(await acts()).toBe(true);
  await plain.query('DROP FUNCTION c(text); DROP EXTENSION citext; ALTER ROLE barista RESET ALL');
  await plain.end();
});
