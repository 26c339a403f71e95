import { createHash, createHmac, pbkdf2Sync } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { prepareFounding } from './founding.ts';
import type { PostgresInstance } from './instance/postgres-instance.ts';
import { connectAlone, makeData, openTestInstance, testBinaries } from './testing/test-instance.ts';

let root = '';
let instance: PostgresInstance;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-founding-'));
  await makeData(join(root, 'postgres'));
  instance = await openTestInstance(join(root, 'postgres'));
  await instance.start({ kind: 'primary' });
});
afterAll(async () => {
  await instance.close();
  await rm(root, { recursive: true, force: true });
});

async function found(name: string, password: string, database: string): Promise<void> {
  const { socketDir } = instance;
  const { majorVersion } = await testBinaries();
  await prepareFounding({ socketDir, majorVersion, database, role: { name, password } });
}

async function ask(query: string): Promise<Record<string, unknown>[]> {
  const client = await connectAlone(instance);
  const { rows } = await client.query<Record<string, unknown>>(query);
  await client.end();
  return rows;
}

async function logIn(user: string, database: string): Promise<string> {
  const client = new Client({ host: instance.socketDir, port: instance.port, user, database });
  try {
    await client.connect();
    const { rows } = await client.query<{ who: string }>('SELECT current_user AS who');
    return rows[0]!.who;
  } finally {
    await client.end();
  }
}

/** By what PostgreSQL keeps of it: whoever comes by its socket is not asked. */
function isPassword(verifier: string, password: string): boolean {
  const [, iterations, salt, storedKey] = /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):/.exec(verifier) ?? [];
  if (salt === undefined) throw new Error(`this is no verifier: ${verifier}`);
  const salted = pbkdf2Sync(password, Buffer.from(salt, 'base64'), Number(iterations), 32, 'sha256');
  const clientKey = createHmac('sha256', salted).update('Client Key').digest();
  return createHash('sha256').update(clientKey).digest('base64') === storedKey;
}

const awkward = { name: 'Bar"ista', password: "it's \\ secret", database: 'my "shop"' };

it('makes the role and its database while nobody could choose a commit', async () => {
  await found(awkward.name, awkward.password, awkward.database);
  expect(await logIn(awkward.name, awkward.database)).toBe(awkward.name);
  const owners = await ask(
    `SELECT datname AS name, pg_get_userbyid(datdba) AS owner, pg_encoding_to_char(encoding) AS encoding
     FROM pg_database WHERE datname LIKE 'my%'`,
  );
  expect(owners).toEqual([{ name: awkward.database, owner: awkward.name, encoding: 'UTF8' }]);
});

it('gives the role nothing by which it could reach the server, its files or its replication', async () => {
  const { majorVersion } = await testBinaries();
  const [role] = await ask(
    `SELECT rolsuper, rolcreaterole, rolcreatedb, rolreplication, rolbypassrls FROM pg_roles WHERE rolname LIKE 'Bar%'`,
  );
  expect(role).toEqual({
    rolsuper: false,
    rolcreaterole: majorVersion >= 16,
    rolcreatedb: true,
    rolreplication: false,
    rolbypassrls: false,
  });
});

it('is done again after a crash half-way: the password is that of the configuration, the data stays', async () => {
  await ask(`ALTER ROLE "Bar""ista" SUPERUSER`);
  await found(awkward.name, 'another one', awkward.database);
  const [row] = await ask(`SELECT rolpassword FROM pg_authid WHERE rolname LIKE 'Bar%'`);
  const verifier = String(row?.['rolpassword']);
  expect([awkward.password, 'another one'].map((password) => isPassword(verifier, password))).toEqual([
    false,
    true,
  ]);
  expect(await ask(`SELECT rolsuper FROM pg_roles WHERE rolname LIKE 'Bar%'`)).toEqual([{ rolsuper: false }]);
});

it.each(['postgres', 'pg_read_server_files'])('refuses the name %s', async (name) => {
  await expect(found(name, 'secret', 'shop')).rejects.toThrow(`The role name ${name} is reserved.`);
  expect(await ask("SELECT FROM pg_database WHERE datname = 'shop'")).toEqual([]);
});
