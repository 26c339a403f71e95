/** Ids from sequences, by several clients, one sequence of which hands out values to each session in advance. */
import type { Workload } from './workload.ts';

const sequences = ['ids', 'ids_cached'] as const;

export function idsWorkload(): Workload {
  return {
    name: 'ids',
    options: {},
    clients: 2,
    readersEverywhere: false,
    pauseMs: 50,
    setup: ['CREATE SEQUENCE ids', 'CREATE SEQUENCE ids_cached CACHE 20'],
    next: (random) => ({ f: 'generate', asked: random.pick(sequences) }),
    async run(session, { asked }) {
      const { rows } = await session.statement('SELECT nextval($1::text::regclass)', [asked], 'writes');
      return [asked, Number(rows[0]?.[0])];
    },
    returnsNothing: () => false,
    finalRequests: () => [],
  };
}
