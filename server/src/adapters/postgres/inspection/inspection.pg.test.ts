import type { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { RelationName, RunningTransaction } from '../../../api/wal-summary.ts';
import { makeBarePostgres, type BarePostgres } from '../../../wal/record/testing/bare-postgres.ts';
import { fileKey } from '../../../payload/wal/summary/name-relations.ts';
import { connectPg } from '../pg-client.ts';
import { connectAs } from '../testing/test-instance.ts';
import { relationNames } from './relation-names.ts';
import { runningTransactions } from './running-transactions.ts';
import { TransactionView } from './transaction-view.ts';

let postgres: BarePostgres;
let admin: Client;
const connect = (database: string | Uint8Array): Promise<Client> =>
  connectPg({ socketDir: postgres.socketDir, database, silentMsMax: null });

beforeAll(async () => {
  postgres = await makeBarePostgres();
  await postgres.start();
  admin = await postgres.connect();
  await admin.query('CREATE ROLE app LOGIN');
  await admin.query('CREATE DATABASE shop OWNER app');
});
afterAll(async () => postgres.remove());

/** What each of these is called, by the name that it was asked for. */
async function namesOf(
  database: string,
  relations: readonly string[],
): Promise<Record<string, RelationName | undefined>> {
  const client = await postgres.connect(database);
  const sql = `SELECT d.oid::int8::int AS database, pg_relation_filenode(r.name::regclass)::int8::int AS relation, r.name
    FROM unnest($1::text[]) AS r(name), pg_database d WHERE d.datname = current_database()`;
  const { rows } = await client.query<{ database: number; relation: number; name: string }>(sql, [relations]);
  const files = rows.map(({ database, relation }) => ({ tablespace: 1663, database, relation }));
  const names = await relationNames(files, connect);
  return Object.fromEntries(rows.map(({ name }, i) => [name, names.get(fileKey(files[i]!))]));
}

describe('the names of files', () => {
  it('are those of tables, indexes, sequences and TOAST tables, and whose they are', async () => {
    const client = await postgres.connect('shop');
    await client.query(
      'CREATE SCHEMA other; CREATE TABLE orders (id serial PRIMARY KEY, note text); CREATE TABLE other.orders (id int)',
    );
    const { rows } = await client.query<{ toast: string }>(
      "SELECT reltoastrelid::regclass::text AS toast FROM pg_class WHERE relname = 'orders' AND reltoastrelid <> 0",
    );
    const { toast } = rows[0]!;
    const names = await namesOf('shop', [
      'orders',
      'other.orders',
      'orders_pkey',
      'orders_id_seq',
      toast,
      'pg_statistic',
    ]);
    expect(names).toEqual({
      orders: { name: 'orders', kind: 'table', table: null, isSystem: false },
      'other.orders': { name: 'other.orders', kind: 'table', table: null, isSystem: false },
      orders_pkey: { name: 'orders_pkey', kind: 'index', table: 'orders', isSystem: false },
      orders_id_seq: { name: 'orders_id_seq', kind: 'sequence', table: null, isSystem: false },
      [toast]: { name: toast.replace('pg_toast.', ''), kind: 'toast', table: 'orders', isSystem: false },
      pg_statistic: { name: 'pg_statistic', kind: 'table', table: null, isSystem: true },
    });
  });

  it('of what is shared by all databases are found', async () => {
    const { rows } = await admin.query<{ file: number }>(
      "SELECT pg_relation_filenode('pg_authid')::int8::int AS file",
    );
    const file = { tablespace: 1664, database: 0, relation: rows[0]!.file };
    const names = await relationNames([file], connect);
    expect(names.get(fileKey(file))).toMatchObject({ name: 'pg_authid', isSystem: true });
  });

  it('are found in the database itself, and not in one whose name reads alike', async () => {
    await admin.query("CREATE DATABASE latin ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0");
    const latin = await postgres.connect('latin');
    // In bytes: E9, and what stands for bytes that are no UTF-8.
    await latin.query('CREATE DATABASE "\u00e9" TEMPLATE template0');
    await admin.query('CREATE DATABASE "\ufffd" TEMPLATE template0');
    const { rows } = await admin.query<{ oid: number; bytes: Buffer }>(
      "SELECT oid, namesend(datname) AS bytes FROM pg_database WHERE namesend(datname) = '\\xe9'::bytea",
    );
    const client = await connect(rows[0]!.bytes);
    await client.query('CREATE TABLE public.here (a int)');
    const made = await client.query<{ file: number }>(
      "SELECT pg_relation_filenode('public.here')::int8::int AS file",
    );
    await client.end();
    const file = { tablespace: 1663, database: rows[0]!.oid, relation: made.rows[0]!.file };
    expect((await relationNames([file], connect)).get(fileKey(file))).toMatchObject({ name: 'here' });
  });

  it('are missing for what is gone, and nothing fails', async () => {
    const files = [
      { tablespace: 1663, database: 5, relation: 999_999 },
      { tablespace: 1663, database: 999_999, relation: 1_259 },
    ];
    expect(await relationNames(files, connect)).toEqual(new Map());
    const away = (): Promise<Client> => Promise.reject(new Error('PostgreSQL is away'));
    expect(await relationNames(files, away)).toEqual(new Map());
  });

  it('are not asked through functions of the owner of the database', async () => {
    const client = await postgres.connect('shop');
    await client.query('SET ROLE app');
    await client.query('CREATE SCHEMA trap');
    await client.query(
      "CREATE FUNCTION trap.pg_filenode_relation(oid, oid) RETURNS regclass LANGUAGE plpgsql AS $$ BEGIN RAISE 'trapped'; END $$",
    );
    await client.query('ALTER DATABASE shop SET search_path = trap, pg_catalog');
    const names = await namesOf('shop', ['public.orders']);
    await client.query('ALTER DATABASE shop RESET search_path');
    expect(names['public.orders']?.name).toBe('orders');
  });
});

describe('the running transactions', () => {
  async function seen(): Promise<readonly RunningTransaction[]> {
    return (await runningTransactions(admin, true)).transactions;
  }

  it('are those of clients, with what they are at', async () => {
    const client = await connectAs(postgres.socketDir, 'app', 'shop');
    expect(await seen()).toEqual([]);
    await client.query('BEGIN');
    await client.query('CREATE TABLE mine (a text)');
    await client.query(`INSERT INTO mine VALUES ('${'x'.repeat(500)}')`);
    const { rows } = await client.query<{ xid: string }>('SELECT pg_current_xact_id()::text AS xid');
    await client.query('SELECT 1');
    expect(await seen()).toEqual([
      expect.objectContaining({
        state: 'idle',
        user: 'app',
        database: 'shop',
        sql: 'SELECT 1',
        xid: Number(rows[0]!.xid),
      }),
    ]);
    const sleeping = client
      .query(`SELECT pg_sleep(60), '${'y'.repeat(500)}'`)
      .catch((error: unknown) => error);
    await expect.poll(async () => (await seen())[0]?.state).toBe('running');
    const [running] = await seen();
    expect(running!.sql).toHaveLength(201);
    expect(running!.sinceMs).toBeGreaterThan(0);
    expect((await runningTransactions(admin, false)).transactions).toEqual([
      { ...running, sql: null, sinceMs: expect.any(Number) as number },
    ]);
    await admin.query('SELECT pg_cancel_backend($1)', [running!.pid]);
    expect(await sleeping).toMatchObject({ code: '57014' });
    await client.end();
    await expect.poll(seen).toEqual([]);
  });

  it('are asked in one session, which is opened again when it is gone', async () => {
    const view = new TransactionView({ connect: () => connect('postgres'), tellsSql: true });
    const sessions = async (): Promise<readonly number[]> => {
      const { rows } = await admin.query<{ pid: number }>(
        "SELECT pid FROM pg_stat_activity WHERE usesysid = 10 AND query LIKE '%xact_start%' AND pid <> pg_backend_pid()",
      );
      return rows.map(({ pid }) => pid);
    };
    const client = await connectAs(postgres.socketDir, 'app', 'shop');
    await client.query('BEGIN');
    const open = { transactions: [expect.objectContaining({ state: 'idle', sql: 'BEGIN' })], more: 0 };
    expect(await view.look()).toEqual(open);
    expect(await view.look()).toEqual(open);
    const [first, ...others] = await sessions();
    expect(others).toEqual([]);
    await admin.query('SELECT pg_terminate_backend($1)', [first]);
    await expect.poll(async () => (await view.look().catch(() => null))?.transactions.length).toBe(1);
    const [second] = await sessions();
    expect(second).not.toBe(first);
    await view.close();
    await expect.poll(sessions).toEqual([]);
    await client.end();
  });

  it('wait if their COMMIT waits for the synchronous standby', async () => {
    const client = await connectAs(postgres.socketDir, 'app', 'shop');
    await client.query('CREATE TABLE waits (a int)');
    await admin.query("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
    await admin.query('SELECT pg_reload_conf()');
    let committed: Promise<unknown> = Promise.resolve();
    let isOver = true;
    // Who commits before PostgreSQL has read its configuration again does not wait.
    const commit = (): void => {
      isOver = false;
      committed = client.query('INSERT INTO waits VALUES (1)').finally(() => (isOver = true));
    };
    await expect
      .poll(async () => {
        if (isOver) commit();
        return (await seen())[0]?.state;
      })
      .toBe('waiting');
    expect((await seen())[0]).toMatchObject({
      sql: 'INSERT INTO waits VALUES (1)',
      xid: expect.any(Number) as number,
    });
    await admin.query('ALTER SYSTEM RESET synchronous_standby_names');
    await admin.query('SELECT pg_reload_conf()');
    await committed;
    await client.end();
  });
});
