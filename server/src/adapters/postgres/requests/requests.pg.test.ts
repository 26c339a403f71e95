/** Named transactions inside PostgreSQL: the table of names, the functions, and what clients can do to them. */
import { Client } from 'pg';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { startTestPostgres, type TestPostgres } from '../../../gateways/pgwire/testing/postgres.ts';
import { connectPg } from '../pg-client.ts';
import { installRequestsIn } from './install-requests.ts';
import { readRequest } from './request-outcome.ts';
import { prepareRequests } from './request-schema.ts';
import { findWeakenedCommits, findWeakenedCommitsIn } from './weakened-commits.ts';

let pg: TestPostgres;
let barista: Client;
/** Barista's own. */
let own: Client;

const connectOwn = (): Promise<Client> =>
  connectPg({ socketDir: pg.socketDir, database: pg.database, silentMsMax: null });

async function connectAs(user: string): Promise<Client> {
  const client = new Client({
    host: pg.socketDir,
    port: pg.port,
    user,
    password: user,
    database: pg.database,
  });
  client.on('error', () => {});
  await client.connect();
  return client;
}

async function lookIn({ socketDir }: { readonly socketDir: string }): Promise<string[]> {
  const client = await connectPg({ socketDir, database: 'postgres', silentMsMax: null });
  try {
    return await findWeakenedCommitsIn({ socketDir }, client);
  } finally {
    await client.end();
  }
}

async function codeOf(work: Promise<unknown>): Promise<string | undefined> {
  try {
    await work;
  } catch (error) {
    return (error as { code?: string }).code;
  }
  return undefined;
}

beforeAll(async () => {
  pg = await startTestPostgres();
  await pg.superuser.query("CREATE ROLE other LOGIN PASSWORD 'other'; CREATE TABLE public.t (a int)");
  await pg.superuser.query('GRANT ALL ON public.t TO PUBLIC');
  barista = await connectAs('barista');
  own = await connectOwn();
});
afterAll(async () => {
  await barista.end();
  await own.end();
  await pg.stop();
});
beforeEach(async () => {
  await prepareRequests(own);
  await pg.superuser.query('DELETE FROM pg_barista.request');
  await barista.query('RESET barista.request_id');
});

/** Object ids of a role, and of this database or another one. */
async function ownerOf(role: string, database = pg.database): Promise<string> {
  const { rows } = await pg.superuser.query<{ owner: string }>(
    "SELECT quote_ident($1)::regrole::oid || ':' || oid AS owner FROM pg_database WHERE datname = $2",
    [role, database],
  );
  return rows[0]!.owner;
}

/** Commits a transaction that writes, under this name. */
async function commitNamed(client: Client, name: string, tag: string): Promise<string> {
  await client.query(`BEGIN; INSERT INTO public.t VALUES (1); SET LOCAL barista.request_id = '${name}'`);
  const { rows } = await client.query<{ claim_name: string }>('SELECT pg_barista.claim_name($1)', [tag]);
  await client.query('COMMIT');
  return rows[0]?.claim_name ?? '';
}

function hex(text: string): string {
  return Buffer.from(text).toString('hex');
}

