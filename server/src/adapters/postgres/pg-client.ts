/** Connections of the replica itself to its own PostgreSQL, as the superuser, over the Unix socket. */
import { Client } from 'pg';
import { socketPort } from './data-directory.ts';

export interface ConnectOptions {
  readonly socketDir: string;
  readonly database: string;
  readonly user?: string;
  readonly password?: string;
  readonly pipeline?: boolean;
}

/** @throws whatever `pg` throws when PostgreSQL is away */
export async function connectPg(options: ConnectOptions): Promise<Client> {
  const client = new Client({
    host: options.socketDir,
    port: socketPort,
    user: options.user ?? 'postgres',
    password: options.password ?? '',
    database: options.database,
    application_name: 'barista',
    connectionTimeoutMillis: 30_000,
    pipeline: options.pipeline ?? false,
  });
  // A connection that breaks while idle reports here; whoever uses it next learns of it from the query.
  client.on('error', () => undefined);
  try {
    await client.connect();
  } catch (error) {
    await client.end().catch(() => undefined);
    throw error;
  }
  return client;
}

export function quoteIdentifier(name: string): string {
  return `"${name.replaceAll('"', '""')}"`;
}

export function quoteLiteral(text: string): string {
  const quoted = `'${text.replaceAll("'", "''")}'`;
  return text.includes('\\') ? ` E${quoted.replaceAll('\\', '\\\\')}` : quoted;
}
