/**
 * A connection of the superuser to a database of clients has the settings that the owner of the database gave it (ALTER DATABASE ... SET). These are the ones that matter to what runs here.
 *
 * The first SET above all: with a `search_path` of the owner's choice, a function or an operator that is named without its schema would be the owner's, run by the superuser.
 */
import type { Client } from 'pg';

const settings = [
  // Before version 17 there is none.
  `SELECT pg_catalog.set_config('transaction_timeout', '0', false) WHERE pg_catalog.current_setting('transaction_timeout', true) IS NOT NULL`,
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

/** To be run before anything else on the connection. SET looks up no function, nor what is named with its schema another one. @throws Error of PostgreSQL */
export async function takeOwnSettings(client: Client): Promise<void> {
  await client.query(settings.join('; '));
}