describe('a name', () => {
  it('is claimed by a transaction that has written, for the role that logged in', async () => {
    expect(await commitNamed(barista, 'größe', 'INSERT 0 1')).toBe(
      `claimed ${await ownerOf('barista')} ${hex('größe')}`,
    );
    expect(await readRequest(own, { owner: await ownerOf('barista'), name: 'größe' })).toEqual({
      tag: 'INSERT 0 1',
    });
    expect(await readRequest(own, { owner: await ownerOf('other'), name: 'größe' })).toBeNull();
  });

  it('is told in ASCII whatever the encoding of the client', async () => {
    await barista.query("SET client_encoding = 'LATIN1'");
    const claimed = await commitNamed(barista, 'x', '');
    await barista.query("SET client_encoding = 'UTF8'");
    expect(claimed).toBe(`claimed ${await ownerOf('barista')} ${hex('x')}`);
    expect(await readRequest(own, { owner: await ownerOf('barista'), name: 'x' })).toEqual({ tag: null });
  });

  it('is used up by the commit, and not by a roll-back', async () => {
    await barista.query("SET barista.request_id = 'x'");
    for (const [end, left] of [
      ['ROLLBACK', 'x'],
      ['COMMIT', ''],
    ]) {
      await barista.query("BEGIN; INSERT INTO public.t VALUES (1); SELECT pg_barista.claim_name('')");
      await barista.query(end!);
      const { rows } = await barista.query("SELECT current_setting('barista.request_id') AS name");
      expect(rows).toEqual([{ name: left }]);
    }
  });

  it('that is taken fails with RQ001 and the tag of the first time, at the beginning and at the claim', async () => {
    await commitNamed(barista, 'x', 'COMMIT');
    await barista.query("SET barista.request_id = 'x'");
    for (const call of ['begin_name()', "claim_name('')"]) {
      const failure = await barista
        .query(`BEGIN; INSERT INTO public.t VALUES (2); SELECT pg_barista.${call}`)
        .then(() => null)
        .catch((error: { code: string; detail: string }) => error);
      await barista.query('ROLLBACK');
      expect(failure).toMatchObject({ code: 'RQ001', detail: 'COMMIT' });
    }
  });

  it('stays unused where the transaction is READ ONLY, and there is none where none is set', async () => {
    await barista.query("SET barista.request_id = 'x'");
    await barista.query('SET default_transaction_read_only = on');
    const owner = await ownerOf('barista');
    const answers = await barista.query(
      'SELECT pg_barista.begin_name() AS b, pg_barista.claim_name($1) AS c',
      [''],
    );
    expect(answers.rows).toEqual([{ b: `named ${owner} ${hex('x')}`, c: `unused ${owner} ${hex('x')}` }]);
    await barista.query("SET barista.request_id = ''; RESET default_transaction_read_only");
    const none = await barista.query('SELECT pg_barista.begin_name() AS b, pg_barista.claim_name($1) AS c', [
      '',
    ]);
    expect(none.rows).toEqual([{ b: 'none', c: 'none' }]);
  });

  it('has 128 characters at most', async () => {
    expect(await codeOf(commitNamed(barista, 'x'.repeat(129), ''))).toBe('22023');
    await barista.query('ROLLBACK');
    await barista.query("SELECT set_config('barista.request_id', repeat('x', 129), false)");
    expect(await codeOf(barista.query('SELECT pg_barista.begin_name()'))).toBe('22023');
    expect(await codeOf(commitNamed(barista, 'ä'.repeat(128), ''))).toBeUndefined();
  });

  it('of the newest is kept, role by role', async () => {
    const other = await connectAs('other');
    await commitNamed(other, 'old', '');
    for (let n = 1; n <= 5; n += 1) await commitNamed(barista, `n${n}`, '');
    await prepareRequests(own, 3);
    const { rows } = await pg.superuser.query(
      'SELECT role::regrole, id FROM pg_barista.request ORDER BY position',
    );
    expect(rows.map((row) => Object.values(row).join(' '))).toEqual([
      'other old',
      'barista n3',
      'barista n4',
      'barista n5',
    ]);
    await other.end();
  });

  it('is unknown where nothing was ever named', async () => {
    const elsewhere = await pg.connect('postgres');
    expect(
      await readRequest(elsewhere, { owner: await ownerOf('barista', 'postgres'), name: 'x' }),
    ).toBeNull();
  });
});

