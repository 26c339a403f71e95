/** Sessions with a state that is seldom seen, made anew when the way to the leader breaks. */
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { type Relay, startRelay } from '../../adapters/testing/relay.ts';
import * as send from '../../pgwire/frontend-messages.ts';
import { startGateway, type TestGateway } from './testing/gateway.ts';
import { ask, codeOf, leaderAt, q, run, settled } from './testing/helpers.ts';
import { frame } from './testing/frames.ts';
import { createMemoryClientService } from './testing/memory-client-service.ts';
import { startTestPostgres, type TestPostgres } from './testing/postgres.ts';
import { connectWire } from './testing/wire-client.ts';

const anyone = { database: 'all', role: 'all', address: 'all', tls: 'any', method: 'trust' } as const;
let pg: TestPostgres;
let leader: TestGateway;
let follower: TestGateway;
let cable: Relay;
let clients: Client[] = [];

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query(`
    CREATE ROLE open LOGIN; CREATE ROLE other; GRANT other TO open; CREATE ROLE "dönner" LOGIN; CREATE ROLE boss LOGIN SUPERUSER;
    CREATE ROLE steered LOGIN; GRANT other TO steered; ALTER ROLE steered SET role = 'other';
    CREATE ROLE bare LOGIN NOINHERIT; GRANT other TO bare; CREATE SCHEMA ours AUTHORIZATION other; CREATE TABLE ours.t (a int); ALTER TABLE ours.t OWNER TO other;
    CREATE TABLE t (a int); GRANT ALL ON t TO PUBLIC`);
});
afterAll(async () => {
  await pg.stop();
});
beforeEach(async () => {
  leader = await startGateway(pg, { access: [anyone] });
  cable = await startRelay(leader.connection.port);
  const service = createMemoryClientService(null);
  service.setService(leaderAt(cable.port));
  follower = await startGateway(pg, { service, access: [anyone], limits: { keepWaitMs: 5_000 } });
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.end().catch(() => {})));
  clients = [];
  await follower.listener.close();
  cable.close();
  await leader.listener.close();
});

async function clientOf(user: string): Promise<Client> {
  const client = await follower.client({ user });
  clients.push(client);
  return client;
}

async function cut(): Promise<void> {
  await settled();
  cable.cut();
  await settled();
}

async function values(client: Client, sql: string): Promise<unknown[]> {
  return (await client.query<unknown[]>({ text: sql, rowMode: 'array' })).rows.flat();
}

