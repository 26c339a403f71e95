/** What a standby answers when it is asked, and that paused replay resumes when its replica needs it. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FedStandby } from '../../ports/testing/database-fixture.ts';
import { foundDatabase, logOf } from '../../ports/testing/test-primary.ts';
import { connectPg } from './pg-client.ts';
import { openRealFixture, type RealFixture } from './testing/real-fixture.ts';
import { testBinaries } from './testing/test-instance.ts';

let fixture: RealFixture;
let fed: FedStandby;
const never = new AbortController().signal;

beforeEach(async () => {
  fixture = await openRealFixture(await testBinaries());
  const log = logOf(await foundDatabase(fixture));
  fed = await FedStandby.start(fixture, log, log.position);
  await fed.look();
});
afterEach(() => fixture.dispose());

it('a standby says that its replay is paused, and resumes it only when told to', async () => {
  const answer = (resume: boolean): unknown => fed.standby.answer({ resume }, never);
  expect(await answer(true)).toEqual({ isPaused: false, resumed: false });
  const client = await connectPg({
    socketDir: fixture.server.instance.socketDir,
    database: 'postgres',
    silentMsMax: null,
  });
  await client.query('SELECT pg_catalog.pg_wal_replay_pause()');
  expect(await answer(false)).toEqual({ isPaused: true, resumed: false });
  expect(await answer(true)).toEqual({ isPaused: false, resumed: true });
  expect(await answer(false)).toEqual({ isPaused: false, resumed: false });
  await client.end();
});

it('a standby that has been stopped answers nothing', async () => {
  await fixture.server.stop('fast');
  await expect(fed.standby.answer({ resume: false }, never)).rejects.toThrow(/connect/);
});