describe('clients', () => {
  it('can neither read nor change names, nor make or drop anything there', async () => {
    for (const sql of [
      'SELECT * FROM pg_barista.request',
      "INSERT INTO pg_barista.request VALUES (10, 'x')",
      "SELECT nextval('pg_barista.request_order')",
      'CREATE TABLE pg_barista.mine ()',
      'DROP SCHEMA pg_barista CASCADE',
      'DROP FUNCTION pg_barista.begin_name()',
    ]) {
      expect([sql, await codeOf(barista.query(sql))]).toEqual([sql, '42501']);
    }
  });

  it('learn of their own names only', async () => {
    const other = await connectAs('other');
    await commitNamed(other, 'x', '');
    const { rows } = await barista.query("SELECT pg_barista.request_committed('x') AS is");
    expect(rows).toEqual([{ is: false }]);
    await barista.query('SET ROLE barista');
    expect((await other.query("SELECT pg_barista.request_committed('x') AS is")).rows).toEqual([
      { is: true },
    ]);
    await other.end();
  });

  it('cannot put functions or operators of their own under those that the superuser runs', async () => {
    const note = 'SELECT evil.note()';
    await barista.query(`CREATE SCHEMA evil; CREATE TABLE evil.seen (who text);
      CREATE FUNCTION evil.note() RETURNS void LANGUAGE sql AS 'INSERT INTO evil.seen SELECT current_user';
      CREATE FUNCTION evil.obj_description(oid, name) RETURNS text LANGUAGE sql AS '${note}; SELECT NULL::text';
      CREATE FUNCTION evil.current_setting(text, boolean) RETURNS text LANGUAGE sql AS '${note}; SELECT ''x''';
      CREATE FUNCTION evil.encode(bytea, text) RETURNS text LANGUAGE sql AS '${note}; SELECT ''x''';
      CREATE FUNCTION evil.array_to_string(text[], text) RETURNS text LANGUAGE sql AS '${note}; SELECT ''x''';
      CREATE FUNCTION evil.eq(text, text) RETURNS boolean LANGUAGE sql AS '${note}; SELECT true';
      GRANT USAGE ON SCHEMA evil TO PUBLIC; GRANT INSERT ON evil.seen TO PUBLIC`);
    await barista.query('CREATE OPERATOR evil.= (LEFTARG = text, RIGHTARG = text, FUNCTION = evil.eq)');
    await barista.query(`ALTER DATABASE ${pg.database} SET search_path = evil, pg_catalog`);
    await barista.query(`ALTER DATABASE ${pg.database} SET default_transaction_read_only = on`);
    await pg.superuser.query('DROP SCHEMA pg_barista CASCADE');
    const operator = await connectOwn();
    const victim = await connectAs('other');
    try {
      await prepareRequests(operator);
      await readRequest(operator, { owner: '1:1', name: 'x' });
      await findWeakenedCommits(operator);
      await victim.query("SET default_transaction_read_only = off; SET barista.request_id = 'x'");
      await victim.query('BEGIN; SELECT pg_barista.begin_name(); INSERT INTO public.t VALUES (1)');
      await victim.query("SELECT pg_barista.claim_name(''); COMMIT");
    } finally {
      await victim.end();
      await operator.end();
      await barista.query('SET default_transaction_read_only = off');
      await barista.query(`ALTER DATABASE ${pg.database} RESET ALL`);
    }
    expect((await pg.superuser.query('SELECT DISTINCT who FROM evil.seen')).rows).toEqual([]);
    await barista.query('DROP SCHEMA evil CASCADE');
  });
});

