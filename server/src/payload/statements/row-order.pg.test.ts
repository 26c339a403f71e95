/** Rows lie in the same places at all replicas, for statements without an order read them as they lie. */
import { afterEach, expect, it } from 'vitest';
import type { TestPostgres } from '../../gateways/pgwire/testing/postgres.ts';
import {
  OperationFeed,
  startReplica,
  startStatementPostgres,
  type StatementReplica,
} from './testing/statement-replica.ts';

let replicas: readonly StatementReplica[] = [];
afterEach(async () => {
  await Promise.all(replicas.map(({ executor }) => executor.stop()));
  await Promise.all(replicas.map(({ postgres }) => postgres.stop()));
});

/** Where its rows are, and how many pages PostgreSQL takes for ones that everybody sees. */
const placesSql = `SELECT (SELECT string_agg(a || ctid::text, ' ') FROM t) AS places,
  (SELECT relallvisible FROM pg_class WHERE relname = 't') AS visible`;

async function placesAt({ superuser }: TestPostgres): Promise<unknown> {
  return (await superuser.query(placesSql)).rows;
}

it('behind a VACUUM, though one of them writes its WAL to the disk later than the other', async () => {
  // One has everything on its disk at once.
  const settings = [{ synchronous_commit: 'on' }, { wal_writer_delay: '10s' }];
  const started = await Promise.all(settings.map(startStatementPostgres));
  replicas = await Promise.all(started.map((postgres) => startReplica(postgres)));
  const feed = new OperationFeed(replicas);
  for (const name of ['a', 'b']) await feed.open(name);
  await feed.sql('a', 'CREATE TABLE t (a int, pad text)');
  for (let time = 0; time < 5; time += 1) {
    await feed.sql('a', "INSERT INTO t SELECT g, repeat('x', 300) FROM generate_series(1, 100) g");
    await feed.sql('b', `DELETE FROM t WHERE a % 7 = ${time}`);
    await feed.sql('b', 'VACUUM t');
    await feed.sql('b', "UPDATE t SET pad = repeat('y', 500) WHERE a % 5 = 0");
  }
  const [one, other] = await Promise.all(started.map(placesAt));
  expect(one).toMatchObject([{ visible: expect.toSatisfy((pages: number) => pages > 0) }]);
  expect(other).toEqual(one);
});
