/**
 * Eight clients of a group each of whose statements has its effect in another group, by postgres_fdw: what is acknowledged is there once, what is told not to be committed is not, and nothing is there twice.
 *
 * They have a database of their own: sessions of one that has a foreign server hear more often that nobody can know.
 * Responsible for: the tables at both ends, the clients, and the verdict. Whose leaders die meanwhile is the caller's business.
 */
import pg from 'pg';
import type { LocalCluster } from '../cluster/local-cluster.ts';

const clients = 8;
const account = { host: '127.0.0.1', user: 'barista', password: 'barista', database: 'barista' } as const;
const againMs = 100;
/** Of the group whose leaders die. */
const database = 'far_away';

export interface FarVerdict {
  readonly acknowledged: number;
  readonly applied: number;
  /** Of those that nobody could know of. */
  readonly unknown: number;
  /** What should not be, a sentence each. */
  readonly wrong: readonly string[];
}

/** What became of a key, as its client was told. */
type Told = 'done' | 'not done' | 'unknown';

export class FarClients {
  private readonly far: LocalCluster;
  private readonly told = new Map<string, Told>();
  private isOver = false;
  private readonly loops: Promise<void>[] = [];

  private constructor(far: LocalCluster) {
    this.far = far;
  }

  /** Makes the tables, and lets the clients begin. `port`: where they come to. */
  static async start(near: LocalCluster, port: number, far: LocalCluster): Promise<FarClients> {
    const [farPort] = far.pgwirePorts;
    await ask({ ...account, port: farPort! }, 'CREATE TABLE kept (key text)');
    const { postgres } = await near.leader();
    const operator = { host: postgres.socketDir, port: postgres.port, user: 'postgres' };
    await ask({ ...operator, database: 'postgres' }, `CREATE DATABASE ${database}`);
    await ask(
      { ...operator, database },
      `CREATE EXTENSION postgres_fdw;
       CREATE SERVER far FOREIGN DATA WRAPPER postgres_fdw OPTIONS (host '127.0.0.1', port '${farPort}', dbname 'barista');
       CREATE USER MAPPING FOR barista SERVER far OPTIONS (user 'barista', password 'barista');
       CREATE FOREIGN TABLE far_kept (key text) SERVER far OPTIONS (table_name 'kept');
       GRANT ALL ON far_kept TO barista`,
    );
    const all = new FarClients(far);
    for (let number = 0; number < clients; number += 1) all.loops.push(all.insert(number, port));
    return all;
  }

  private async insert(number: number, port: number): Promise<void> {
    let client: pg.Client | null = null;
    for (let count = 0; !this.isOver; count += 1) {
      const key = `${number}/${count}`;
      try {
        client ??= await connect({ ...account, port, database });
      } catch {
        await new Promise((resolve) => setTimeout(resolve, againMs));
        continue;
      }
      try {
        await client.query('INSERT INTO far_kept VALUES ($1)', [key]);
        this.told.set(key, 'done');
      } catch (error) {
        this.told.set(key, (error as { code?: string }).code === '40001' ? 'not done' : 'unknown');
        await client.end().catch(() => undefined);
        client = null;
      }
    }
    await client?.end().catch(() => undefined);
  }

  async stop(): Promise<FarVerdict> {
    this.isOver = true;
    await Promise.all(this.loops);
    const [port] = this.far.pgwirePorts;
    const { rows } = await ask<{ key: string; times: number }>(
      { ...account, port: port! },
      'SELECT key, count(*)::int AS times FROM kept GROUP BY key',
    );
    const applied = new Map(rows.map(({ key, times }) => [key, times]));
    const wrong = [...this.told].flatMap(([key, told]) => {
      const times = applied.get(key) ?? 0;
      if (times > 1) return [`${key} is there ${times} times`];
      if (told === 'done' && times === 0) return [`${key} was acknowledged, and is not there`];
      return told === 'not done' && times > 0 ? [`${key} was told not to be committed, and is there`] : [];
    });
    const of = (told: Told): number => [...this.told.values()].filter((one) => one === told).length;
    return { acknowledged: of('done'), applied: rows.length, unknown: of('unknown'), wrong };
  }
}

async function connect(config: pg.ClientConfig): Promise<pg.Client> {
  const client = new pg.Client(config);
  client.on('error', () => undefined);
  await client.connect();
  return client;
}

async function ask<Row extends pg.QueryResultRow>(
  config: pg.ClientConfig,
  sql: string,
): Promise<pg.QueryResult<Row>> {
  const client = await connect(config);
  try {
    return await client.query<Row>(sql);
  } finally {
    await client.end();
  }
}