describe('a name that is asked for', () => {
  const begin = "SET barista.request_id = 'n3'; BEGIN; SELECT pg_barista.begin_name()";
  const lock = "SELECT pg_advisory_lock(hashtextextended('barista'::regrole::oid || ' n3', 7432))";

  it('is not blocked by an advisory lock of another role, held or waited for', async () => {
    const [hostile, second] = await Promise.all([connectAs('other'), connectAs('other')]);
    await hostile.query(lock);
    const waiting = second.query(lock);
    await barista.query(`SET statement_timeout = '10s'; ${begin}`);
    await barista.query('INSERT INTO public.t VALUES (1)');
    await barista.query("SELECT pg_barista.claim_name('INSERT 0 1')");
    await barista.query('COMMIT; RESET statement_timeout');
    expect(await readRequest(pg.superuser, { owner: await ownerOf('barista'), name: 'n3' })).not.toBeNull();
    await hostile.end();
    await waiting;
    await second.end();
  });

  it('is not blocked by an advisory lock that a prepared transaction of another role holds', async () => {
    const hostile = await connectAs('other');
    await hostile.query(`BEGIN; ${lock.replace('advisory_lock', 'advisory_xact_lock')}`);
    await hostile.query("PREPARE TRANSACTION 'hostile'");
    expect(await codeOf(barista.query(`SET statement_timeout = '10s'; ${begin}`))).toBeUndefined();
    await barista.query('ROLLBACK; RESET statement_timeout');
    await hostile.query("ROLLBACK PREPARED 'hostile'");
    await hostile.end();
  });

  it('is not left unused by a transaction that has written, and is READ ONLY since', async () => {
    await barista.query(begin.replaceAll('n3', 'n4'));
    await barista.query('INSERT INTO public.t VALUES (1)');
    await barista.query('SET TRANSACTION READ ONLY');
    expect(await codeOf(barista.query("SELECT pg_barista.claim_name('INSERT 0 1')"))).toBe('25006');
    await barista.query('ROLLBACK');
  });

  it('waits for a transaction of the same role and name, and fails once that has committed', async () => {
    const again = await connectAs('barista');
    await barista.query(begin);
    const waiting = codeOf(again.query(begin));
    await expect
      .poll(async () => {
        const { rows } = await pg.superuser.query(
          "SELECT FROM pg_stat_activity WHERE wait_event = 'advisory' AND usename = 'barista'",
        );
        return rows.length;
      })
      .toBe(1);
    await barista.query('INSERT INTO public.t VALUES (1)');
    await barista.query("SELECT pg_barista.claim_name('INSERT 0 1')");
    await barista.query('COMMIT');
    expect(await waiting).toBe('RQ001');
    await again.end();
  });

  it('waits in a way that PostgreSQL finds a circle of', async () => {
    const again = await connectAs('barista');
    const told = await again.query<{ limit: string }>(`SET lock_timeout = '1h'; SELECT pg_advisory_lock(7)`);
    expect(told).toHaveLength(2);
    await barista.query(begin);
    const first = codeOf(barista.query('SELECT pg_advisory_lock(7)'));
    const second = codeOf(again.query(begin));
    await Promise.race([first, second]);
    await again.query('ROLLBACK; RESET lock_timeout; SELECT pg_advisory_unlock_all()');
    expect(await Promise.all([first, second])).toContain('40P01');
    await barista.query('ROLLBACK; SELECT pg_advisory_unlock_all()');
    await again.end();
  });

  it('leaves the lock_timeout of its session as it was', async () => {
    const again = await connectAs('barista');
    await barista.query(begin);
    const waiting = again.query(`SET lock_timeout = '1h'; ${begin}; SHOW lock_timeout`);
    await expect
      .poll(
        async () =>
          (await pg.superuser.query("SELECT FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"))
            .rowCount,
      )
      .toBe(1);
    await barista.query('ROLLBACK');
    const results = (await waiting) as unknown as readonly { readonly rows: unknown[] }[];
    expect(results.at(-1)?.rows).toEqual([{ lock_timeout: '1h' }]);
    await again.query('ROLLBACK');
    await again.end();
  });

  it('waits no longer than lock_timeout', async () => {
    const again = await connectAs('barista');
    await barista.query(begin);
    expect(await codeOf(again.query(`SET lock_timeout = 60; ${begin}`))).toBe('55P03');
    await barista.query('ROLLBACK');
    await again.end();
  });
});

