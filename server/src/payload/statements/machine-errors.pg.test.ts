/** PostgreSQL fails because of the machine that it runs on: that is no answer. Nor is what it makes of a request while its disk becomes full. */
import { rename } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Operation } from './operation.ts';
import { begin, execute, type Machine, make } from './testing/machine.ts';
import { openOf, queries, words } from './testing/statement-replica.ts';

const request = queries();
const log: Operation[] = [
  openOf('a'),
  request('a', 'CREATE TABLE t (a int)'),
  request('a', 'INSERT INTO t VALUES (0)'),
];
let machine: Machine;

beforeAll(async () => {
  machine = await make();
  await execute(machine, log);
});

afterAll(() => machine.postgres.remove());

async function restart(before: () => Promise<void>): Promise<void> {
  await machine.executor.stop().catch(() => undefined);
  await machine.postgres.stop('fast');
  await before();
  await machine.postgres.start();
  machine = await begin(machine.postgres, false, machine);
}

async function sql(text: string): Promise<string> {
  log.push(request('a', text));
  await execute(machine, log);
  return words(machine.results.get(log.length)?.answer ?? Buffer.alloc(0));
}

async function fileOf(table: string): Promise<string> {
  const client = await machine.postgres.connect('barista');
  const { rows } = await client.query<{ path: string }>('SELECT pg_relation_filepath($1) AS path', [table]);
  await client.end();
  return join(machine.postgres.data, rows[0]!.path);
}

it('an SQLSTATE that a client raises is its answer', async () => {
  for (const state of ['53100', '53200', '58030', '58P01', 'XX000', 'XX001'])
    expect(await sql(`DO $$BEGIN RAISE 'no' USING ERRCODE = '${state}'; END$$`)).toBe(`!${state} I`);
});

it('an error of the machine is told to nobody, and the request is executed again from the pointer', async () => {
  const file = await fileOf('t');
  await restart(() => rename(file, `${file}.away`));
  const { pointer } = machine.executor;
  await expect(sql('SELECT a FROM t')).rejects.toThrow('58P01');
  expect(machine.executor.pointer).toBe(pointer);
  expect(machine.results.has(log.length)).toBe(false);
  await restart(() => rename(`${file}.away`, file));
  expect(machine.started).toEqual({ code: 'exact', pointer });
  await execute(machine, log);
  expect(words(machine.results.get(log.length)!.answer)).toBe('(0) SELECT 1 I');
});

it('an error of the machine that others answered, too, is the answer', async () => {
  const file = await fileOf('t');
  await restart(() => rename(file, `${file}.away`));
  machine.others.word = 'same';
  expect(await sql('SELECT a FROM t')).toBe('!58P01 I');
});

it('a request during which the disk became full is taken back, and executed again when there is room', async () => {
  const operator = await machine.postgres.connect('barista');
  await operator.query('CREATE TABLE u (a int); GRANT ALL ON u TO barista');
  await operator.query('SELECT pg_advisory_lock(7)');
  const waits = sql('WITH w AS (SELECT pg_advisory_lock(7)) INSERT INTO u SELECT 5 FROM w').catch(String);
  const blocked = 'SELECT FROM pg_locks WHERE NOT granted';
  await expect.poll(async () => (await operator.query(blocked)).rowCount).toBe(1);
  const { rows } = await operator.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  expect((await machine.executor.blockedBy()).map(({ pid }) => pid)).toEqual([rows[0]!.pid]);
  machine.disk.freeBytes = 0;
  expect(await waits).toContain('too little room');
  await restart(() => Promise.resolve());
  expect(machine.executor.pointer).toBe(log.length - 1);
  const again = execute(machine, log);
  await expect.poll(() => machine.room.trouble).not.toBeNull();
  expect(machine.results.size).toBe(0);
  machine.disk.freeBytes = 1e9;
  await again;
  expect(words(machine.results.get(log.length)!.answer)).toBe('INSERT 0 1 I');
  expect(await sql('SELECT count(*) FROM u')).toBe('(1) SELECT 1 I');
});
