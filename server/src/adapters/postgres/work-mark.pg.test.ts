/** What a PostgreSQL that comes up has done, told from outside. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { FedStandby } from '../../ports/testing/database-fixture.ts';
import { foundDatabase, logOf } from '../../ports/testing/test-primary.ts';
import { isStopped } from './process-identity.ts';
import { openRealFixture, type RealFixture } from './testing/real-fixture.ts';
import { testBinaries } from './testing/test-instance.ts';

let fixture: RealFixture;

beforeEach(async () => {
  fixture = await openRealFixture(await testBinaries());
});
afterEach(() => fixture.dispose());

const moment = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 300));

it.runIf(process.platform === 'linux')(
  'the mark of a standby differs when its startup process has done something, and only then',
  async () => {
    const log = logOf(await foundDatabase(fixture));
    const { server } = fixture;
    expect(await server.workMark()).toBeNull();
    const fed = await FedStandby.start(fixture, log, log.position);
    await fed.untilReplayed(log.position.end);
    await fed.look();
    const { pid: main } = server.info();
    const busy = (await server.workMark())!;
    const [startup, checkpointer] = busy
      .split(', ')
      .map((one) => Number(one.split(' ')[0]))
      .toSorted((one, other) => other - one) as [number, number];
    expect([startup, checkpointer]).not.toContain(main);
    for (const pid of [startup, checkpointer]) process.kill(pid, 'SIGSTOP');
    await expect.poll(() => [startup, checkpointer].every(isStopped)).toBe(true);
    const stopped = await server.workMark();
    // Each has something to do, and does not do it.
    for (const pid of [startup, checkpointer]) process.kill(pid, 'SIGHUP');
    await moment();
    expect(await server.workMark()).toBe(stopped);
    process.kill(startup, 'SIGCONT');
    await expect.poll(() => server.workMark()).not.toBe(stopped);
    process.kill(checkpointer, 'SIGCONT');
  },
);