describe('the role that a name belongs to', () => {
  let carl: Client;
  beforeEach(async () => {
    await pg.superuser.query("CREATE ROLE carl LOGIN PASSWORD 'carl'");
    carl = await connectAs('carl');
  });
  afterEach(async () => {
    await carl.end();
    await pg.superuser.query('DROP ROLE IF EXISTS carl; DROP ROLE IF EXISTS dora');
  });
  const renameCarl = (): Promise<unknown> =>
    pg.superuser.query(
      "ALTER ROLE carl RENAME TO dora; ALTER ROLE dora PASSWORD 'dora'; CREATE ROLE carl LOGIN PASSWORD 'carl'",
    );
  const isDone = async (client: Client): Promise<unknown> =>
    (await client.query("SELECT pg_barista.request_committed('x') AS done")).rows[0].done;

  it('keeps it when it is renamed, and a new role of its name does not get it', async () => {
    await commitNamed(carl, 'x', 'INSERT 0 1');
    await renameCarl();
    const [dora, newCarl] = await Promise.all([connectAs('dora'), connectAs('carl')]);
    // The sessions from before the renaming are the old role's.
    expect(await Promise.all([carl, dora, newCarl].map(isDone))).toEqual([true, true, false]);
    for (const same of [carl, dora]) {
      expect(await codeOf(commitNamed(same, 'x', ''))).toBe('RQ001');
      await same.query('ROLLBACK');
      expect(await codeOf(same.query("SET barista.request_id = 'x'; SELECT pg_barista.begin_name()"))).toBe(
        'RQ001',
      );
    }
    expect(await commitNamed(newCarl, 'x', '')).toBe(`claimed ${await ownerOf('carl')} ${hex('x')}`);
    await Promise.all([dora.end(), newCarl.end()]);
  });

  it('is its object id as it is now, whatever the snapshot of the transaction shows', async () => {
    await carl.query('BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT FROM public.t');
    await renameCarl();
    const owner = await ownerOf('dora');
    expect(await commitNamed(carl, 'x', '')).toBe(`claimed ${owner} ${hex('x')}`);
    expect(await readRequest(own, { owner, name: 'x' })).toEqual({ tag: null });
  });

  it.each(['123', '-', 'Ä "b".c'])('may have any name: %s', async (name) => {
    await pg.superuser.query(`ALTER ROLE carl RENAME TO "${name.replaceAll('"', '""')}"`);
    const claimed = await commitNamed(carl, 'x', '');
    expect(claimed).toBe(`claimed ${await ownerOf(name)} ${hex('x')}`);
    await pg.superuser.query(`ALTER ROLE "${name.replaceAll('"', '""')}" RENAME TO dora`);
  });

  it('takes it along when it is dropped', async () => {
    await commitNamed(carl, 'x', 'INSERT 0 1');
    const before = await ownerOf('carl');
    await pg.superuser.query("DROP ROLE carl; CREATE ROLE carl LOGIN PASSWORD 'carl'");
    const newCarl = await connectAs('carl');
    expect(await isDone(newCarl)).toBe(false);
    await commitNamed(newCarl, 'y', '');
    await prepareRequests(own);
    const { rows } = await pg.superuser.query('SELECT role::regrole::text, id FROM pg_barista.request');
    expect(rows).toEqual([{ role: 'carl', id: 'y' }]);
    expect(await readRequest(own, { owner: before, name: 'x' })).toBe('unknown');
    await newCarl.end();
  });

  it('is told from another one of its name by whoever asks what became of it', async () => {
    await commitNamed(carl, 'x', 'INSERT 0 1');
    const owner = await ownerOf('carl');
    await renameCarl();
    expect(await readRequest(own, { owner, name: 'x' })).toEqual({ tag: 'INSERT 0 1' });
    expect(await readRequest(own, { owner: await ownerOf('carl'), name: 'x' })).toBeNull();
    await pg.superuser.query('DROP ROLE dora');
    expect(await readRequest(own, { owner, name: 'x' })).toEqual({ tag: 'INSERT 0 1' });
    expect(await readRequest(own, { owner, name: 'y' })).toBe('unknown');
    // Of another database that has the name by now, and by a name, as releases before tell it.
    const elsewhere = owner.replace(/:.*/, ':1');
    expect(await readRequest(own, { owner: elsewhere, name: 'x' })).toBe('unknown');
    expect(await readRequest(own, { owner: 'carl', name: 'x' })).toBe('unknown');
  });

  it('is renamed, and prepares its transaction again: it hears so at once', async () => {
    await carl.query("BEGIN; INSERT INTO public.t VALUES (1); SET LOCAL barista.request_id = 'x'");
    await carl.query("SELECT pg_barista.claim_name('PREPARE TRANSACTION'); PREPARE TRANSACTION 'one'");
    await renameCarl();
    const [dora, newCarl] = await Promise.all([connectAs('dora'), connectAs('carl')]);
    const claims = (client: Client): Promise<string | undefined> =>
      codeOf(
        client.query(
          "BEGIN; SET LOCAL barista.request_id = 'x'; SET LOCAL lock_timeout = '5s'; SELECT pg_barista.claim_name('PREPARE TRANSACTION')",
        ),
      );
    expect(await Promise.all([dora, newCarl].map(claims))).toEqual(['RQ001', undefined]);
    await Promise.all([dora.end(), newCarl.end()]);
    await pg.superuser.query("ROLLBACK PREPARED 'one'");
  });
});

