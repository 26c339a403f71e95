import { readFile } from 'node:fs/promises';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { comparableDump } from '../../../../harness/checkers/database-compare.ts';
import { connectPg } from './pg-client.ts';
import type { PostgresServer } from './postgres-server.ts';
import { copyIn } from './testing/copy-in.ts';
import { startPair } from './testing/replicated-pair.ts';
import type { ReplicatedPair } from './testing/replicated-pair.ts';

const rowsCount = 1_050_000;
const privateBytesMax = 120 * 1024 * 1024;

let pair: ReplicatedPair;
beforeAll(async () => {
  pair = await startPair();
});
afterAll(() => pair.stop());

function* lines(): Generator<string> {
  for (let i = 0; i < rowsCount; i += 5_000) {
    let chunk = '';
    for (let row = i; row < Math.min(i + 5_000, rowsCount); row += 1) {
      chunk += `${row}\tsome text of row ${row}\t${row * 1.5}\n`;
    }
    yield chunk;
  }
}

/** The most private memory that any backend of a server had while `work` ran. Linux only. */
async function peakPrivateBytes(server: PostgresServer, work: () => Promise<unknown>): Promise<number> {
  const operator = await connectPg({ socketDir: server.socketDir, database: server.database });
  let peak = 0;
  const done = new AbortController();
  const watch = (async () => {
    while (!done.signal.aborted) {
      const pids = await operator.query<{ pid: number }>(
        `SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend'`,
      );
      for (const { pid } of pids.rows) {
        const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
        peak = Math.max(peak, 1024 * Number(/RssAnon:\s+(\d+)/.exec(status)?.[1] ?? 0));
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  })();
  try {
    await work();
  } finally {
    done.abort();
    await watch;
    await operator.end();
  }
  return peak;
}

async function expectIdentical(): Promise<void> {
  const [leader, follower] = await Promise.all([
    comparableDump(pair.leader, 'barista'),
    comparableDump(pair.follower, 'barista'),
  ]);
  expect(follower).toEqual(leader);
}

it.runIf(process.platform === 'linux')(
  'a COPY of a million rows reaches the follower with bounded memory on both sides',
  async () => {
    await pair.run('CREATE TABLE bulk (id int PRIMARY KEY, t text, f float8)');
    const client: Client = await pair.session();
    const leaderPeak = await peakPrivateBytes(pair.leader, async () => {
      await client.query('BEGIN');
      await copyIn(client, 'COPY bulk FROM STDIN', lines());
      await pair.commit(client);
    });
    const parts = pair.log.at(-1) ?? [];
    expect(parts.length).toBeGreaterThan(10);
    expect(Math.max(...parts.map((part) => part.byteLength))).toBeLessThan(2 * 1024 * 1024);
    const followerPeak = await peakPrivateBytes(pair.follower, () => pair.replicate());
    await expectIdentical();
    expect(leaderPeak).toBeLessThan(privateBytesMax);
    expect(followerPeak).toBeLessThan(privateBytesMax);
  },
  240_000,
);

it('a large statement whose trigger changes its rows again is applied by staging', async () => {
  await pair.run(
    'CREATE TABLE twice (id int PRIMARY KEY, n int, pad text)',
    "INSERT INTO twice SELECT g, 0, repeat('x', 1000) FROM generate_series(1, 12000) g",
    `CREATE FUNCTION again() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN
        IF NEW.n = 1 THEN UPDATE twice SET n = 2 WHERE id = NEW.id; END IF;
        RETURN NULL;
      END $$`,
    'CREATE TRIGGER again AFTER UPDATE ON twice FOR EACH ROW EXECUTE FUNCTION again()',
  );
  // Noted first: 12,000 changes from 1 to 2, more than is gathered in memory. Noted last: the change from 0 to 1 of all rows.
  await pair.run('UPDATE twice SET n = 1');
  await pair.replicate();
  await expectIdentical();
}, 240_000);
