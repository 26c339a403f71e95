import { describe, expect, it } from 'vitest';
import type { Checkup } from '../../ports/database-server.ts';
import { Checkups } from './checkup.ts';

function setUp() {
  const world = {
    up: true,
    leads: true,
    damagedPages: 3,
    nextXid: 700n,
    ended: 50,
    away: false,
    late: false,
    flushes: { count: 10, ms: 20 },
  };
  const flushed: (number | null)[] = [];
  const damage: string[] = [];
  /** Ends a checkup that is under way. */
  const answers: (() => void)[] = [];
  let tick = (): void => {};
  const checkups = new Checkups({
    server: {
      checkup: (): Promise<Checkup> => {
        const { damagedPages, nextXid, ended, flushes } = world;
        const checkup = { damagedPages, nextXid, ended, flushes };
        if (world.late) return new Promise((resolve) => answers.push(() => resolve(checkup)));
        return world.away ? Promise.reject(new Error('away')) : Promise.resolve(checkup);
      },
    },
    isUp: () => world.up,
    leads: () => world.leads,
    onDamage: (reason) => damage.push(reason),
    onAnswered: () => undefined,
    onFlushed: (ms) => flushed.push(ms),
    timers: {
      every: (_ms, work) => {
        tick = work;
        return () => {};
      },
    },
    everyMs: 1000,
  });
  checkups.start();
  const look = async (changes: Partial<typeof world> = {}): Promise<void> => {
    Object.assign(world, changes);
    tick();
    await turn();
  };
  return { checkups, damage, answers, flushed, look };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('checkups', () => {
  it('count what clients have written and read while the replica leads', async () => {
    const { checkups, look } = setUp();
    await look();
    await look({ nextXid: 710n, ended: 90 });
    expect(checkups.counts).toEqual({ transactions: 10, reads: 30 });
    await look({ leads: false, nextXid: 720n, ended: 190 });
    await look({ leads: true, nextXid: 721n, ended: 192 });
    expect(checkups.counts).toEqual({ transactions: 11, reads: 31 });
  });

  it('begin anew with each PostgreSQL, and pass over one that does not answer', async () => {
    const { checkups, look } = setUp();
    await look();
    checkups.renew();
    await look({ nextXid: 100n, ended: 1 });
    await look({ away: true });
    await look({ away: false, up: false });
    await look({ up: true, nextXid: 105n, ended: 6 });
    expect(checkups.counts).toEqual({ transactions: 5, reads: 0 });
  });

  it('tell damage that was met since PostgreSQL was started, once', async () => {
    const { damage, checkups, look } = setUp();
    await look();
    await look();
    expect(damage).toEqual([]);
    await look({ damagedPages: 5 });
    await look({ damagedPages: 6 });
    expect(damage).toEqual(['PostgreSQL has met 2 pages with a wrong checksum']);
    checkups.renew();
    await look();
    expect(damage).toHaveLength(1);
  });

  it('tell how long a flush of the WAL took since the last look of the same PostgreSQL', async () => {
    const { checkups, flushed, look } = setUp();
    await look();
    await look({ flushes: { count: 12, ms: 4020 } });
    await look();
    checkups.renew();
    await look({ flushes: { count: 1, ms: 1 } });
    await look({ flushes: { count: 2, ms: 4 } });
    expect(flushed).toEqual([2000, null, 3]);
  });

  it('take nothing from an answer of an earlier PostgreSQL that comes late', async () => {
    const { damage, checkups, answers, look } = setUp();
    await look({ damagedPages: 5, late: true });
    checkups.renew();
    answers[0]!();
    await turn();
    await look({ damagedPages: 6, nextXid: 1000n, late: false });
    expect([damage, checkups.counts]).toEqual([[], { transactions: 0, reads: 0 }]);
    await look({ damagedPages: 7 });
    expect(damage).toEqual(['PostgreSQL has met a page with a wrong checksum']);
  });
});
