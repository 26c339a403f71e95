/** What a primary answers in a new session while clients have taken all that they can, and when it cannot serve. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { foundDatabase, logOf, resumePrimary, type TestPrimary } from '../../ports/testing/test-primary.ts';
import { connectPg } from './pg-client.ts';
import { openRealFixture, type RealFixture } from './testing/real-fixture.ts';
import { testBinaries } from './testing/test-instance.ts';

let fixture: RealFixture;
let primary: TestPrimary;
const never = new AbortController().signal;
const whole = { isPaused: false, resumed: false };
const ask = (): unknown => primary.primary.answer({ resume: true }, never);

beforeEach(async () => {
  fixture = await openRealFixture(await testBinaries());
  primary = await resumePrimary(fixture, logOf(await foundDatabase(fixture)));
});
afterEach(() => fixture.dispose());

it('a primary answers, also where clients hold all locks, so that no session can begin', async () => {
  expect(await ask()).toEqual(whole);
  const open = () =>
    connectPg({ socketDir: fixture.server.instance.socketDir, database: 'postgres', silentMsMax: null });
  const locker = await open();
  await locker.query(`BEGIN; DO $$ BEGIN
    FOR n IN 1..1000000 LOOP
      BEGIN PERFORM pg_advisory_xact_lock(n); EXCEPTION WHEN out_of_memory THEN EXIT; END;
    END LOOP;
  END $$`);
  await expect(open()).rejects.toMatchObject({ code: '53200' });
  expect(await ask()).toEqual(whole);
  await locker.end();
});

it('a primary that has ended does not', async () => {
  await fixture.server.stop('immediate');
  await expect(ask()).rejects.toThrow(/connect/);
});
