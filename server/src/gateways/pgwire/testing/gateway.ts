/** A gateway before a test's PostgreSQL, and clients of it. */
import { Client, type ClientConfig } from 'pg';
import { cancelUnlessCommitting } from '../../../adapters/postgres/primary-database.ts';
import { createLeftLook } from '../../../adapters/postgres/left-processes.ts';
import { lookAtFunctions } from '../../../adapters/postgres/functions-look.ts';
import { createLoginFinder } from '../../../adapters/postgres/find-login.ts';
import type { PostgresDoor } from '../../../ports/client-service.ts';
import type { PgwireLimits } from '../limits.ts';
import { createPgwireListener, type PgwireListener } from '../listener.ts';
import { leaderAt } from './helpers.ts';
import type { AccessRuleText } from '../login/access-rules.ts';
import type { TlsFiles } from '../tls/tls-identity.ts';
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
  readonly clusterSecret?: string;
  readonly access?: readonly AccessRuleText[];
  readonly tls?: TlsFiles;
  readonly onInfo?: (fields: object) => void;
  readonly onWarn?: (fields: object) => void;
}

const anyone = { database: 'all', role: 'all', address: 'all', tls: 'any' } as const;
/** `open` is a role that needs no password, where a test makes one. */
const testAccess: readonly AccessRuleText[] = [
  { ...anyone, role: 'open', method: 'trust' },
  { ...anyone, method: 'scram' },
];

export async function startGateway(pg: TestPostgres, options: GatewayOptions = {}): Promise<TestGateway> {
  const service = options.service ?? serviceOf(pg);
  service.functionsOf = (_, known) => lookAtFunctions(pg.superuser, known);
  const listener = await createPgwireListener({
    host: '127.0.0.1',
    port: 0,
    service,
    clusterSecret: options.clusterSecret ?? 'the secret of a test cluster',
    access: options.access ?? testAccess,
    ...(options.tls === undefined ? {} : { tls: options.tls }),
    logger: { info: (fields) => options.onInfo?.(fields), warn: (fields) => options.onWarn?.(fields) },
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

export function doorOf(pg: TestPostgres): PostgresDoor {
  return {
    socketPath: pg.socketPath,
    reservedUsers: ['postgres'],
    findLogin: createLoginFinder(pg),
    lookAtLeft: createLeftLook(pg),
  };
}

/** A gateway that passes its clients on to the one at this port. */
export async function startFollower(pg: TestPostgres, leaderPort: number): Promise<TestGateway> {
  const service = createMemoryClientService(null);
  service.setService(leaderAt(leaderPort));
  return startGateway(pg, { service });
}

/** A service that leads with this PostgreSQL and asks it for transactions. */
export function serviceOf(pg: TestPostgres): MemoryClientService {
  const service = createMemoryClientService(doorOf(pg));
  service.transactionsOf = async (pids) => {
    const { rows } = await pg.superuser.query<{ pid: number; xid: string }>(
      'SELECT pid, backend_xid::text AS xid FROM pg_stat_activity WHERE pid = ANY ($1) AND backend_xid IS NOT NULL',
      [pids],
    );
    return new Map(rows.map(({ pid, xid }) => [pid, BigInt(xid)]));
  };
  service.cancelBackend = (pid) => cancelUnlessCommitting(pg.superuser, pid);
  return service;
}
