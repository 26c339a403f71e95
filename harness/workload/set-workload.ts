/** A set that grows by single inserts. It is read whole now and then, ever more seldom, for its history would outgrow everything else. */
import type { Workload } from './workload.ts';

const growthBetweenReads = 1.5;

export function setWorkload(): Workload {
  let added = 0;
  let nextReadAt = 20;
  return {
    name: 'set',
    options: {},
    clients: 3,
    readersEverywhere: false,
    pauseMs: 40,
    // No primary key: what is done twice shall show.
    setup: ['CREATE TABLE elements (element bigint NOT NULL)'],
    next() {
      if (added < nextReadAt) return { f: 'add', asked: ++added };
      nextReadAt = Math.ceil(nextReadAt * growthBetweenReads);
      return { f: 'read', asked: null };
    },
    async run(session, { f, asked }) {
      if (f === 'read') {
        const { rows } = await session.statement('SELECT element FROM elements', [], 'reads');
        return rows.map(([element]) => Number(element));
      }
      await session.statement('INSERT INTO elements VALUES ($1)', [asked], 'writes');
      return asked;
    },
    returnsNothing: (f) => f === 'add',
    finalRequests: () => [{ f: 'read', asked: null }],
  };
}
