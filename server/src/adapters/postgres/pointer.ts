/**
 * The application pointer as PostgreSQL holds it: the pointer itself, the slots above it that are in, and the transactions
 * that were prepared before their slot was known.
 */
import type { Client } from 'pg';
import type { Configuration, ReplicaId, Slot } from '../../multipaxos/types.ts';
import { DatabaseError } from '../../ports/database.ts';
import type { ApplicationPointer, KeptWithPointer, SlotToApply } from '../../ports/database.ts';

interface PointerRow {
  readonly slot: string;
  readonly keep_from: string;
  readonly leader_round: string;
  readonly leader: string;
  readonly configuration: string | null;
  readonly above: readonly string[] | null;
  readonly transactions: readonly string[] | null;
}

/** One statement, so one snapshot: a session that commits meanwhile is either in all of it or in none. */
const readSql = `SELECT slot, keep_from, leader_round, leader, (SELECT body FROM _barista.configuration) AS configuration,
  (SELECT array_agg(slot::text ORDER BY slot) FROM _barista.applied_above) AS above,
  (SELECT array_agg(transaction) FROM _barista.applied_transaction) AS transactions FROM _barista.pointer`;

function rowOf(rows: readonly PointerRow[]): PointerRow {
  const row = rows[0];
  if (row === undefined) throw new Error('the application pointer is missing');
  return row;
}

export async function readPointer(client: Client): Promise<ApplicationPointer> {
  return pointerOf((await client.query<PointerRow>(readSql)).rows);
}

/** `BEGIN` as told, and the pointer that the transaction sees: one round trip, so its snapshot is taken at once. */
export async function beginReading(client: Client, begin: string): Promise<ApplicationPointer> {
  return pointerOf(await secondResult(client, `${begin}; ${readSql}`));
}

async function secondResult(client: Client, statements: string): Promise<readonly PointerRow[]> {
  const results = (await client.query(statements)) as unknown as readonly {
    readonly rows: readonly PointerRow[];
  }[];
  return results[1]?.rows ?? [];
}

function pointerOf(rows: readonly PointerRow[]): ApplicationPointer {
  const row = rowOf(rows);
  const pointer = Number(row.slot);
  return {
    pointer: pointer as Slot,
    above: (row.above ?? []).map(Number).filter((slot) => slot > pointer) as Slot[],
    aboveTransactions: row.transactions ?? [],
    keep: {
      keepFrom: Number(row.keep_from) as Slot,
      leadership: { round: Number(row.leader_round), replica: row.leader as ReplicaId },
      configuration: row.configuration === null ? null : (JSON.parse(row.configuration) as Configuration),
    },
  };
}

export interface LockedPointer {
  readonly pointer: Slot;
  readonly above: ReadonlySet<Slot>;
  readonly transactions: ReadonlySet<string>;
}

/** The pointer is about to pass over all of these slots: every one must be in, or in the batch. @throws DatabaseError `applyFailed` */
export function assertNoGap(
  at: Pick<LockedPointer, 'pointer' | 'above'>,
  batch: readonly SlotToApply[],
): void {
  let next = at.pointer + 1;
  for (const { slot } of batch) {
    while (next < slot && at.above.has(next as Slot)) next += 1;
    if (slot > next) {
      throw new DatabaseError('applyFailed', `slot ${next} is missing: slot ${slot} cannot be applied`);
    }
    next = Math.max(next, slot + 1);
  }
}

/** Begins a transaction that applies: nobody else moves the pointer until it ends. One round trip. */
export async function beginAtPointer(client: Client): Promise<LockedPointer> {
  const row = rowOf(await secondResult(client, `BEGIN; ${readSql} FOR UPDATE`));
  return {
    pointer: Number(row.slot) as Slot,
    above: new Set((row.above ?? []).map((slot) => Number(slot) as Slot)),
    transactions: new Set(row.transactions ?? []),
  };
}

/** Moves the pointer, never back, and commits with it whatever the transaction did. One round trip. */
export async function commitAtPointer(client: Client, upTo: Slot, keep: KeptWithPointer): Promise<void> {
  const { round, replica } = keep.leadership;
  const leader = client.escapeLiteral(replica);
  const configuration =
    keep.configuration === null ? 'NULL' : client.escapeLiteral(JSON.stringify(keep.configuration));
  await client.query(
    `SELECT _barista.move_pointer(${upTo}, ${keep.keepFrom}, ${round}, ${leader}, ${configuration}); COMMIT`,
  );
}

/** Also how many damaged pages anybody has met, clients' queries included: a number that no client can forge. */
const flushSql = `UPDATE _barista.pointer SET slot = slot
  RETURNING slot, (SELECT sum(checksum_failures) FROM pg_stat_database)::text AS damaged`;

/** A commit that is waited for makes every earlier one durable, too. @throws DatabaseError `databaseLost` if pages are damaged */
export async function flushPointer(client: Client): Promise<Slot> {
  await client.query('BEGIN');
  try {
    await client.query('SET LOCAL synchronous_commit = on');
    const result = await client.query<{ slot: string; damaged: string | null }>(flushSql);
    await client.query('COMMIT');
    const row = result.rows[0];
    const damaged = Number(row?.damaged ?? 0);
    if (damaged > 0) {
      throw new DatabaseError('databaseLost', `PostgreSQL met ${damaged} pages whose checksums are wrong`);
    }
    return Number(row?.slot) as Slot;
  } catch (error) {
    await client.query('ROLLBACK').catch(() => undefined);
    throw error;
  }
}