describe('a session that is made anew', () => {
  it('has no role, if it has set none, though its login begins with one', async () => {
    const client = await clientOf('steered');
    expect(await values(client, 'SELECT current_user')).toEqual(['other']);
    await client.query('SET ROLE none');
    await cut();
    expect(await values(client, 'SELECT current_user')).toEqual(['steered']);
    await client.query('RESET ROLE');
    await cut();
    expect(await values(client, 'SELECT current_user')).toEqual(['other']);
  });

  it('has the defaults of its login, whatever role and database have been given since', async () => {
    await pg.superuser.query(`
      CREATE ROLE later LOGIN; GRANT other TO later;
      ALTER ROLE later SET lock_timeout = '5s'; ALTER ROLE later SET our.own = 'löwe'; ALTER ROLE later SET log_statement = 'ddl'`);
    const names = ['lock_timeout', 'work_mem', 'our.own', 'role'];
    const all = `SELECT ${names.map((name) => `current_setting('${name}', true)`).join()}`;
    const client = await clientOf('later');
    const before = await values(client, all);
    expect(before).toEqual(['5s', '4MB', 'löwe', 'none']);
    await client.query('SET lock_timeout = 7000');
    await pg.superuser.query(`
      ALTER ROLE later SET lock_timeout = '9s'; ALTER ROLE later RESET our.own; ALTER ROLE later SET role = 'other';
      ALTER ROLE later SET log_statement = 'all'; ALTER DATABASE "${pg.database}" SET work_mem = '8MB'`);
    for (const expected of ['7s', '5s', '5s']) {
      await cut();
      expect(await values(client, all)).toEqual(before.with(0, expected));
      await client.query('RESET ALL');
    }
    expect(await values(client, all)).toEqual(before);
    const fresh = await clientOf('later');
    expect(await values(fresh, all)).toEqual(['9s', '8MB', null, 'other']);
    // No role can log in with what only a superuser may set.
    expect(await values(client, 'SHOW log_statement')).toEqual(['all']);
    await pg.superuser.query(`ALTER DATABASE "${pg.database}" RESET work_mem`);
  });

  it('is of whom it was made to be, and not a superuser again', async () => {
    const client = await clientOf('boss');
    await client.query('SET SESSION AUTHORIZATION open; SET ROLE other');
    await cut();
    expect(await values(client, 'SELECT session_user, current_user').catch((e: unknown) => e)).toEqual([
      'open',
      'other',
    ]);
    await client.query('RESET SESSION AUTHORIZATION');
    await cut();
    expect(await values(client, 'SELECT session_user')).toEqual(['boss']);
  });

  it('goes on under a new name of its role, and never as another role that has got the old one', async () => {
    await pg.superuser.query(
      'CREATE ROLE work LOGIN; CREATE ROLE leaves LOGIN; CREATE ROLE renamed LOGIN; GRANT work TO leaves, boss',
    );
    const [leaves, renamed, boss] = [
      await clientOf('leaves'),
      await clientOf('renamed'),
      await clientOf('boss'),
    ];
    const worker = await clientOf('leaves');
    await worker.query('SET ROLE work');
    await boss.query('SET SESSION AUTHORIZATION leaves');
    await pg.superuser.query('ALTER ROLE work RENAME TO works; CREATE ROLE work; GRANT work TO leaves');
    await cut();
    expect(await values(worker, 'SELECT current_user')).toEqual(['works']);
    await pg.superuser.query(
      'ALTER ROLE renamed RENAME TO another; CREATE ROLE renamed LOGIN SUPERUSER; DROP ROLE leaves; CREATE ROLE leaves LOGIN SUPERUSER',
    );
    await cut();
    for (const client of [leaves, renamed, worker, boss])
      await expect(client.query('SELECT current_user')).rejects.toThrow(/terminat|not queryable|leader/i);
    await pg.superuser.query('DROP ROLE leaves, renamed, another, work, works');
  });

  it.each([
    "SET größe.x = '1'",
    `SET "app"."x" = '1'`,
    "SET app . x = '1'",
    "SET app./**/x = '1'",
    `SET"app".x = '1'`,
    "SET/**/app.x = '1'",
    'SET app."X" = \'1\'',
    "SELECT set_config('größe.x', '1', false)",
    "SELECT set_config('app.' || 'x', '1', false)",
    'BEGIN; /* a long comment '.padEnd(300, 'x') + "*/ SET app.x = '1'; COMMIT",
    '-- a long comment '.padEnd(300, 'x') + "\nSET app.x = '1'",
  ])('has a custom setting, or says that it lost something: %s', async (sql) => {
    const client = await clientOf('open');
    await client.query(sql);
    const name = sql.includes('größe') ? 'größe.x' : 'app.x';
    expect(await values(client, `SELECT current_setting('${name}', true)`)).toEqual(['1']);
    await cut();
    const found = await values(client, `SELECT current_setting('${name}', true)`).catch(
      (error: unknown) => (error as { code: string }).code,
    );
    expect([['1'], '55000']).toContainEqual(found);
  });

  it('says so if it has more custom settings than are asked for', async () => {
    const client = await clientOf('open');
    for (let n = 0; n < 110; n += 1) await client.query(`SET app.x${n} = '1'`);
    await cut();
    const found = await values(client, `SELECT current_setting('app.x109', true)`).catch(
      (error: unknown) => (error as { code: string }).code,
    );
    expect([['1'], '55000']).toContainEqual(found);
  });

  it('says once that it may have lost settings, and not again when another leader goes', async () => {
    const client = await clientOf('open');
    await client.query("SELECT set_config('app.' || 'x', '1', false)");
    await cut();
    expect(await codeOf(client.query('SELECT 1'))).toBe('55000');
    await cut();
    expect(await values(client, 'SELECT 1')).toEqual([1]);
  });

  it('has what a message has set that came in two parts', async () => {
    const wire = await connectWire({ ...follower.connection, user: 'open' });
    const message = q("SET app.x = '1'");
    const found: string[] = [];
    for (const at of [6, 7, 9, 12]) {
      await ask(wire, q('RESET ALL'));
      wire.send(message.subarray(0, at));
      await settled();
      await ask(wire, message.subarray(at));
      await cut();
      const [, row] = await ask(wire, q("SELECT current_setting('app.x', true)"));
      found.push(row?.endsWith('1') === true ? 'there' : `lost after ${at}`);
    }
    expect(found).toEqual(['there', 'there', 'there', 'there']);
    wire.close();
  });

  it('has statements that only its role may make', async () => {
    const client = await clientOf('bare');
    await client.query('SET ROLE other');
    await client.query({ name: 'one', text: 'SELECT count(*)::int FROM ours.t' });
    await client.query('PREPARE two AS SELECT count(*)::int FROM ours.t');
    await cut();
    expect(await values(client, 'EXECUTE two')).toEqual([0]);
    expect((await client.query({ name: 'one', text: 'SELECT count(*)::int FROM ours.t' })).rows).toEqual([
      { count: 0 },
    ]);
  });

  it('has statements that both of them may make, one leader after another', async () => {
    const client = await clientOf('open');
    await client.query('SET ROLE other');
    for (let n = 0; n < 3; n += 1) {
      expect((await client.query({ name: 'one', text: 'SELECT 1 AS n' })).rows).toEqual([{ n: 1 }]);
      await cut();
    }
  });

  it.each(['LATIN1', 'SJIS', 'UTF8'])('is of a role whose name is not ASCII, in %s', async (encoding) => {
    const client = await clientOf('dönner');
    await client.query(`SET client_encoding = '${encoding}'`);
    await cut();
    expect(await values(client, 'SELECT 1')).toEqual([1]);
  });

  it('does not go on in a block that is weaker than the one that it lost', async () => {
    const client = await clientOf('open');
    await client.query('BEGIN ISOLATION LEVEL SERIALIZABLE READ ONLY');
    await client.query('SELECT 1');
    await cut();
    const code = await codeOf(client.query('ROLLBACK AND CHAIN')).catch(() => 'none');
    const level = await values(client, 'SHOW transaction_isolation');
    expect([code, level]).toEqual(['40001', ['read committed']]);
  });

  it('has its statement without a name though it has a role, too', async () => {
    const wire = await connectWire({ ...follower.connection, user: 'open' });
    await ask(wire, q('SET ROLE other'));
    await ask(wire, send.parse('', 'SELECT $1::text || $2::text'), send.sync);
    await cut();
    const bind = send.bind({ portal: '', statement: '', parameters: ['a', 'b'] });
    expect((await ask(wire, bind, send.execute(''), send.sync))[1]?.endsWith('ab')).toBe(true);
    wire.close();
  });

  it('has its statement without a name after another one could not be made', async () => {
    const wire = await connectWire({ ...follower.connection, user: 'open' });
    await ask(wire, q('CREATE TEMP TABLE tt (a int)'));
    await ask(wire, q('PREPARE p AS SELECT * FROM tt'));
    await ask(wire, send.parse('', 'SELECT 7'), send.sync);
    await cut();
    await ask(wire, send.sync);
    await ask(wire, send.closePortal('x'), send.sync);
    await cut();
    const answer = await ask(wire, send.bind({ portal: '', statement: '' }), send.execute(''), send.sync);
    expect(answer.map((line) => line[0]).join('')).toBe('2DCZ');
    wire.close();
  });
});

