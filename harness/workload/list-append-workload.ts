/** Transactions that read lists and append to them, several lists in each, at SERIALIZABLE; who only reads does so at REPEATABLE READ, which is what a standby has. */
import type { MicroOperation } from '../checkers/append-transactions.ts';
import type { Random } from './seeded-random.ts';
import type { Workload } from './workload.ts';

const keysAtOnce = 5;
const appendsPerKey = 40;
const operationsMax = 4;
const finalKeysAtOnce = 40;

export function listAppendWorkload(): Workload {
  const names: string[] = [];
  const make = (): { name: string; appended: number } => {
    const name = `l${names.length + 1}`;
    names.push(name);
    return { name, appended: 0 };
  };
  const keys = Array.from({ length: keysAtOnce }, make);
  const micro = (random: Random): MicroOperation => {
    const index = random.below(keysAtOnce);
    if (keys[index]!.appended >= appendsPerKey) keys[index] = make();
    const key = keys[index]!;
    return random.chance(0.5) ? ['r', key.name, null] : ['append', key.name, ++key.appended];
  };
  const someLists = (random: Random): readonly MicroOperation[] => {
    const first = random.below(keysAtOnce);
    return Array.from({ length: 2 + random.below(keysAtOnce - 1) }, (_, index) => [
      'r',
      keys[(first + index) % keysAtOnce]!.name,
      null,
    ]);
  };
  return {
    name: 'list-append',
    options: { isolation: 'SERIALIZABLE' },
    clients: 4,
    readersEverywhere: false,
    hasReads: true,
    pauseMs: 60,
    setup: ['CREATE TABLE lists (key text PRIMARY KEY, list bigint[] NOT NULL)'],
    next(random, only) {
      if (only === 'read') return { f: 'read', asked: someLists(random) };
      return {
        f: 'txn',
        asked: Array.from({ length: 1 + random.below(operationsMax) }, () => micro(random)),
      };
    },
    run: (session, { f, asked }) =>
      session.transaction(f === 'read' ? 'REPEATABLE READ' : 'SERIALIZABLE', async (query) => {
        const micros = asked as readonly MicroOperation[];
        const answer: MicroOperation[] = [];
        for (const each of micros) {
          const [kind, key, value] = each;
          if (kind === 'r') {
            const { rows } = await query('SELECT list FROM lists WHERE key = $1', [key]);
            const list = (rows[0]?.[0] ?? []) as readonly string[];
            answer.push(['r', key, list.map(Number)]);
            continue;
          }
          const upsert =
            'INSERT INTO lists VALUES ($1, ARRAY[$2::bigint]) ON CONFLICT (key) DO UPDATE SET list = lists.list || $2::bigint';
          await query(upsert, [key, value]);
          answer.push(each);
        }
        return answer;
      }),
    returnsNothing: () => false,
    finalRequests: () =>
      Array.from({ length: Math.ceil(names.length / finalKeysAtOnce) }, (_, batch) => ({
        f: 'txn',
        asked: names
          .slice(batch * finalKeysAtOnce, (batch + 1) * finalKeysAtOnce)
          .map((name): MicroOperation => ['r', name, null]),
      })),
  };
}
