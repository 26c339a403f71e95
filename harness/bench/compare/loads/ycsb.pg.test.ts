/** The six workloads against a PostgreSQL as it comes: what each of them does to the table. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest';
import {
  startTestPostgres,
  type TestPostgres,
} from '../../../../server/src/gateways/pgwire/testing/postgres.ts';
import type { SqlTarget } from '../../sql.ts';
import { pgbench, readPgbench } from './client-tools.ts';
import { systemLabels, type System } from '../systems/system.ts';
import { loadYcsb, writeYcsbScripts, ycsbArgs, type YcsbName } from './ycsb.ts';

const records = 5000;
const each = 100;
const clients = 2;

let postgres: TestPostgres;
let scripts: string;
let target: SqlTarget;

beforeAll(async () => {
  postgres = await startTestPostgres();
  scripts = await mkdtemp(join(tmpdir(), 'barista-ycsb-'));
  await writeYcsbScripts(scripts);
  target = { host: postgres.socketDir, port: postgres.port, user: 'postgres', database: postgres.database };
  await loadYcsb(systemOf(target), 1);
});

afterAll(async () => {
  await postgres.stop();
  await rm(scripts, { recursive: true });
});

beforeEach(async () => {
  await postgres.superuser.query('SELECT pg_stat_reset()');
});

function systemOf(client: SqlTarget): System {
  return {
    id: 'plain',
    label: systemLabels.plain,
    engine: 'postgres',
    tablesOf: 'plain',
    isPeer: false,
    runs: () => true,
    client: async () => client,
    doors: async () => [client],
    databases: async () => [client],
    parts: async () => [],
  };
}

/** All transactions of it were done. Returns what PostgreSQL counts then. */
async function run(name: YcsbName): Promise<Readonly<Record<'seen' | 'updated' | 'inserted', number>>> {
  const args = [
    ...ycsbArgs(name, scripts, 1),
    '--no-vacuum',
    `--client=${clients}`,
    `--transactions=${each}`,
  ];
  const output = await pgbench(target, args, new AbortController().signal);
  expect(readPgbench(output).transactions).toBe(clients * each);
  // A session tells what it has done as it ends.
  const left = "SELECT FROM pg_stat_activity WHERE application_name = 'pgbench'";
  await expect.poll(async () => (await postgres.superuser.query(left)).rowCount).toBe(0);
  const { rows } = await postgres.superuser.query<Record<'seen' | 'updated' | 'inserted', string>>(
    `SELECT idx_tup_fetch AS seen, n_tup_upd AS updated, n_tup_ins AS inserted FROM pg_stat_user_tables WHERE relname = 'usertable'`,
  );
  const counted = Object.entries(rows[0]!).map(([count, text]) => [count, Number(text)]);
  return Object.fromEntries(counted) as Record<'seen' | 'updated' | 'inserted', number>;
}

it('has as many records as it says, of a kilobyte each', async () => {
  const { rows } = await postgres.superuser.query(
    'SELECT count(*)::int, min(length(field0 || field9))::int AS two FROM usertable',
  );
  expect(rows).toEqual([{ count: records, two: 200 }]);
});

it.each(['ycsb-a', 'ycsb-b', 'ycsb-c', 'ycsb-f'] as const)(
  '%s finds each record that it looks for, and changes its share',
  async (name) => {
    const { seen, updated, inserted } = await run(name);
    const all = clients * each;
    expect(inserted).toBe(0);
    // Who reads first and then writes looks twice. The planner, too, looks at the ends of an index now and then.
    expect(seen).toBeGreaterThanOrEqual(name === 'ycsb-f' ? all + updated : all);
    const most = { 'ycsb-a': 0.65, 'ycsb-b': 0.15, 'ycsb-c': 0, 'ycsb-f': 0.65 }[name];
    const least = { 'ycsb-a': 0.35, 'ycsb-b': 0, 'ycsb-c': 0, 'ycsb-f': 0.35 }[name];
    expect(updated / all).toBeGreaterThanOrEqual(least);
    expect(updated / all).toBeLessThanOrEqual(most);
  },
);

it('ycsb-d inserts, in each run anew, and finds what is newest', async () => {
  for (const round of [1, 2]) {
    const { seen, inserted } = await run('ycsb-d');
    expect(inserted).toBeGreaterThan(0);
    expect(seen).toBeGreaterThanOrEqual(round * clients * each - inserted);
  }
});

it('ycsb-e reads ranges', async () => {
  const { seen, inserted } = await run('ycsb-e');
  expect(inserted).toBeGreaterThan(0);
  expect(seen).toBeGreaterThan(5 * (clients * each - inserted));
});