describe('a session that is not changed by a Query alone', () => {
  it.each(['SET', 'set_config', 'LISTEN'])('has what was done in the extended protocol: %s', async (how) => {
    const wire = await connectWire({ ...follower.connection, user: 'open' });
    const sql = {
      SET: "SET app.x = '1'",
      set_config: "SELECT set_config('app.x', '1', false)",
      LISTEN: 'LISTEN app',
    }[how]!;
    await ask(wire, run(sql), send.sync);
    await cut();
    const found = await ask(
      wire,
      q("SELECT concat(current_setting('app.x', true), (SELECT pg_listening_channels()))"),
    );
    expect(found[1]?.endsWith(how === 'LISTEN' ? 'app' : '1')).toBe(true);
    wire.close();
  });

  it('has what a prepared statement has set last, and not what it has set at first', async () => {
    const client = await clientOf('open');
    const set = { name: 'tenant', text: "SELECT set_config('app.tenant', $1, false)" };
    await client.query({ ...set, values: ['mine'] });
    await client.query({ ...set, values: ['yours'] });
    await cut();
    expect(await values(client, "SELECT current_setting('app.tenant')")).toEqual(['yours']);
  });

  it('has what a prepared statement has set last, though the message that named it came in two parts', async () => {
    const wire = await connectWire({ ...follower.connection, user: 'open' });
    await ask(wire, send.parse('tenant', "SELECT set_config('app.tenant', $1, false)"), send.sync);
    for (const value of ['mine', 'yours']) {
      const bind = send.bind({ portal: '', statement: 'tenant', parameters: [value] });
      wire.send(bind.subarray(0, 9));
      await settled();
      await ask(wire, bind.subarray(9), send.execute(''), send.sync);
    }
    await cut();
    const [, row] = await ask(wire, q("SELECT current_setting('app.tenant')"));
    expect(row?.endsWith('yours')).toBe(true);
    wire.close();
  });

  it('has what EXECUTE has set last', async () => {
    const client = await clientOf('open');
    await client.query("PREPARE tenant AS SELECT set_config('app.tenant', $1, false)");
    await client.query("EXECUTE tenant('mine')");
    await client.query("EXECUTE tenant('yours')");
    await cut();
    expect(await values(client, "SELECT current_setting('app.tenant')")).toEqual(['yours']);
  });

  it('says that it has lost a lock that was taken by number', async () => {
    const wire = await connectWire({ ...follower.connection, user: 'open' });
    const [row] = await values(
      await clientOf('open'),
      "SELECT 'pg_advisory_lock(int8)'::regprocedure::oid::int",
    );
    const call = Buffer.alloc(26);
    call.writeInt32BE(Number(row), 0);
    call.writeInt16BE(1, 4);
    call.writeInt16BE(1, 6);
    call.writeInt16BE(1, 8);
    call.writeInt32BE(8, 10);
    call.writeBigInt64BE(7n, 14);
    const whole = Buffer.concat([call.subarray(0, 22), Buffer.from([0, 1])]);
    expect((await ask(wire, frame('F', whole)))[0]?.[0]).toBe('V');
    await cut();
    expect((await ask(wire, q('SELECT 1')))[0]).toContain('55000');
    wire.close();
  });

  it('does not execute again what was sent together with a PREPARE, in whatever encoding', async () => {
    await pg.superuser.query('TRUNCATE t');
    const wire = await connectWire({ ...follower.connection, user: 'open' });
    await ask(wire, q("SET client_encoding = 'SJIS'"));
    // The second byte of this character is a backslash to whoever does not know the encoding.
    const text = "PREPARE p AS SELECT E'\x95\x5c'; INSERT INTO t VALUES (1); --'\0";
    await ask(wire, frame('Q', Buffer.from(text, 'latin1')));
    await cut();
    await ask(wire, q('SELECT 1'));
    await ask(wire, q('SELECT 1'));
    expect((await pg.superuser.query('SELECT count(*)::int AS n FROM t')).rows).toEqual([{ n: 1 }]);
    wire.close();
  });

  it.each([
    ['SJIS', "PREPARE p AS SELECT '\x95\x5c', $1::int", '\\95\\'],
    ['BIG5', "PREPARE p AS SELECT '\xa5\x5c', $1::int", '\\a5\\'],
    ['GBK', 'PREPARE p AS SELECT $a$\x81\x5c$a$, $1::int', '\\81\\'],
    ['UTF8', "PREPARE p AS SELECT 'ö', $1::int", '\\c3\\b6'],
  ])('has a statement of PREPARE that was sent alone, in %s', async (encoding, text, shown) => {
    const wire = await connectWire({ ...follower.connection, user: 'open' });
    await ask(wire, q(`SET client_encoding = '${encoding}'`));
    const bytes = encoding === 'UTF8' ? Buffer.from(`${text}\0`) : Buffer.from(`${text}\0`, 'latin1');
    await ask(wire, frame('Q', bytes));
    await cut();
    const answer = await ask(wire, q('EXECUTE p (7)'));
    expect(answer[1]).toContain(shown);
    wire.close();
  });

  it('has statements of before that its client has changed the encoding', async () => {
    const wire = await connectWire({ ...follower.connection, user: 'open' });
    await ask(wire, send.parse('umlaut', "SELECT 'ö', $1::int"), send.sync);
    await ask(wire, q("SET client_encoding = 'LATIN1'"));
    await cut();
    const bound = send.bind({ portal: '', statement: 'umlaut', parameters: ['1'] });
    expect((await ask(wire, bound, send.execute(''), send.sync))[1]).toMatch(/\\1\\f6\\0.*1$/);
    wire.close();
  });

  it.each(['by a message', "by SQL's PREPARE"])(
    'says that it has lost a statement whose backslashes meant something else when it was prepared: %s',
    async (how) => {
      const client = await clientOf('open');
      const text = String.raw`SELECT 'a\\b'`;
      const prepares = how === 'by a message' ? { name: 's', text } : `PREPARE s AS ${text}`;
      const executes = how === 'by a message' ? prepares : 'EXECUTE s';
      await client.query('SET standard_conforming_strings = off');
      await client.query(prepares);
      await client.query('SET standard_conforming_strings = on');
      expect((await client.query<Record<string, unknown>>(executes)).rows[0]?.['?column?']).toBe('a\\b');
      await cut();
      expect(await codeOf(client.query('SELECT 1'))).toBe('55000');
      expect(await codeOf(client.query(executes))).toBe('26000');
      await client.query('SELECT 1');
      await cut();
      expect(await values(client, 'SELECT 1')).toEqual([1]);
    },
  );

  it('has a table that it made in its first schema, or says so', async () => {
    const client = await clientOf('boss');
    for (const path of ['SET search_path = pg_temp', "ALTER ROLE boss SET search_path = 'pg_temp'"]) {
      await client.query(path);
      const another = await clientOf('boss');
      const own = path.startsWith('SET') ? client : another;
      for (const made of [
        'CREATE TABLE made (a int)',
        "CREATE TYPE mood AS ENUM ('x')",
        'SELECT 1 INTO made',
      ]) {
        await own.query(made);
        await cut();
        expect([made, await codeOf(own.query('SELECT 1'))]).toEqual([made, '55000']);
      }
    }
    await client.query('ALTER ROLE boss RESET search_path');
  });

  it('has its settings, whatever else its parameters were called', async () => {
    const client = await clientOf('open');
    const set = { name: 'set', text: "SELECT set_config('app.token', $1, false)" };
    for (let n = 0; n < 120; n += 1) await client.query({ ...set, values: [`one.of${n}`] });
    await client.query("SET app.x = '1'");
    await cut();
    expect(await values(client, "SELECT current_setting('app.x') || current_setting('app.token')")).toEqual([
      '1one.of119',
    ]);
  });
});