describe('names from before they had object ids of roles', () => {
  /** What is there in version 5, as far as it differs. */
  const before = `DROP SCHEMA IF EXISTS pg_barista CASCADE; SET allow_system_table_mods = on; CREATE SCHEMA pg_barista; GRANT USAGE ON SCHEMA pg_barista TO PUBLIC;
    CREATE SEQUENCE pg_barista.request_order;
    CREATE TABLE pg_barista.request (role text NOT NULL, id text NOT NULL, tag text, position bigint NOT NULL DEFAULT nextval('pg_barista.request_order'), PRIMARY KEY (role, id));
    CREATE INDEX request_by_position ON pg_barista.request (role, position);
    CREATE FUNCTION pg_barista.begin_request() RETURNS text LANGUAGE sql AS 'SELECT ''none''';
    CREATE FUNCTION pg_barista.claim_request(told text) RETURNS text LANGUAGE sql AS 'SELECT ''none''';
    CREATE FUNCTION pg_barista.describe_request(kind text, request text) RETURNS text LANGUAGE sql AS 'SELECT ''none''';
    CREATE FUNCTION pg_barista.request_committed(request text) RETURNS boolean LANGUAGE sql AS 'SELECT false';
    COMMENT ON SCHEMA pg_barista IS 'barista requests 5'; RESET allow_system_table_mods;
    INSERT INTO pg_barista.request VALUES ('barista', 'x', 'INSERT 0 1'), ('gone', 'x', ''), ('Ä b', 'x', NULL)`;
  beforeEach(async () => {
    await pg.superuser.query('CREATE ROLE "Ä b"');
    await pg.superuser.query(before);
  });
  afterEach(async () => {
    await pg.superuser.query('DROP ROLE "Ä b"; DROP SCHEMA pg_barista CASCADE');
  });

  it('are brought over, but for those of roles that are gone', async () => {
    await prepareRequests(own);
    const { rows } = await pg.superuser.query(
      'SELECT role::regrole::text, id, tag, position::int FROM pg_barista.request ORDER BY position',
    );
    expect(rows).toEqual([
      { role: 'barista', id: 'x', tag: 'INSERT 0 1', position: 1 },
      { role: '"Ä b"', id: 'x', tag: null, position: 3 },
    ]);
    await barista.query("SET barista.request_id = 'x'");
    expect(await codeOf(barista.query('SELECT pg_barista.begin_name()'))).toBe('RQ001');
    // Nobody takes what these told for object ids.
    expect(await codeOf(barista.query('SELECT pg_barista.begin_request()'))).toBe('42883');
  });

  it('wait for a prepared transaction that has one of them, and the client hears so', async () => {
    await pg.superuser.query("BEGIN; INSERT INTO pg_barista.request VALUES ('barista', 'y')");
    await pg.superuser.query("PREPARE TRANSACTION 'one'");
    await expect(prepareRequests(own)).rejects.toThrow('pg_prepared_xacts');
    await pg.superuser.query("COMMIT PREPARED 'one'");
    await prepareRequests(own);
    expect(await readRequest(own, { owner: await ownerOf('barista'), name: 'y' })).toEqual({ tag: null });
  });
});

