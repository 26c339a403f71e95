/**
 * Sessions of the replica itself that read what clients have made.
 *
 * Responsible for: which settings such a session has, and for opening it. A database's owner can attach settings to it (ALTER DATABASE ... SET), which are in force from a session's beginning: `role` among them,
 * and time limits. What is given when the session is opened comes before those.
 * Invariant: a session that is returned is the superuser's.
 */
import { Client } from 'pg';
import { socketPort } from '../data-directory.ts';
import { startupOptions, withoutLibraries } from '../pg-client.ts';

/** `socketDir`, `version`: of the replica's PostgreSQL. */
export interface ReadingAddress {
  readonly socketDir: string;
  /** Such as `18.4`. */
  readonly version: string;
  readonly port?: number;
}

export const readingUser = 'postgres';

/** Somebody who keeps a table locked, in a prepared transaction say, does not keep a comparison waiting. */
export const lockTimeoutMs = 5000;

const settings: Readonly<Record<string, string>> = {
  ...withoutLibraries,
  role: 'none',
  search_path: '',
  row_security: 'off',
  // PostgreSQL gives the rows in the order in which they lie.
  synchronize_seqscans: 'off',
  enable_indexscan: 'off',
  enable_indexonlyscan: 'off',
  enable_bitmapscan: 'off',
  max_parallel_workers_per_gather: '0',
  // Texts are as they are stored.
  client_encoding: 'SQL_ASCII',
  extra_float_digits: '1',
  datestyle: 'ISO,YMD',
  intervalstyle: 'postgres',
  timezone: 'UTC',
  bytea_output: 'hex',
  xmlbinary: 'base64',
  quote_all_identifiers: 'off',
  session_replication_role: 'origin',
  jit: 'off',
  exit_on_error: 'off',
  client_min_messages: 'error',
  lock_timeout: String(lockTimeoutMs),
  statement_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
};

/** For the startup packet. */
export function readingOptions(version: string): string {
  const all = Number.parseInt(version, 10) >= 17 ? { ...settings, transaction_timeout: '0' } : settings;
  return startupOptions(all);
}

/** @throws whatever `pg` throws when PostgreSQL is away; Error if the session is not the superuser's */
export async function openReadingSession(address: ReadingAddress, database: string): Promise<Client> {
  const client = new Client({
    host: address.socketDir,
    port: address.port ?? socketPort,
    user: readingUser,
    password: '',
    database,
    application_name: 'barista verify',
    connectionTimeoutMillis: 30_000,
    options: readingOptions(address.version),
  });
  // A connection that breaks while idle reports here; whoever uses it next learns of it from the query.
  client.on('error', () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ is: string }>(
      "SELECT pg_catalog.current_setting('is_superuser') AS is",
    );
    if (rows[0]?.is !== 'on') throw new Error(`the session in ${database} is not the superuser's`);
  } catch (error) {
    await endSession(client);
    throw error;
  }
  return client;
}

/** Never rejects. */
export async function endSession(client: Client): Promise<void> {
  await client.end().catch(() => undefined);
}
