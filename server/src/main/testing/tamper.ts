/** For tests: data that differ, as nobody's SQL can make them: what a follower has on its disk is changed while it is stopped. */
import { join } from 'node:path';
import { alterPage } from '../../adapters/postgres/testing/alter-page.ts';
import type { ReplicaConfig } from '../../config/replica-config.ts';
import type { RealGroup } from './real-group.ts';
import { eventually } from '../../ports/testing/eventually.ts';

export interface Tampering {
  readonly table: string;
  /** The first of these in the table's file becomes `to`, which has the same length. */
  readonly from: string;
  readonly to: string;
  /** To its configuration, for its next life. */
  readonly changes?: Partial<ReplicaConfig>;
}

/** Resolves when it serves again, with data that differ, for as long as nobody writes to the table: WAL may hold a page as a whole. */
export async function tamper(
  group: RealGroup,
  victim: string,
  { table, from, to, changes = {} }: Tampering,
): Promise<void> {
  // Else it would write what was changed again, from its WAL.
  const checkpointed = await group.inside(group.leader()!, async (client) => {
    await client.query('CHECKPOINT');
    const { rows } = await client.query<{ lsn: string }>('SELECT pg_current_wal_flush_lsn() AS lsn');
    return rows[0]!.lsn;
  });
  await group.contentsOf(table);
  // A standby writes its pages out only if it has replayed a checkpoint that it has not written them out for.
  await eventually(() => expectReplayed(group, victim, checkpointed), { interval: 50 });
  const file = await group.inside(victim, async (client) => {
    await client.query('CHECKPOINT');
    const { rows } = await client.query<{ path: string }>('SELECT pg_relation_filepath($1) AS path', [table]);
    return rows[0]!.path;
  });
  await group.stop(victim);
  await alterPage(join(group.configOf(victim).dataDir, 'postgres', 'data', file), from, to);
  await group.start(victim, changes);
  await eventually(() => expectServing(group, victim), { interval: 100 });
}

async function expectReplayed(group: RealGroup, replica: string, lsn: string): Promise<void> {
  const query = 'SELECT pg_last_wal_replay_lsn() >= $1::pg_lsn AS done';
  const { rows } = await group.inside(replica, (client) => client.query<{ done: boolean }>(query, [lsn]));
  if (rows[0]?.done !== true) throw new Error(`${replica} has not replayed up to ${lsn}`);
}

function expectServing(group: RealGroup, replica: string): void {
  const { state, recovery } = group.statusOf(replica);
  if (state !== 'serving' || recovery !== null) throw new Error(`${replica} is ${state}`);
}
