/**
 * A replica under `payload: statements` that comes back: stopped in order while a transaction was open, whose numbers it draws again; killed, where it answers otherwise than before; without its database, in a group whose log does not begin with slot 1 any more, where it has the copy that another replica keeps, and executes the log from there.
 *
 * Real processes, a real driver.
 */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { ServedGroup } from '../cluster/served-group.ts';
import { ReplicaClients } from './replica-clients.ts';

let group: ServedGroup;
let clients: ReplicaClients;

beforeAll(async () => {
  // Its log goes as soon as it has come to half of that.
  group = await ServedGroup.found({ payload: 'statements', bounds: { logBytesMax: 4 * 1024 * 1024 } });
  clients = new ReplicaClients(group);
});

afterAll(async () => {
  await clients?.end();
  await group?.stop();
});

it('a replica that was stopped with a transaction open draws the same numbers again', async () => {
  const client = await clients.connect(0);
  await client.query('CREATE TABLE drawn (n serial PRIMARY KEY, v int)');
  await client.query('INSERT INTO drawn (v) VALUES (1)');
  await client.query('BEGIN');
  await client.query('INSERT INTO drawn (v) VALUES (2), (3)');
  await group.end('r3');
  await client.query('INSERT INTO drawn (v) VALUES (4)');
  group.start('r3');
  await client.query('COMMIT');
  await group.settled();
  expect(await clients.equalEverywhere('SELECT * FROM drawn ORDER BY n')).toHaveLength(4);
  await clients.equalEverywhere('SELECT last_value FROM drawn_n_seq');
});

it('a replica that executes anew, and answers otherwise than all had, stands until it has a copy of another', async () => {
  const client = await clients.connect(0);
  await client.query('CREATE TABLE late (is_late boolean)');
  // Nobody can keep a copy of what follows.
  const open = await clients.connect(1);
  await open.query('BEGIN');
  await open.query('INSERT INTO drawn (v) VALUES (5)');
  // It slips through the rules: all say that it is not late, and whoever executes it afterwards that it is.
  const soonMs = 20_000;
  let untilMs: number;
  do {
    untilMs = Date.now() + soonMs;
    await client.query('DELETE FROM late');
    const at = new Date(untilMs).toISOString();
    await client.query(`INSERT INTO late SELECT ('no' || 'w')::timestamptz > '${at}' RETURNING is_late`);
    await group.settled();
  } while (Date.now() > untilMs);
  const [row] = await clients.equalEverywhere('SELECT * FROM late');
  expect(row).toEqual({ is_late: false });
  await expect.poll(() => Date.now()).toBeGreaterThan(untilMs);

  const file = join(group.dataDir('r3'), 'held-answers.json');
  const stands = async (): Promise<boolean> =>
    /"standsAt":\d/.test(await readFile(file, 'utf8').catch(() => ''));
  const standing = async (): Promise<number> =>
    (await readFile(join(group.root, 'r3.log'), 'utf8')).split('is not the one that a majority had given')
      .length - 1;
  await group.kill('r3');
  group.start('r3');
  await expect.poll(stands).toBe(true);
  const before = await standing();
  await group.kill('r3');
  group.start('r3');
  await expect.poll(standing).toBeGreaterThan(before);
  await open.query('ROLLBACK').catch(() => undefined);
  await group.settled();
  expect(await clients.equalEverywhere('SELECT * FROM late')).toEqual([{ is_late: false }]);
  await expect.poll(stands).toBe(false);
});

it('a replica without a database has the copy of another where the log has been purged', async () => {
  const client = await clients.connect(0);
  await client.query('CREATE TABLE t (n serial PRIMARY KEY, v int)');
  const isPurged = async (): Promise<boolean> => ((await group.status('r3'))?.log?.purgedTo ?? 0) > 0;
  for (let n = 0; !(await isPurged()); n += 1) {
    if (n === 400) throw new Error('nothing of the log was purged');
    await client.query(`INSERT INTO t (v) VALUES (length('${'x'.repeat(50_000)}'))`);
  }
  await group.end('r3');
  await group.wipe('r3', 'postgres');
  await client.query('INSERT INTO t (v) VALUES (1)');
  group.start('r3');
  await group.settled();
  const log = await readFile(join(group.root, 'r3.log'), 'utf8');
  expect(log).toContain('a copy of another replica is here');
  await client.query('INSERT INTO t (v) VALUES (2)');
  await group.settled();
  const all = await clients.rowsAt(0, 'SELECT * FROM t ORDER BY n');
  expect(await clients.rowsAt(2, 'SELECT * FROM t ORDER BY n')).toEqual(all);
  expect(await clients.rowsAt(2, 'SELECT last_value FROM t_n_seq')).toEqual([
    { last_value: String(all.length) },
  ]);
});
