/** A group of real replicas in one process, each with its own PostgreSQL and directory: for tests that start, stop, break and restore them. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { Client } from 'pg';
import { pino } from 'pino';
import { ownershipProblems } from '../../adapters/postgres/testing/ownership.ts';
import { freePort } from '../../adapters/testing/ports.ts';
import type { TraceEvent } from '../../api/events.ts';
import type { ReplicaStatus } from '../../api/status.ts';
import type { AdminAnswer, HttpAdmin } from '../../gateways/http/admin-routes.ts';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import { parseReplicaConfig, type ReplicaConfig } from '../../config/replica-config.ts';
import { demoUser } from '../../demo/layout.ts';
import { runSql } from '../../demo/sql-console.ts';
import type { ServedReplica } from '../serve.ts';
import { startReplica } from '../start-replica.ts';
import { eventually } from '../../ports/testing/eventually.ts';

async function makeConfigs(root: string, ids: readonly string[]): Promise<Map<string, ReplicaConfig>> {
  const ports = await Promise.all(
    ids.map(async () => ({ peer: await freePort(), pgwire: await freePort(), http: await freePort() })),
  );
  const peers = ids.map((id, index) => ({
    id,
    host: '127.0.0.1',
    port: ports[index]!.peer,
    pgwire: { host: '127.0.0.1', port: ports[index]!.pgwire },
  }));
  const entries = ids.map((id, index) => {
    const { peer, pgwire, http } = ports[index]!;
    const document = {
      group: 'main',
      id,
      dataDir: join(root, id),
      peers,
      peerListen: { port: peer },
      clusterSecret: 'a secret of the cluster',
      pgwire: { port: pgwire },
      http: { port: http },
      bootstrap: demoUser,
      verify: { everyMinutes: 0 },
      // Fewer PostgreSQL processes: few cores run several of everything here.
      bounds: { clientsMax: 20 },
    };
    return [id, parseReplicaConfig(document, root)] as const;
  });
  return new Map(entries);
}

export class RealGroup {
  readonly ids: readonly string[];
  readonly events = new Map<string, TraceEvent[]>();
  private readonly configs: ReadonlyMap<string, ReplicaConfig>;
  private readonly running = new Map<string, ServedReplica>();
  private readonly fatal: Error[] = [];

  static async in(root: string, ids: readonly string[]): Promise<RealGroup> {
    return new RealGroup(ids, await makeConfigs(root, ids));
  }

  private constructor(ids: readonly string[], configs: ReadonlyMap<string, ReplicaConfig>) {
    this.ids = ids;
    this.configs = configs;
  }

  configOf(id: string): ReplicaConfig {
    return this.configs.get(id)!;
  }

  /** `changes`: to its configuration, for this life. */
  async start(id: string, changes: Partial<ReplicaConfig> = {}): Promise<void> {
    const seen: TraceEvent[] = [];
    this.events.set(id, seen);
    const replica = await startReplica(
      { ...this.configOf(id), ...changes },
      {
        logger: pino({ level: process.env['TEST_LOG'] ?? 'silent', name: id }),
        latencies: { agreement: () => {}, logWrite: () => {} },
        onEvent: (event) => seen.push(event),
        onFatal: (error) => this.fatal.push(error),
      },
    );
    this.running.set(id, replica);
  }

  async stop(id: string): Promise<void> {
    await this.running.get(id)?.stop();
    this.running.delete(id);
  }

  async stopAll(): Promise<void> {
    await Promise.all([...this.running.keys()].map((id) => this.stop(id)));
  }

  statusOf(id: string): ReplicaStatus {
    return this.running.get(id)!.status();
  }

  adminOf(id: string): HttpAdmin {
    return this.running.get(id)!.admin;
  }

  leader(): string | undefined {
    return [...this.running.keys()].find((id) => this.statusOf(id).role === 'leader');
  }

  followers(): string[] {
    return [...this.running.keys()].filter((id) => id !== this.leader());
  }

  /** All that this one sends is lost, and all that is sent to it; or no more. For replicas that were started with `faults`. */
  isolate(id: string, isCut: boolean): void {
    for (const other of this.ids.filter((each) => each !== id)) {
      this.setLink(id, other, { cut: isCut });
      this.setLink(other, id, { cut: isCut });
    }
  }

  /** All that this one sends takes so much longer. For replicas that were started with `faults`. */
  delay(id: string, delayMs: number): void {
    for (const other of this.ids.filter((each) => each !== id)) this.setLink(id, other, { delayMs });
  }

  private setLink(
    from: string,
    to: string,
    fault: { readonly cut?: boolean; readonly delayMs?: number },
  ): void {
    const ends = { from: from as ReplicaId, to: to as ReplicaId };
    const whole = { ...ends, cut: false, delayMs: 0, drop: 0, duplicate: 0, ...fault };
    this.running.get(from)?.setFaults([whole], false);
  }

  /** Each counts for quorums, serves, and has everything. */
  async healthy(): Promise<void> {
    await eventually(
      () => {
        assert.deepEqual(this.fatal, []);
        for (const id of this.ids) {
          const { state, recovery, membership, incarnation } = this.statusOf(id);
          assert.deepEqual({ id, state, recovery }, { id, state: 'serving', recovery: null });
          const member = membership.members.find(({ replica }) => replica === id);
          assert.deepEqual([member?.role, member?.incarnation], ['voter', incarnation]);
        }
      },
      { interval: 100 },
    );
    // However its database came there: made, copied, made equal, restored.
    for (const id of this.ids) assert.deepEqual(await ownershipProblems(this.configOf(id).dataDir), []);
  }

  async sql(text: string): Promise<(readonly (string | null)[])[]> {
    for (let attempt = 1; ; attempt++) {
      const answer = await runSql(this.configOf(this.leader() ?? this.ids[0]!).pgwire.port, text);
      if (!('error' in answer)) return [...answer.rows];
      if (attempt === 20) throw new Error(`${answer.error.code} ${answer.error.message}`);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  /** Runs the statement again and again until it is stopped. `stop` rejects if the group took no writes for long. */
  keepWriting(text: string): { written(): number; stop(): Promise<number> } {
    let written = 0;
    const enough = new AbortController();
    const write = async (): Promise<void> => {
      for (; !enough.signal.aborted; written++) await this.sql(text);
    };
    const done = write();
    done.catch(() => {});
    return {
      written: () => written,
      stop: async () => {
        enough.abort();
        await done;
        return written;
      },
    };
  }

  /** Asks the leader, and again whoever leads next: on a busy machine that may change meanwhile. */
  async askLeader<T>(ask: (admin: HttpAdmin) => Promise<AdminAnswer<T>>): Promise<T> {
    for (let attempt = 1; ; attempt++) {
      const outcome = await ask(this.adminOf(this.leader() ?? this.followers()[0]!));
      if (outcome.ok) return outcome.answer;
      if (outcome.error.code !== 'notLeader' || attempt === 20) throw new Error(outcome.error.message);
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  /** Past the gateway, in the replica's own PostgreSQL. */
  async inside<T>(
    id: string,
    work: (client: Client) => Promise<T>,
    database: string = demoUser.database,
  ): Promise<T> {
    const { socketDir, port } = this.statusOf(id).postgres;
    const client = new Client({ host: socketDir, port, user: 'postgres', database });
    client.on('error', () => {});
    await client.connect();
    try {
      return await work(client);
    } finally {
      await client.end();
    }
  }

  /** A summary of a table as each replica has it, with all that was chosen at the call; one if it is the same everywhere. Others may go on writing to other tables. */
  async contentsOf(table: string): Promise<string[]> {
    const top = Math.max(...this.ids.map((id) => this.statusOf(id).commitPoint));
    await eventually(
      () => {
        for (const id of this.ids) assert.ok(this.statusOf(id).applicationPointer >= top, `${id} is behind`);
      },
      { interval: 50 },
    );
    const summary = `SELECT count(*) || ' ' || coalesce(sum(hashtext(t::text)::bigint), 0) AS all FROM ${table} t`;
    const all = await Promise.all(
      this.ids.map((id) =>
        this.inside(id, async (client) => (await client.query<{ all: string }>(summary)).rows[0]!.all),
      ),
    );
    return [...new Set(all)];
  }
}
