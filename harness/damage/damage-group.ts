/**
 * A group of real processes under a light load, to whose replicas one damage after another is done.
 *
 * Responsible for: the group, what is in it, and that each case begins with a group that is whole. What was acknowledged is looked for in the end.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { ReplicaClients } from '../e2e/replica-clients.ts';
import { startLedger, verdict } from '../workload/ledger.ts';
import type { RelationPaths } from './damages.ts';
import { type Case, contentsOf, ofEnds, type Outcome, probe, runCase } from './run-case.ts';

export interface DamageOptions {
  readonly payload: 'wal' | 'statements';
  readonly cases: readonly Case[];
  readonly wholeMsMax: number;
  readonly say: (outcome: Outcome) => void;
}

const unseenMs = 25_000;
const settleMsMax = 240_000;
const commitsAtOnce = 20;
const interruptedCode = 130;

/** What is wrong with the group in the end. */
export async function damageGroup({ payload, cases, wholeMsMax, say }: DamageOptions): Promise<string[]> {
  const args = ['--no-dashboard', `--payload=${payload}`];
  const cluster = await startCluster({ args });
  const doors = new ReplicaClients(cluster);
  const stopEarly = (): void => void cluster.stop().finally(() => process.exit(interruptedCode));
  process.once('SIGINT', stopEarly).once('SIGTERM', stopEarly);
  try {
    const paths = await fill(cluster, doors);
    const [first] = await cluster.settled(settleMsMax);
    await checkpoint(cluster);
    const probed = await probe(first!.postgres);
    let commits = 0;
    const ledger = await startLedger(cluster.pgwirePorts, 2, 100);
    for (const one of cases) {
      const statuses = await cluster.settled(settleMsMax);
      commits += await commit(doors, cluster.pgwirePorts.indexOf(statuses[0]!.pgwire.port));
      // Or the start makes the logs of transactions anew.
      if (ofEnds.test(one.target)) await checkpoint(cluster);
      const expected = contentsOf(probed, commits);
      const options = { cluster, paths, expected, wholeMsMax, unseenMs };
      const outcome = await runCase(options, one);
      say(outcome);
      if (outcome.code === 'stated' || outcome.code === 'unnoticed')
        // For the next case.
        await cluster.fault({ action: 'wipe', replica: outcome.replica, what: 'database' });
    }
    const result = await ledger.stop();
    await cluster.settled(settleMsMax);
    const rows = (await doors.equalEverywhere('SELECT id FROM ledger ORDER BY id')) as { id: string }[];
    return verdict(result, new Set(rows.map(({ id }) => Number(id))));
  } finally {
    process.off('SIGINT', stopEarly).off('SIGTERM', stopEarly);
    await doors.end();
    await cluster.stop();
  }
}

/** Each row is another transaction. Returns how many. */
async function commit(doors: ReplicaClients, replica: number): Promise<number> {
  const client = await doors.connect(replica);
  try {
    for (let i = 0; i < commitsAtOnce; i += 1) await client.query('INSERT INTO damage_commits VALUES (1)');
    return commitsAtOnce;
  } finally {
    await client.end();
  }
}

/** A table with an index, and values that are kept apart, of which each has a file. */
async function fill(cluster: LocalCluster, doors: ReplicaClients): Promise<RelationPaths> {
  const { pgwire, postgres } = await cluster.leader();
  const client = await doors.connect(cluster.pgwirePorts.indexOf(pgwire.port));
  await client.query('CREATE TABLE damage_case (id int PRIMARY KEY, text text)');
  await client.query('CREATE TABLE damage_commits (i int)');
  await client.query('ALTER TABLE damage_case ALTER text SET STORAGE EXTERNAL');
  await client.query(
    'INSERT INTO damage_case SELECT i, repeat(md5(i::text), CASE WHEN i % 100 = 0 THEN 200 ELSE 1 END) FROM generate_series(1, 5000) i',
  );
  // Or the first reader would set hints, with images of all pages in the WAL: a start that replays these makes good whatever was done to the files.
  await client.query('VACUUM (FREEZE, ANALYZE) damage_case');
  await client.end();
  const own = new Client({
    host: postgres.socketDir,
    port: postgres.port,
    user: 'postgres',
    database: 'barista',
  });
  await own.connect();
  const { rows } = await own.query<Record<keyof RelationPaths, string>>(
    `SELECT 'base/' || (SELECT oid FROM pg_database WHERE datname = 'barista') AS database,
       pg_relation_filepath('damage_case') AS table, pg_relation_filepath('damage_case_pkey') AS index,
       pg_relation_filepath((SELECT reltoastrelid FROM pg_class WHERE oid = 'damage_case'::regclass)) AS toast,
       pg_relation_filepath('pg_proc') AS catalog, pg_relation_filepath('pg_authid') AS shared`,
  );
  await own.end();
  return rows[0]!;
}

/** What a start replays from its WAL would otherwise make good much of the damage: the leader first, then what follows it, each from that checkpoint on. */
async function checkpoint(cluster: LocalCluster): Promise<void> {
  const { id } = await cluster.leader();
  const statuses = await cluster.settled(settleMsMax);
  const sorted = statuses.toSorted((a, b) => Number(b.id === id) - Number(a.id === id));
  let from: string | null = null;
  for (const { postgres } of sorted) from = await checkpointOf(postgres, from);
}

/** Until a start would begin at `from`, or above. Returns where it would begin. */
async function checkpointOf(
  { socketDir, port }: { readonly socketDir: string; readonly port: number },
  from: string | null,
): Promise<string> {
  const own = new Client({ host: socketDir, port, user: 'postgres', database: 'postgres' });
  await own.connect();
  try {
    for (const until = performance.now() + settleMsMax; performance.now() < until; await sleep(500)) {
      await own.query('CHECKPOINT');
      const { rows } = await own.query<{ redo: string; isThere: boolean }>(
        'SELECT redo_lsn::text AS redo, $1::pg_lsn IS NULL OR redo_lsn >= $1::pg_lsn AS "isThere" FROM pg_control_checkpoint()',
        [from],
      );
      if (rows[0]!.isThere) return rows[0]!.redo;
    }
    throw new Error('a follower makes no checkpoint');
  } finally {
    await own.end();
  }
}
