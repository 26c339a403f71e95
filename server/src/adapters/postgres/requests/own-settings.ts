/**
 * A connection of the superuser to a database of clients has the settings that the owner of the database gave it (ALTER DATABASE ... SET). These are the ones that matter to what runs here.
 *
 * The first one above all: with a `search_path` of the owner's choice, a function or an operator that is named without its schema would be the owner's, run by the superuser.
 */
import type { Client } from 'pg';

const settings = [
  'SET search_path = pg_catalog, pg_temp',
  'SET synchronous_commit = on',
  'SET default_transaction_read_only = off',
  `SET default_transaction_isolation = 'read committed'`,
  'SET statement_timeout = 0',
  'SET lock_timeout = 0',
  'SET idle_in_transaction_session_timeout = 0',
  'SET row_security = on',
  'SET standard_conforming_strings = on',
  'SET client_min_messages = warning',
];

/** To be run before anything else on the connection. SET looks up no function. @throws Error of PostgreSQL */
export async function takeOwnSettings(client: Client): Promise<void> {
  await client.query(settings.join('; '));
}
