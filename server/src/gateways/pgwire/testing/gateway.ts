/** A gateway before a test's PostgreSQL, and clients of it. */
import { Client, type ClientConfig } from 'pg';
import type { PgwireLimits } from '../limits.ts';
import { createPgwireListener, type PgwireListener } from '../listener.ts';
import { createMemoryClientService, type MemoryClientService } from './memory-client-service.ts';
import type { TestPostgres } from './postgres.ts';

export interface TestGateway {
  readonly service: MemoryClientService;
  readonly listener: PgwireListener;
  readonly connection: { host: string; port: number; user: string; password: string; database: string };
  /** A connected client. */
  client(change?: ClientConfig): Promise<Client>;
}

export interface GatewayOptions {
  readonly limits?: Partial<PgwireLimits>;
  readonly service?: MemoryClientService;
}

export async function startGateway(pg: TestPostgres, options: GatewayOptions = {}): Promise<TestGateway> {
  const service = options.service ?? serviceOf(pg);
  const listener = await createPgwireListener({
    host: '127.0.0.1',
    port: 0,
    service,
    logger: { info: () => {}, warn: () => {} },
    limits: { lastWordsMs: 500, ...options.limits },
  });
  const { port } = listener;
  const connection = { host: '127.0.0.1', port, user: 'barista', password: 'barista', database: pg.database };
  return {
    service,
    listener,
    connection,
    async client(change = {}) {
      const client = new Client({ ...connection, ...change });
      client.on('error', () => {});
      await client.connect();
      return client;
    },
  };
}

/** A service that leads with this PostgreSQL and asks it for transactions. */
export function serviceOf(pg: TestPostgres): MemoryClientService {
  const service = createMemoryClientService({ socketPath: pg.socketPath, reservedUsers: ['postgres'] });
  service.transactionsOf = async (pids) => {
    const { rows } = await pg.superuser.query<{ pid: number; xid: string }>(
      'SELECT pid, backend_xid::text AS xid FROM pg_stat_activity WHERE pid = ANY ($1) AND backend_xid IS NOT NULL',
      [pids],
    );
    return new Map(rows.map(({ pid, xid }) => [pid, BigInt(xid)]));
  };
  return service;
}
