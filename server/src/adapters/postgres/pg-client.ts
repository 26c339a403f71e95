/**
 * Connections of the replica itself to its own PostgreSQL, as the superuser, over the Unix socket.
 *
 * A database's owner can attach settings to it (ALTER DATABASE ... SET), which are in force from a session's beginning. What is given when the session is opened comes before those: with a library that is not there no session could
 * be opened, and with a role it would not be the superuser's. The settings that matter later are own-settings.ts.
 */
import { Client } from 'pg';
import { socketPort } from './data-directory.ts';

export interface ConnectOptions {
  readonly socketDir: string;
  readonly database: string;
  readonly user?: string;
  readonly password?: string;
  readonly pipeline?: boolean;
}

/** In a startup packet, for sessions of the superuser: nobody else may set the second one. Libraries that would be loaded into each session are of no use to those of the replica itself. */
export const withoutLibraries = { local_preload_libraries: '', session_preload_libraries: '' };

const ownSettings = { ...withoutLibraries, role: 'none', statement_timeout: '0', idle_session_timeout: '0' };

/** For the startup packet: words of the form `-c name=value`; no value has a blank. */
export function startupOptions(settings: Readonly<Record<string, string>>): string {
  return Object.entries(settings)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ');
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
    ...(options.user === undefined ? { options: startupOptions(ownSettings) } : {}),
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
