/** What PostgreSQL says of a wait that was ended, while nobody reads its log and others write to it, too. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Client } from 'pg';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { EndedWaits } from '../ended-waits.ts';
import { connectAlone, connectAs, makeData, openTestInstance } from '../testing/test-instance.ts';
import type { PostgresInstance } from './postgres-instance.ts';

let root = '';
let instance: PostgresInstance;
let operator: Client;
let log = '';
const waits = new EndedWaits();

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), 'barista-torn-'));
  await makeData(join(root, 'postgres'));
  instance = await openTestInstance(join(root, 'postgres'));
  await instance.start({ kind: 'primary' });
  instance.watchLog((text) => {
    log += text;
    waits.add(text);
  });
  operator = await connectAlone(instance);
  await operator.query(`CREATE TABLE t (a int);
    CREATE PROCEDURE p(text) LANGUAGE plpgsql AS $$ BEGIN INSERT INTO t VALUES (1); COMMIT; END $$`);
});
afterAll(async () => {
  await instance.stop('immediate');
  await instance.close();
  await rm(root, { recursive: true, force: true });
});

/** Of a pipe. */
const pageBytes = 4_096;
const isWaiting = `SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event = 'SyncRep'`;

/** A commit within this call waits. Its context is the whole text. */
async function waitWith(client: Client, textBytes: number): Promise<() => Promise<unknown>> {
  const done = client.query(`DO $d$ BEGIN CALL p('${'x'.repeat(textBytes)}'); END $d$`);
  done.catch(() => undefined);
  await expect.poll(async () => (await operator.query<{ n: number }>(isWaiting)).rows[0]?.n).toBe(1);
  return () => done;
}

const notice = {
  detail: expect.stringContaining('already committed locally') as string,
  where: expect.stringMatching(/at COMMIT\nSQL statement "CALL p\('x{5000}/) as string,
};

/** This process does nothing at all: nor does it read. */
function stand(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

it('counts, whatever is in its text, and however full the way to this process is', async () => {
  const { socketDir } = instance;
  const waiting = await connectAs(socketDir, 'postgres', 'postgres');
  const { rows } = await waiting.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const { pid } = rows[0]!;
  const notices: unknown[] = [];
  waiting.on('notice', ({ detail, where }) => notices.push({ detail, where }));
  const cancel = `SELECT pg_cancel_backend(${pid})`;
  log = '';
  const first = await waitWith(waiting, 5_000);
  await operator.query(cancel);
  await first();
  instance.drainLog();
  expect(waits.count).toBe(1);
  const spoken = Buffer.byteLength(log);
  // If the notice holds the text, its first 95 bytes, which end in the middle of what is looked for, still fit on the last page of a full pipe, and the rest does not.
  const textBytes = 5_000 + pageBytes - ((spoken - 95) % pageBytes);
  const others = await Promise.all([0, 1, 2].map(() => connectAlone(instance)));
  const second = await waitWith(waiting, textBytes);
  const flood = `DO $$ BEGIN FOR i IN 1..40 LOOP RAISE LOG '%', repeat('y', 2500); END LOOP; END $$`;
  const flooding = others.map((other) => other.query(flood));
  const cancelled = operator.query(`SELECT pg_sleep(0.5); ${cancel}`);
  await new Promise((resolve) => setImmediate(resolve));
  stand(1_500);
  await Promise.all([second(), cancelled, ...flooding]);
  instance.drainLog();
  for (const client of [waiting, ...others]) await client.end();
  expect(waits.count).toBe(2);
  // The client is told everything.
  expect(notices).toEqual([notice, notice]);
});
