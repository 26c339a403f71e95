/**
 * What a group's first PostgreSQL is given before anybody may come: the role and the database that clients connect to.
 *
 * Done once, when a group is founded; from then on roles and databases are data like any other. Its commits do not wait for anybody, for there is nobody yet: they are durable here when it returns, and part of every copy.
 */
import type { Client } from 'pg';
import { answerMs, connectPg, quoteIdentifier, quoteLiteral } from './pg-client.ts';
import { reservedUsers } from './reserved-users.ts';
import { ownSql } from '../../pgwire/own-sql.ts';

export interface FoundingOptions {
  readonly socketDir: string;
  readonly majorVersion: number;
  readonly database: string;
  /** Owns the database. */
  readonly role: { readonly name: string; readonly password: string };
  /** A role and a database that are there are left as they are. */
  readonly keeps?: boolean;
}

/** @throws Error if the name of the role is one of PostgreSQL's own */
export async function prepareFounding({
  socketDir,
  majorVersion,
  database,
  role,
  keeps = false,
}: FoundingOptions): Promise<void> {
  if (reservedUsers.includes(role.name) || role.name.startsWith('pg_')) {
    throw new Error(`The role name ${role.name} is reserved.`);
  }
  const client = await connectPg({ socketDir, database: 'postgres', silentMsMax: answerMs.thorough });
  try {
    await client.query('SET synchronous_commit = local');
    await ensureRole(client, role, majorVersion, keeps);
    const found = await client.query(ownSql('SELECT FROM pg_catalog.pg_database WHERE datname = $1'), [
      database,
    ]);
    if (found.rowCount !== 0) return;
    const [name, owner] = [quoteIdentifier(database), quoteIdentifier(role.name)];
    await client.query(`CREATE DATABASE ${name} OWNER ${owner} TEMPLATE template0`);
  } finally {
    await client.end();
  }
}

/** Before version 16 who could create roles could make anybody a member of those that read and write the server's files. */
async function ensureRole(
  client: Client,
  role: FoundingOptions['role'],
  majorVersion: number,
  keeps: boolean,
): Promise<void> {
  const found = await client.query(ownSql('SELECT FROM pg_catalog.pg_roles WHERE rolname = $1'), [role.name]);
  if (keeps && found.rowCount !== 0) return;
  const verb = found.rowCount === 0 ? 'CREATE' : 'ALTER';
  const createsRoles = majorVersion >= 16 ? 'CREATEROLE' : 'NOCREATEROLE';
  await client.query(
    `${verb} ROLE ${quoteIdentifier(role.name)} WITH LOGIN NOSUPERUSER CREATEDB ${createsRoles} NOREPLICATION NOBYPASSRLS PASSWORD ${quoteLiteral(role.password)}`,
  );
}
