/** What becomes of transactions is seen in one table, `t`: a gateway with a client that has made it, and what it holds in PostgreSQL. */
import type { Client } from 'pg';
import { startGateway, type TestDatabase, type TestGateway } from './gateway.ts';

export interface GatewayWithTable {
  readonly gateway: TestGateway;
  readonly client: Client;
}

/** What was agreed on to make the table is forgotten. */
export const startWithTable = async (pg: TestDatabase): Promise<GatewayWithTable> => {
  const gateway = await startGateway(pg);
  const client = await gateway.client();
  await client.query('CREATE TABLE t (a int PRIMARY KEY, b text)');
  gateway.agreement.chosen.length = 0;
  gateway.agreement.committedSlots.length = 0;
  return { gateway, client };
};

export const endWithTable = async (
  pg: TestDatabase,
  { gateway, client }: GatewayWithTable,
): Promise<void> => {
  await client.end().catch(() => {});
  await gateway.listener.close();
  await pg.superuser.query('DROP TABLE IF EXISTS t CASCADE');
};

/** The keys that are in the table, in their order. */
export const keysInTable = async ({ superuser }: TestDatabase): Promise<number[]> => {
  const { rows } = await superuser.query<{ a: number }>('SELECT a FROM t ORDER BY a');
  return rows.map(({ a }) => a);
};
