/** What PostgreSQL tells sessions that is no answer: notifications are for clients; what it says of its own end is not, since their sessions are opened again. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { execute, make } from './testing/machine.ts';
import { processIdOf } from './operation.ts';
import { openOf, queries, sessionOf } from './testing/statement-replica.ts';

it('a session hears where it was notified, by others and by itself, and nothing of the end of PostgreSQL', async () => {
  const machine = await make();
  const ask = queries();
  try {
    await execute(machine, [
      openOf('a'),
      openOf('b'),
      ask('a', 'LISTEN told'),
      ask('b', 'NOTIFY told'),
      ask('b', 'SELECT 1'),
    ]);
    await expect.poll(() => machine.told).toHaveLength(1);
    await execute(machine, [...Array(5).fill(null), ask('a', 'NOTIFY told')]);
    await expect.poll(() => machine.told).toHaveLength(2);
    await execute(machine, [...Array(6).fill(null), ask('b', "SELECT pg_notify('told', 'by a function')")]);
    await expect.poll(() => machine.told).toHaveLength(3);
    const operator = await machine.postgres.connect('barista');
    const { rows } = await operator.query<{ pid: number }>(
      "SELECT pid FROM pg_stat_activity WHERE usename = 'barista' AND backend_type = 'client backend'",
    );
    expect(rows).toHaveLength(2);
    const text = await readFile(join(machine.postgres.data, 'postmaster.pid'), 'utf8');
    process.kill(Number(text.split('\n')[0]), 'SIGKILL');
    await expect.poll(() => rows.some(({ pid }) => isThere(pid))).toBe(false);
    await expect(execute(machine, [...Array(7).fill(null), ask('a', 'SELECT 1')])).rejects.toBeInstanceOf(
      Error,
    );
    expect(machine.told.map(([kind]) => kind)).toEqual(['A', 'A', 'A']);
    expect([4, 5]).toContain(machine.told[0]![1]);
    expect(machine.told[1]![1]).toBe(6);
    const by = ['b', 'a', 'b'].map((name) => processIdOf(sessionOf(name)));
    expect(machine.told.map(([, , process]) => process)).toEqual(by);
  } finally {
    await machine.executor.stop().catch(() => undefined);
    await machine.postgres.remove();
  }
});

function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}
