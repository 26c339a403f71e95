/** A PostgreSQL of its own with the gateway before it, for tests. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { locateBinaries } from '../../../adapters/postgres/binaries.ts';
import { type PostgresServer, startPostgres } from '../../../adapters/postgres/postgres-server.ts';
import { createSessionSql } from '../../../adapters/postgres/session-sql.ts';
import type { SessionSql } from '../../../ports/session-sql.ts';
import type { PgwireLimits } from '../limits.ts';
import { createPgwireListener, type PgwireListener } from '../listener.ts';
import type { Counter } from '../session/context.ts';
import { createMemoryAgreement, type MemoryAgreement } from './memory-agreement.ts';

export interface TestDatabase {
  readonly socketDir: string;
  readonly socketPath: string;
  readonly port: number;
  readonly sessionSql: SessionSql;
  readonly server: PostgresServer;
  /** Connected as the superuser to the replicated database. */
  readonly superuser: Client;
  restart(): Promise<void>;
  stop(): Promise<void>;
}

const database = 'barista';

export const startTestDatabase = async (): Promise<TestDatabase> => {
  const root = await mkdtemp(join(tmpdir(), 'barista-gw-'));
  const server = await startPostgres({
    directory: join(root, 'pg'),
    binaries: await locateBinaries(),
    settings: { max_prepared_transactions: '20', fsync: 'off' },
  });
  const at = { host: server.socketDir, port: server.port, user: 'postgres' };
  const superuser = new Client({ ...at, database });
  superuser.on('error', () => {});
  await superuser.connect();
  return {
    socketDir: server.socketDir,
    socketPath: server.socketPath,
    port: server.port,
    sessionSql: createSessionSql(server),
    server,
    superuser,
    restart: () => server.restart(),
    async stop() {
      await superuser.end().catch(() => {});
      await server.stop();
      await rm(root, { recursive: true, force: true });
    },
  };
};

export interface TestGateway {
  readonly agreement: MemoryAgreement;
  readonly listener: PgwireListener;
  readonly counted: Record<Counter, number>;
  readonly connection: { host: string; port: number; user: string; password: string; database: string };
  /** A connected client of the gateway. */
  client(): Promise<Client>;
}

export const startGateway = async (
  pg: TestDatabase,
  options: {
    readonly limits?: Partial<PgwireLimits>;
    readonly partBytesMax?: number;
    readonly agreement?: MemoryAgreement;
    readonly sessionSql?: SessionSql;
  } = {},
): Promise<TestGateway> => {
  const agreement =
    options.agreement ??
    createMemoryAgreement(options.partBytesMax === undefined ? {} : { partBytesMax: options.partBytesMax });
  const counted = { transactions: 0, reads: 0, retries: 0 };
  const listener = await createPgwireListener({
    host: '127.0.0.1',
    port: 0,
    agreement,
    sessionSql: () => options.sessionSql ?? pg.sessionSql,
    logger: { info: () => {}, warn: () => {} },
    onCounters(counter) {
      counted[counter] += 1;
    },
    ...(options.limits === undefined ? {} : { limits: options.limits }),
  });
  const connection = {
    host: '127.0.0.1',
    port: listener.port,
    user: 'barista',
    password: 'barista',
    database,
  };
  return {
    agreement,
    listener,
    counted,
    connection,
    async client() {
      const client = new Client(connection);
      client.on('error', () => {});
      await client.connect();
      return client;
    },
  };
};
