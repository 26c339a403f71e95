/** What a promotion survives, and what it says of the rest. */
import { Client, type QueryResult } from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { PrimaryDatabase } from '../../ports/database-server.ts';
import { FedStandby, type TestLog, until } from '../../ports/testing/database-fixture.ts';
import { foundDatabase, logOf } from '../../ports/testing/test-primary.ts';
import type { Timeline } from '../../wal/lsn.ts';
import { timelineFile } from '../../wal/timeline-file.ts';
import { openRealFixture, type RealFixture } from './testing/real-fixture.ts';
import { connectAs, testBinaries } from './testing/test-instance.ts';

let fixture: RealFixture;
let log: TestLog;
let fed: FedStandby;

beforeEach(async () => {
  fixture = await openRealFixture(await testBinaries());
  log = logOf(await foundDatabase(fixture));
  fed = await FedStandby.start(fixture, log, log.position);
  await fed.untilReplayed(log.position.end);
});
afterEach(async () => {
  vi.restoreAllMocks();
  await fixture.dispose();
});

async function promote(): Promise<PrimaryDatabase> {
  const { replayed, nextXid } = await fed.look();
  fed.standby.shut();
  const timeline = log.lead(replayed, { system: log.position.system, nextXid });
  const history = (number: Timeline): string => timelineFile(log.position, number);
  return fed.standby.promote({ timeline, fork: replayed, history });
}

/** Before the first query whose text has this in it. */
function before(text: string, act: () => Promise<void>): { readonly happened: () => boolean } {
  let happened = false;
  // oxlint-disable-next-line typescript/unbound-method -- called with its client below
  const query = Client.prototype.query as (...given: unknown[]) => Promise<QueryResult>;
  async function answer(this: Client, ...given: unknown[]): Promise<QueryResult> {
    if (!happened && String(given[0]).includes(text)) {
      happened = true;
      await act();
    }
    return query.apply(this, given);
  }
  vi.spyOn(Client.prototype, 'query').mockImplementation(answer as never);
  return { happened: () => happened };
}

const others =
  "SELECT pid FROM pg_stat_activity WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()";

/** The session in which the replica asks its PostgreSQL, and that of its first barrier. */
async function endOwnSession(): Promise<void> {
  const client = await connectAs(fixture.server.instance.socketDir, 'postgres', 'postgres');
  const { rows } = await client.query<{ pid: number }>(others);
  expect(rows.length).toBeGreaterThan(0);
  for (const { pid } of rows) process.kill(pid, 'SIGTERM');
  await until(fixture.timers, async () => (await client.query(others)).rowCount === 0);
  await client.end();
}

it.each([
  'pg_terminate_backend(pid)',
  'pg_stat_wal_receiver',
  'pg_promote(false)',
  'pg_is_in_recovery() AS recovers',
  'pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) AS name',
])('goes on in another session when its own has ended before it asks for %s', async (text) => {
  const ended = before(text, endOwnSession);
  expect((await promote()).timeline).toBe(2);
  expect(ended.happened()).toBe(true);
});

it('the primary is asked in another session, too', async () => {
  const primary = await promote();
  await endOwnSession();
  await until(fixture.timers, () =>
    primary.flushed().then(
      (flushed) => flushed >= log.position.end,
      () => false,
    ),
  );
  await fixture.server.stop('immediate');
  await expect(primary.flushed()).rejects.toThrow(/ENOENT|ECONNREFUSED|PostgreSQL was stopped/);
});

it('says that PostgreSQL has ended', async () => {
  before('pg_promote(false)', async () => {
    fixture.killMain();
    await until(fixture.timers, () => !fixture.server.isAlive());
  });
  await expect(promote()).rejects.toThrow('PostgreSQL ended while it was promoted');
});
