import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { locateBinaries } from './binaries.ts';
import { connectPg } from './pg-client.ts';
import { startPostgres } from './postgres-server.ts';
import type { PostgresServer } from './postgres-server.ts';

let root: string;
let server: PostgresServer;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-pg-'));
  server = await startPostgres({ directory: join(root, 'a'), binaries: await locateBinaries() });
});
afterAll(async () => {
  await server.stop();
  await rm(root, { recursive: true, force: true });
});

it('the first start creates the role and the database', async () => {
  const client = await connectPg({ ...server, user: 'barista', password: 'barista' });
  const row = (
    await client.query(`SELECT current_database() AS d, current_user AS u, rolsuper AS s, pg_encoding_to_char(encoding) AS e
    FROM pg_roles, pg_database WHERE rolname = current_user AND datname = current_database()`)
  ).rows[0] as unknown;
  await client.end();
  expect(row).toEqual({ d: 'barista', u: 'barista', s: false, e: 'UTF8' });
});
