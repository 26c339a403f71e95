/** A PostgreSQL that lets sessions in, and then does nothing any more. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { eventually } from '../../ports/testing/eventually.ts';
import { foundDatabase } from '../../ports/testing/test-primary.ts';
import { never } from '../../ports/testing/database-fixture.ts';
import { openRealFixture, type RealFixture } from './testing/real-fixture.ts';
import { testBinaries } from './testing/test-instance.ts';

let fixture: RealFixture;

beforeEach(async () => {
  fixture = await openRealFixture(await testBinaries());
  await foundDatabase(fixture);
});
afterEach(() => fixture.dispose());

it('fails to start as a primary within seconds, and can be started again', async () => {
  const { server } = fixture;
  const start = server.instance.start.bind(server.instance);
  server.instance.start = async (role, ended) => {
    await start(role, ended);
    fixture.stand();
  };
  const begunAtMs = performance.now();
  await expect(server.startPrimary(never)).rejects.toMatchObject({ code: 'launchFailed' });
  expect(performance.now() - begunAtMs).toBeLessThan(20_000);
  await server.stop('kill');
  server.instance.start = start;
  expect(await (await server.startPrimary(never)).flushed()).toBeGreaterThan(0);
});

it('is given up while it starts, though it does not hear so', async () => {
  const { instance } = fixture.server;
  const over = new AbortController();
  const given = instance.start({ kind: 'primary' }, over.signal).then(
    () => null,
    (error: unknown) => error,
  );
  await eventually(() => expect(instance.pid()).not.toBeNull(), { interval: 1 });
  fixture.stand();
  over.abort(new Error('nobody waits for it'));
  expect(await given).toMatchObject({ message: 'nobody waits for it' });
  expect(instance.pid()).toBeNull();
});
