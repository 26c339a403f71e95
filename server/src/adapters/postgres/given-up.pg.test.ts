/** What a replica asks its PostgreSQL and then waits for no longer: whatever comes of it later harms nobody. */
import { Client, type QueryResult } from 'pg';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { timelineFile } from '../../wal/timeline-file.ts';
import type { Timeline } from '../../wal/lsn.ts';
import { FedStandby, never, type TestLog, until } from '../../ports/testing/database-fixture.ts';
import { foundDatabase, logOf } from '../../ports/testing/test-primary.ts';
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
  await fed.look();
});
afterEach(async () => {
  vi.restoreAllMocks();
  await fixture.dispose();
});

/** The process behind the replica's own session. */
async function ownBackend(): Promise<number> {
  const client = await connectAs(fixture.server.instance.socketDir, 'postgres', 'postgres');
  const { rows } = await client.query<{ pid: number }>(
    "SELECT pid FROM pg_stat_activity WHERE query LIKE '%pg_snapshot_xmax%' AND pid <> pg_backend_pid()",
  );
  await client.end();
  expect(rows).toHaveLength(1);
  return rows[0]!.pid;
}

it('a look that is given up is nothing that the next one waits behind', async () => {
  const pid = await ownBackend();
  process.kill(pid, 'SIGSTOP');
  try {
    const given = new AbortController();
    const look = fed.standby.look(given.signal);
    setTimeout(() => given.abort(), 100);
    const next = look.catch(() => fed.standby.look(AbortSignal.timeout(10_000)));
    expect((await next).replayed).toBeGreaterThanOrEqual(log.position.end);
    expect(given.signal.aborted).toBe(true);
  } finally {
    process.kill(pid, 'SIGCONT');
  }
});

it('a look that is answered leaves its session to the next one', async () => {
  const given = new AbortController();
  await fed.standby.look(given.signal);
  const pid = await ownBackend();
  given.abort();
  await fed.standby.look(never);
  expect(await ownBackend()).toBe(pid);
});

/** The answer to the first query of such a text comes when the function is called. */
function hold(text: string): { readonly isHeld: () => boolean; readonly release: () => void } {
  let isHeld = false;
  let release = (): void => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  // oxlint-disable-next-line typescript/unbound-method -- called with its client below
  const query = Client.prototype.query as (...given: unknown[]) => Promise<QueryResult>;
  function answer(this: Client, ...given: unknown[]): unknown {
    return query.apply(this, given).then(async (result) => {
      if (given[0] !== text) return result;
      isHeld = true;
      await released;
      return result;
    });
  }
  vi.spyOn(Client.prototype, 'query').mockImplementation(answer);
  return { isHeld: () => isHeld, release };
}

it('a promotion that is given up does not close the feed of the next standby', async () => {
  const { replayed, nextXid } = await fed.look();
  fed.standby.shut();
  const timeline = log.lead(replayed, { system: log.position.system, nextXid });
  const held = hold('SELECT pg_catalog.pg_walfile_name(pg_catalog.pg_current_wal_insert_lsn()) AS name');
  const history = (number: Timeline): string => timelineFile(log.position, number);
  const promotion = fed.standby.promote({ timeline, fork: replayed, history }).then(
    () => 'a primary',
    () => 'no primary',
  );
  await until(fixture.timers, held.isHeld);
  await fixture.server.stop('kill');
  await fed.launch();
  await until(fixture.timers, () => fed.standby.streaming);
  held.release();
  expect(await promotion).toBe('no primary');
  const reports = fed.reports.length;
  await until(fixture.timers, () => {
    fed.standby.ask();
    return fed.reports.length > reports;
  });
});
