/** A set that grows by single inserts. It is read whole now and then, ever more seldom, for its history would outgrow everything else; who only reads asks for what was added last. */
import type { QueryAnswer, SqlSession } from './sql-session.ts';
import type { Workload } from './workload.ts';

const growthBetweenReads = 1.5;
const lastAdded = 60;

export function setWorkload(): Workload {
  let added = 0;
  let nextReadAt = 20;
  return {
    name: 'set',
    options: {},
    clients: 3,
    readersEverywhere: false,
    hasReads: true,
    pauseMs: 40,
    // No primary key: what is done twice shall show.
    setup: ['CREATE TABLE elements (element bigint NOT NULL)', 'CREATE INDEX ON elements (element)'],
    next(_, only) {
      if (only === 'read')
        return { f: 'read', asked: { above: Math.max(0, added - lastAdded), upTo: added } };
      if (added < nextReadAt) return { f: 'add', asked: ++added };
      nextReadAt = Math.ceil(nextReadAt * growthBetweenReads);
      return { f: 'read', asked: null };
    },
    async run(session, { f, asked }) {
      if (f === 'read') {
        const { rows } = await readElements(session, asked as { above: number; upTo: number } | null);
        return rows.map(([element]) => Number(element));
      }
      await session.statement('INSERT INTO elements VALUES ($1)', [asked], 'writes');
      return asked;
    },
    returnsNothing: (f) => f === 'add',
    finalRequests: () => [{ f: 'read', asked: null }],
  };
}

function readElements(
  session: SqlSession,
  window: { readonly above: number; readonly upTo: number } | null,
): Promise<QueryAnswer> {
  if (window === null) return session.statement('SELECT element FROM elements', [], 'reads');
  const some = 'SELECT element FROM elements WHERE element > $1 AND element <= $2';
  return session.statement(some, [window.above, window.upTo], 'reads');
}
