/**
 * Ids from sequences, by several clients, one sequence of which hands out values to each session in advance. Each is used for a row, as ids are: a value that no committed transaction holds may be handed out again after a failover
 * (docs/limits.md).
 */
import type { Workload } from './workload.ts';

const sequences = ['ids', 'ids_cached'] as const;

/** `inAdvance`: not where statements travel, which refuse it. */
export function idsWorkload({ inAdvance }: { readonly inAdvance: boolean }): Workload {
  return {
    name: 'ids',
    options: {},
    clients: 2,
    readersEverywhere: false,
    hasReads: false,
    pauseMs: 50,
    setup: [
      'CREATE SEQUENCE ids',
      `CREATE SEQUENCE ids_cached${inAdvance ? ' CACHE 20' : ''}`,
      'CREATE TABLE handed_out (sequence text, id bigint)',
    ],
    next: (random) => ({ f: 'generate', asked: random.pick(sequences) }),
    async run(session, { asked }) {
      const sql = 'INSERT INTO handed_out SELECT $1::text, nextval($1::text::regclass) RETURNING id';
      const { rows } = await session.statement(sql, [asked], 'writes');
      return [asked, Number(rows[0]?.[0])];
    },
    returnsNothing: () => false,
    finalRequests: () => [],
  };
}
