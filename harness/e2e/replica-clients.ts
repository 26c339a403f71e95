/** Clients of a cluster's replicas, each by its own port, for tests: what one replica answers, and what all of them do. */
import { deepStrictEqual } from 'node:assert';
import { Client } from 'pg';

export interface Served {
  /** Of the replicas, in their order. */
  readonly pgwirePorts: readonly number[];
}

export class ReplicaClients {
  private readonly cluster: Served;
  private readonly clients: Client[] = [];

  constructor(cluster: Served) {
    this.cluster = cluster;
  }

  get replicas(): readonly number[] {
    return [...this.cluster.pgwirePorts.keys()];
  }

  /** By the number of a replica, from 0 on. `options`: as libpq has it. */
  async connect(replica: number, options = ''): Promise<Client> {
    const client = new Client({
      host: '127.0.0.1',
      port: this.cluster.pgwirePorts[replica]!,
      user: 'barista',
      password: 'barista',
      database: 'barista',
      options,
    });
    client.on('error', () => undefined);
    await client.connect();
    this.clients.push(client);
    return client;
  }

  /** What this replica's own PostgreSQL has. */
  async rowsAt(replica: number, sql: string): Promise<unknown[]> {
    const client = await this.connect(replica);
    const { rows } = await client.query(sql);
    await client.end();
    return rows;
  }

  /** What each replica's own PostgreSQL has, which is the same: the rows of one. */
  async equalEverywhere(sql: string): Promise<unknown[]> {
    const all = await Promise.all(this.replicas.map((replica) => this.rowsAt(replica, sql)));
    for (const other of all.slice(1)) deepStrictEqual(other, all[0]);
    return all[0]!;
  }

  async end(): Promise<void> {
    await Promise.all(this.clients.map((client) => client.end().catch(() => undefined)));
  }
}
