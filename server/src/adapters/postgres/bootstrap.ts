/**
 * What a new PostgreSQL needs before clients come: roles, the replicated database, and rights taken from everybody.
 *
 * Runs at each start of a replica, as the superuser, whose changes are not replicated: every replica does the same. Durable when
 * it returns.
 */
import type { Client } from 'pg';
import { connectPg, quoteIdentifier, quoteLiteral, rollBackPrepared } from './pg-client.ts';
import { installSchema } from './schema/install-schema.ts';

export interface RoleOptions {
  readonly name: string;
  readonly password: string;
}

export interface BootstrapOptions {
  readonly socketDir: string;
  readonly database: string;
  readonly roles: readonly RoleOptions[];
  readonly secret: string;
}

export const reservedUsers = ['postgres'] as const;

/** The log replays what a crash takes from asynchronous commits, but nobody replays this. */
const waitForDisk = 'SET synchronous_commit = on';

export async function bootstrap(options: BootstrapOptions): Promise<void> {
  const cluster = await connectPg({ socketDir: options.socketDir, database: 'postgres' });
  try {
    await cluster.query(waitForDisk);
    for (const role of options.roles) await ensureRole(cluster, role);
    await ensureDatabase(cluster, options.database, options.roles[0]?.name ?? 'postgres');
  } finally {
    await cluster.end();
  }
  const client = await connectPg({ socketDir: options.socketDir, database: options.database });
  try {
    await client.query(waitForDisk);
    // An earlier life, or the replica that this is a copy of, left them; they hold locks that the schema's installation would wait for.
    await rollBackPrepared(client);
    await installSchema(client, options.secret);
  } finally {
    await client.end();
  }
}

async function ensureRole(client: Client, role: RoleOptions): Promise<void> {
  if (
    (reservedUsers as readonly string[]).includes(role.name) ||
    role.name.startsWith('pg_') ||
    role.name === '_barista'
  ) {
    throw new Error(`The role name ${role.name} is reserved.`);
  }
  const found = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [role.name]);
  const verb = found.rowCount === 0 ? 'CREATE' : 'ALTER';
  await client.query(
    `${verb} ROLE ${quoteIdentifier(role.name)} WITH LOGIN NOSUPERUSER NOCREATEROLE NOCREATEDB NOREPLICATION NOBYPASSRLS ` +
      `PASSWORD ${quoteLiteral(role.password)}`,
  );
}

async function ensureDatabase(client: Client, database: string, owner: string): Promise<void> {
  const found = await client.query('SELECT FROM pg_database WHERE datname = $1', [database]);
  if (found.rowCount === 0) {
    await client.query(
      `CREATE DATABASE ${quoteIdentifier(database)} OWNER ${quoteIdentifier(owner)} TEMPLATE template0`,
    );
  }
  // One database is replicated; nobody but the operator enters the others.
  for (const other of ['postgres', 'template1']) {
    if (other !== database) await client.query(`REVOKE CONNECT ON DATABASE ${other} FROM PUBLIC`);
  }
}
