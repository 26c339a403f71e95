/**
 * For tests: one PostgreSQL as the leader's and one as a follower's, and a list in place of the replicated log. What sessions do on
 * the first goes the whole way: harvest, codec, log, ordered apply on the second.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from 'pg';
import type { Effect } from '../../../apply/effects.ts';
import { decodePayload, effectBytes, encodePayload } from '../../../apply/payload.ts';
import type { Configuration, ReplicaId, Slot } from '../../../multipaxos/types.ts';
import type { Database, KeptWithPointer, SlotToApply } from '../../../ports/database.ts';
import type { HarvestRow } from '../../../ports/session-sql.ts';
import { locateBinaries } from '../binaries.ts';
import type { PgBinaries } from '../binaries.ts';
import { createDatabase } from '../database.ts';
import { connectPg } from '../pg-client.ts';
import { startPostgres } from '../postgres-server.ts';
import type { PostgresServer } from '../postgres-server.ts';
import { createSessionSql } from '../session-sql.ts';

export async function testBinaries(): Promise<PgBinaries> {
  const pgBin = process.env['BARISTA_TEST_PG_BIN'];
  return locateBinaries(pgBin === undefined ? {} : { pgBin });
}

/** What is stored with the pointer when nothing waits. */
export function keepAt(slot: number, configuration: Configuration | null = null): KeptWithPointer {
  return { keepFrom: slot as Slot, leadership: { round: 1, replica: 'r1' as ReplicaId }, configuration };
}

const partBytesMax = 1024 * 1024;

/** The parts of one transaction, encoded, as the log would hold them. */
export type LoggedTransaction = readonly Uint8Array[];

/** `slot` null: there was nothing to agree on. */
export interface Agreed {
  readonly slot: Slot | null;
  readonly effects: readonly Effect[];
}

export class RefusedError extends Error {
  override readonly name = 'RefusedError';
  readonly code: string;
  readonly hint: string;
  constructor(code: string, message: string, hint: string) {
    super(message);
    this.code = code;
    this.hint = hint;
  }
}

export interface ReplicatedPair {
  readonly leader: PostgresServer;
  readonly follower: PostgresServer;
  readonly leaderDatabase: Database;
  readonly followerDatabase: Database;
  /** `log[i]` is slot i + 1. */
  readonly log: LoggedTransaction[];
  /** A session of the unprivileged role. */
  session(): Promise<Client>;
  /** One transaction of these statements on the leader. Returns its effects. */
  run(...statements: readonly string[]): Promise<readonly Effect[]>;
  /** Ends the open transaction of a session as the gateway would: `agree`, then `finish`. */
  commit(client: Client): Promise<readonly Effect[]>;
  /** Harvests the open transaction and puts it into the log. */
  agree(client: Client): Promise<Agreed>;
  finish(client: Client, slot: Slot | null): Promise<void>;
  /** Applies to the follower what it does not have yet, `batch` slots at a time. */
  replicate(batch?: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startPair(): Promise<ReplicatedPair> {
  const root = await mkdtemp(join(tmpdir(), 'barista-pair-'));
  const binaries = await testBinaries();
  const [leader, follower] = await Promise.all(
    ['leader', 'follower'].map((name) => startPostgres({ directory: join(root, name), binaries })),
  );
  if (leader === undefined || follower === undefined) throw new Error('unreachable');
  return new Pair(root, leader, follower);
}

export function toSlots(log: readonly LoggedTransaction[], from: number): SlotToApply[] {
  return log.slice(from).map((parts, i) => ({
    slot: (from + i + 1) as Slot,
    transaction: {
      // As from a real log: one part in memory at a time, and readable again.
      async *[Symbol.asyncIterator]() {
        for (const part of parts) yield decodePayload(part);
      },
    },
  }));
}

class Pair implements ReplicatedPair {
  readonly leader: PostgresServer;
  readonly follower: PostgresServer;
  readonly leaderDatabase: Database;
  readonly followerDatabase: Database;
  readonly log: LoggedTransaction[] = [];
  private readonly root: string;
  private readonly clients: Client[] = [];
  private runner: Client | null = null;
  private replicated = 0;

  constructor(root: string, leader: PostgresServer, follower: PostgresServer) {
    this.root = root;
    this.leader = leader;
    this.follower = follower;
    this.leaderDatabase = createDatabase(leader);
    this.followerDatabase = createDatabase(follower);
  }

  async session(): Promise<Client> {
    const client = await connectPg({
      socketDir: this.leader.socketDir,
      database: this.leader.database,
      user: 'barista',
      password: 'barista',
    });
    this.clients.push(client);
    return client;
  }

  async run(...statements: readonly string[]): Promise<readonly Effect[]> {
    const client = (this.runner ??= await this.session());
    await client.query('BEGIN');
    try {
      for (const statement of statements) await client.query(statement);
      return await this.commit(client);
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    }
  }

  async commit(client: Client): Promise<readonly Effect[]> {
    const { slot, effects } = await this.agree(client);
    await this.finish(client, slot);
    return effects;
  }

  async agree(client: Client): Promise<Agreed> {
    const sql = createSessionSql(this.leader);
    await client.query('SET CONSTRAINTS ALL IMMEDIATE');
    const harvested = await client.query<{ harvest: Buffer }>(sql.harvest, [sql.secret]);
    const rows: HarvestRow[] = harvested.rows.map((row) => sql.decodeHarvestRow(row.harvest));
    const refused = rows.find((row) => row.kind === 'refused');
    if (refused !== undefined) throw new RefusedError(refused.sqlState, refused.message, refused.hint);
    const effects = rows.flatMap((row) => (row.kind === 'effect' ? [row.effect] : []));
    if (effects.length === 0) return { slot: null, effects };
    const slot = this.log.length + 1;
    this.log.push(toParts(`t${slot}`, effects));
    return { slot: slot as Slot, effects };
  }

  async finish(client: Client, slot: Slot | null): Promise<void> {
    const sql = createSessionSql(this.leader);
    if (slot !== null) await client.query(sql.recordSlot, [sql.secret, String(slot)]);
    await client.query('COMMIT');
  }

  async replicate(batch = 64): Promise<void> {
    while (this.replicated < this.log.length) {
      const to = Math.min(this.log.length, this.replicated + batch);
      const slots = toSlots(this.log.slice(0, to), this.replicated);
      await this.followerDatabase.apply(slots, keepAt(to + 1));
      this.replicated = to;
    }
  }

  async stop(): Promise<void> {
    for (const client of this.clients) await client.end().catch(() => undefined);
    await Promise.all([this.leader.stop(), this.follower.stop()]);
    await rm(this.root, { recursive: true, force: true });
  }
}

/** Cuts as the gateway does: by size. */
function toParts(transaction: string, effects: readonly Effect[]): LoggedTransaction {
  const parts: Effect[][] = [[]];
  let bytes = 0;
  for (const effect of effects) {
    bytes += effectBytes(effect);
    parts.at(-1)?.push(effect);
    if (bytes < partBytesMax) continue;
    parts.push([]);
    bytes = 0;
  }
  return parts.map((list, part) => {
    const last = part === parts.length - 1;
    const leadership = { round: 1, replica: 'r1' as ReplicaId };
    return encodePayload({ transaction, part, last, partSlots: [], leadership, effects: list, sql: [] });
  });
}