it('two sessions make everything at the same time', async () => {
  const one = await connectOwn();
  const two = await connectOwn();
  await pg.superuser.query('DROP SCHEMA pg_barista CASCADE');
  await Promise.all([prepareRequests(one), prepareRequests(two)]);
  await Promise.all([one.end(), two.end()]);
  await commitNamed(barista, 'x', '');
  const { rows } = await pg.superuser.query('SELECT id FROM pg_barista.request');
  expect(rows).toEqual([{ id: 'x' }]);
});

describe('settings that outlive their session', () => {
  it.each([
    [
      'ALTER ROLE barista SET synchronous_commit = off',
      'ALTER ROLE barista RESET ALL',
      'setting of role barista',
    ],
    [
      'ALTER DATABASE barista SET synchronous_commit = local',
      'ALTER DATABASE barista RESET ALL',
      'in database barista',
    ],
    [
      'CREATE FUNCTION f() RETURNS int LANGUAGE sql SET synchronous_commit = off AS $$ SELECT 1 $$',
      'DROP FUNCTION f',
      'function f()',
    ],
    [
      "CREATE FUNCTION f() RETURNS text LANGUAGE sql AS $$ SELECT set_config('Synchronous_Commit', 'off', false) $$",
      'DROP FUNCTION f',
      'function f()',
    ],
    [
      "CREATE FUNCTION f() RETURNS text LANGUAGE sql RETURN set_config('synchronous_commit', 'off', false)",
      'DROP FUNCTION f',
      'function f()',
    ],
    ["CREATE VIEW v AS SELECT set_config('synchronous_commit', 'off', false)", 'DROP VIEW v', 'view v'],
    [
      "CREATE TABLE d (a text DEFAULT set_config('synchronous_commit', 'off', false))",
      'DROP TABLE d',
      'default of a column of d',
    ],
    [
      "CREATE TABLE d (a int CHECK (set_config('synchronous_commit', 'off', false) = 'off'))",
      'DROP TABLE d',
      'constraint d_check',
    ],
    [
      "CREATE TABLE d (a int); CREATE POLICY p ON d USING (set_config('synchronous_commit', 'off', false) = 'off')",
      'DROP TABLE d',
      'policy p',
    ],
    [
      "CREATE FUNCTION f(p text DEFAULT 'synchronous_commit') RETURNS text LANGUAGE sql AS $$ SELECT set_config(p, 'off', false) $$",
      'DROP FUNCTION f',
      'function f(text)',
    ],
    [
      "CREATE AGGREGATE f(text) (SFUNC = textcat, STYPE = text, INITCOND = 'synchronous_commit')",
      'DROP AGGREGATE f(text)',
      'function f(text)',
    ],
    [
      "CREATE TABLE d (a text); CREATE INDEX i ON d ((a || 'synchronous_commit'))",
      'DROP TABLE d',
      'index public.i',
    ],
    [
      "CREATE TABLE d (a text); CREATE INDEX i ON d (a) WHERE a <> 'synchronous_commit'",
      'DROP TABLE d',
      'index public.i',
    ],
    [
      "CREATE TABLE d (a text, b int); CREATE STATISTICS ON (a || 'synchronous_commit'), b FROM d",
      'DROP TABLE d',
      'statistics d_expr_b_stat',
    ],
    [
      "CREATE TABLE d (a text) PARTITION BY LIST ((a || 'synchronous_commit'))",
      'DROP TABLE d',
      'partitions of d',
    ],
    [
      "CREATE TABLE d (a int, EXCLUDE (a WITH =) WHERE (a::text <> 'synchronous_commit'))",
      'DROP TABLE d',
      'index public.d_a_excl',
    ],
    [
      "CREATE DOMAIN dm AS text DEFAULT set_config('synchronous_commit', 'off', false)",
      'DROP DOMAIN dm',
      'type dm',
    ],
  ])('%s', async (make, undo, found) => {
    await pg.superuser.query('SET search_path = public');
    expect(await findWeakenedCommits(own)).toEqual([]);
    await pg.superuser.query(`SET search_path = public; ${make}`);
    const where = await findWeakenedCommits(own);
    await pg.superuser.query(`SET search_path = public; ${undo}`);
    expect(where).toHaveLength(1);
    expect(where[0]).toContain(
      found.replace(/ (f|v|d)\b/, ' public.$1').replace('type dm', 'type public.dm'),
    );
  });

  it('are looked for no longer than a minute in one database, whatever is defined there', async () => {
    await findWeakenedCommits(own);
    const { rows } = await own.query<{ statement_timeout: string }>('SHOW statement_timeout');
    expect(rows).toEqual([{ statement_timeout: '1min' }]);
  });

  it('are looked for in every database but one whose removal was interrupted', async () => {
    await pg.superuser.query('CREATE DATABASE broken');
    await pg.superuser.query("UPDATE pg_database SET datconnlimit = -2 WHERE datname = 'broken'");
    expect(await lookIn(pg)).toEqual([]);
    await pg.superuser.query('DROP DATABASE broken');
  });

  it('are looked for in all databases, though there are more than are looked into at once', async () => {
    const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'].map((letter) => `many_${letter}`);
    for (const name of names) {
      await pg.superuser.query(`CREATE DATABASE ${name}`);
      const inside = await pg.connect(name);
      await inside.query("CREATE VIEW public.v AS SELECT 'synchronous_commit'");
      await inside.end();
    }
    const found = await lookIn(pg);
    for (const name of names) await pg.superuser.query(`DROP DATABASE ${name}`);
    expect(found).toEqual(names.map((name) => `rule or view public.v (database ${name})`));
  });

  it.each([
    "local_preload_libraries = 'nowhere'",
    "session_preload_libraries = 'nowhere'",
    'role = other',
    "idle_session_timeout = '1ms'",
    "statement_timeout = '1ms'",
    "transaction_timeout = '20ms'",
  ])('are looked for whatever else its owner has set for a database: %s', async (setting) => {
    await pg.superuser.query("CREATE VIEW public.v AS SELECT set_config('synchronous_commit', 'off', false)");
    await pg.superuser.query(`ALTER DATABASE ${pg.database} SET ${setting}`);
    const found = await lookIn(pg).catch((error: unknown) => error);
    const names = await installRequestsIn(pg, pg.database).catch((error: unknown) => error);
    const after = await pg.connect('postgres');
    await after.query(`ALTER DATABASE ${pg.database} RESET ALL`);
    await pg.superuser.query('DROP VIEW public.v');
    expect([found, names]).toEqual([[`rule or view public.v (database ${pg.database})`], undefined]);
  });

  it('are looked for without a limit on the time of a transaction', async () => {
    await pg.superuser.query(`ALTER DATABASE ${pg.database} SET transaction_timeout = '1min'`);
    const client = await connectPg({ ...pg, database: pg.database, silentMsMax: null });
    await pg.superuser.query(`ALTER DATABASE ${pg.database} RESET ALL`);
    const { rows } = await client.query('SHOW transaction_timeout');
    await client.end();
    expect(rows).toEqual([{ transaction_timeout: '0' }]);
  });

  it('are taken for found in a database that lets nobody in, unless that is the one that initdb made so', async () => {
    await pg.superuser.query('CREATE DATABASE shut ALLOW_CONNECTIONS false');
    const found = await lookIn(pg);
    await pg.superuser.query('DROP DATABASE shut');
    expect(found).toEqual(['the database shut cannot be looked into: it lets nobody in']);
    expect(await lookIn(pg)).toEqual([]);
  });

  it.each([
    ['', true],
    ['synchronous_commit = local', true],
    ['synchronous_commit = on', false],
    ['synchronous_commit = remote_apply', false],
  ])('are those of a subscription whose workers do not wait: "%s"', async (setting, isFound) => {
    const options = ['connect = false', 'slot_name = NONE', setting].filter((one) => one !== '').join(', ');
    await pg.superuser.query(`CREATE SUBSCRIPTION s CONNECTION 'dbname=x' PUBLICATION p WITH (${options})`);
    const found = await lookIn(pg);
    await pg.superuser.query('DROP SUBSCRIPTION s');
    expect(found).toEqual(isFound ? [`subscription s (database ${pg.database})`] : []);
  });
});
