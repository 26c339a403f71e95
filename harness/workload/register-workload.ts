/**
 * Registers: rows that single statements read, write, and swap if they hold what is expected.
 *
 * A key is used for a bounded number of operations and then left for another, so that each can be judged by itself in little time.
 */
import type { Random } from './seeded-random.ts';
import type { Workload } from './workload.ts';

const keysAtOnce = 3;
const operationsPerKey = 250;

interface Key {
  readonly name: string;
  operations: number;
  written: number;
}

export function registerWorkload(): Workload {
  let made = 0;
  const make = (): Key => ({ name: `k${++made}`, operations: 0, written: 0 });
  const keys = Array.from({ length: keysAtOnce }, make);
  const pick = (random: Random): Key => {
    const index = random.below(keysAtOnce);
    if (keys[index]!.operations >= operationsPerKey) keys[index] = make();
    const key = keys[index]!;
    key.operations++;
    return key;
  };
  return {
    name: 'register',
    options: {},
    clients: 3,
    readersEverywhere: true,
    hasReads: true,
    pauseMs: 40,
    setup: ['CREATE TABLE registers (key text PRIMARY KEY, value bigint NOT NULL)'],
    next(random, only) {
      const key = pick(random);
      const kind = random.unit();
      if (only === 'read' || kind < 0.3) return { f: 'read', asked: { key: key.name } };
      if (kind < 0.7 || key.written === 0)
        return { f: 'write', asked: { key: key.name, value: ++key.written } };
      const from = Math.max(1, key.written - random.below(3));
      return { f: 'cas', asked: { key: key.name, from, to: ++key.written } };
    },
    async run(session, { f, asked }) {
      const { key, value, from, to } = asked as { key: string; value: number; from: number; to: number };
      if (f === 'read') {
        const { rows } = await session.statement(
          'SELECT value FROM registers WHERE key = $1',
          [key],
          'reads',
        );
        return { key, value: rows[0] === undefined ? null : Number(rows[0][0]) };
      }
      if (f === 'write') {
        const upsert = 'INSERT INTO registers VALUES ($1, $2) ON CONFLICT (key) DO UPDATE SET value = $2';
        await session.statement(upsert, [key, value], 'writes');
        return asked;
      }
      const swap = 'UPDATE registers SET value = $3 WHERE key = $1 AND value = $2';
      const { rowCount } = await session.statement(swap, [key, from, to], 'writes');
      return { key, from, to, swapped: rowCount === 1 };
    },
    returnsNothing: (f) => f === 'write',
    finalRequests: () => keys.map(({ name }) => ({ f: 'read', asked: { key: name } })),
  };
}
