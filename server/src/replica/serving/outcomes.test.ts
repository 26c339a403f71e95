import { describe, expect, it } from 'vitest';
import { ballot, lsn } from '../../payload/wal/testing/entries.ts';
import { positionNone, type WalPosition } from '../../wal/position.ts';
import type { TransactionStatus } from '../../ports/database-server.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { Outcomes } from './outcomes.ts';
import { Successions } from './successions.ts';

const [b1, b2, b3] = [ballot(1, 'r1'), ballot(2, 'r2'), ballot(3, 'r3')];

function beginning(leadership: WalPosition['leadership'], nextXid: bigint, end: number): WalPosition {
  return { ...positionNone, leadership, nextXid, end: lsn(end) };
}

function setUp(statuses: Record<string, TransactionStatus> = {}) {
  const time = new SimulatedTime();
  const successions = new Successions();
  successions.add(beginning(b1, 10n, 0), false);
  const world = {
    replayed: 0,
    serves: false,
    standby: true,
    down: false,
    isShown: true,
    under: null as typeof b1 | null,
  };
  const barriers: { pass: () => void; fail: () => void }[] = [];
  const outcomes = new Outcomes({
    successions,
    server: {
      statusOf: (xid) =>
        world.down ? Promise.reject(new Error('away')) : Promise.resolve(statuses[String(xid)] ?? 'unknown'),
      mayActElsewhere: ({ database }) =>
        world.down ? Promise.reject(new Error('away')) : Promise.resolve(database === 'foreign'),
      committedRequest: ({ name }) =>
        Promise.resolve(name === 'done' ? { tag: 'INSERT 0 1' } : name === 'gone' ? 'unknown' : null),
    },
    replayed: () => lsn(world.replayed),
    serves: () => world.serves,
    servedUnder: () => world.under,
    barrier: () =>
      new Promise((resolve, reject) =>
        barriers.push({ pass: resolve, fail: () => reject(new Error('PostgreSQL is away')) }),
      ),
    shownByLeader: () => Promise.resolve(world.isShown),
    isStandby: () => world.standby,
    onEvent: () => undefined,
    timers: time,
    pollMs: 1,
  });
  const of = (xid: bigint, leadership = b1): Promise<string> =>
    time.until(outcomes.ofTransaction({ leadership, xid }, 30));
  const ofName = (name: string) =>
    time.until(outcomes.ofRequest({ database: 'd', owner: '10:5', name }, b1, 30));
  const elsewhere = (database: string, leadership: typeof b1 | null = b1) =>
    time.until(outcomes.mayActElsewhere({ database, role: 'r', owner: null }, leadership, 30));
  return { time, successions, world, barriers, of, ofName, elsewhere };
}

describe('what became of a transaction', () => {
  it('is unknown while its leadership may still go on, but for what is committed', async () => {
    const { of, ofName, elsewhere } = setUp({ 50: 'committed', 51: 'aborted', 52: 'open' });
    expect(await Promise.all([50n, 51n, 52n, 53n].map((xid) => of(xid)))).toEqual([
      'committed',
      'unknown',
      'unknown',
      'unknown',
    ]);
    expect(await of(50n, b2)).toBe('unknown');
    expect(await Promise.all(['done', 'other'].map(ofName))).toEqual([
      { code: 'committed', tag: 'INSERT 0 1' },
      { code: 'unknown' },
    ]);
    expect(await elsewhere('plain')).toBe(true);
  });

  it('is told by a standby while its leadership goes on only where that has begun in what it has replayed', async () => {
    const { of, successions, world } = setUp({ 60: 'committed' });
    successions.add(beginning(b2, 60n, 500), false);
    world.replayed = 499;
    expect(await of(60n, b2)).toBe('unknown');
    world.replayed = 500;
    expect(await of(60n, b2)).toBe('committed');
    world.standby = false;
    expect(await of(60n, b2)).toBe('unknown');
  });

  it('is told by a standby while its leadership goes on only once the leader shows it', async () => {
    const { of, ofName, time, world } = setUp({ 50: 'committed' });
    world.isShown = false;
    expect(await of(50n)).toBe('unknown');
    expect(await ofName('done')).toEqual({ code: 'unknown' });
    time.after(15, () => (world.isShown = true));
    expect(await of(50n)).toBe('committed');
    expect(await ofName('done')).toEqual({ code: 'committed', tag: 'INSERT 0 1' });
  });

  it('is told by its leader, which still serves: what is committed, behind a barrier', async () => {
    const { of, ofName, elsewhere, world, barriers, time } = setUp({
      50: 'committed',
      51: 'aborted',
      52: 'open',
    });
    Object.assign(world, { standby: false, serves: true, under: b1 });
    expect(await Promise.all([50n, 51n, 52n].map((xid) => of(xid)))).toEqual([
      'unknown',
      'notCommitted',
      'unknown',
    ]);
    expect(barriers).toHaveLength(1);
    time.after(5, () => barriers[1]?.fail());
    time.after(15, () => barriers[2]?.pass());
    expect(await of(50n)).toBe('committed');
    time.after(5, () => barriers[3]?.pass());
    expect(await ofName('done')).toEqual({ code: 'committed', tag: 'INSERT 0 1' });
    expect(await ofName('other')).toEqual({ code: 'unknown' });
    expect(await Promise.all(['plain', 'foreign'].map((name) => elsewhere(name)))).toEqual([false, true]);
  });

  it('is not told by what was its leader, behind a barrier or not', async () => {
    const { of, world, barriers, time } = setUp({ 50: 'committed', 51: 'aborted' });
    Object.assign(world, { standby: false, serves: true, under: b1 });
    time.after(5, () => {
      Object.assign(world, { serves: false, under: null });
      barriers[0]?.pass();
    });
    expect(await of(50n)).toBe('unknown');
    expect(await of(51n)).toBe('unknown');
  });

  it('is told by PostgreSQL once everything from before the next leadership is there', async () => {
    const { of, successions, world } = setUp({ 50: 'committed', 51: 'aborted', 52: 'open', 53: 'prepared' });
    successions.add(beginning(b2, 60n, 500), false);
    world.replayed = 499;
    expect(await of(51n)).toBe('unknown');
    world.replayed = 500;
    expect(await Promise.all([50n, 51n, 52n, 53n, 54n].map((xid) => of(xid)))).toEqual([
      'committed',
      'notCommitted',
      'notCommitted',
      'unknown',
      'unknown',
    ]);
  });

  it('is not told by what was a primary and has not everything that is chosen', async () => {
    const { of, successions, world } = setUp({ 51: 'aborted' });
    successions.add(beginning(b2, 60n, 500), false);
    world.replayed = 500;
    world.standby = false;
    expect(await of(51n)).toBe('unknown');
  });

  it('is not that of another transaction with the same id under the next leader', async () => {
    const { of, successions, world } = setUp({ 60: 'committed', 61: 'committed' });
    successions.add(beginning(b2, 60n, 500), false);
    world.replayed = 900;
    expect(await of(60n)).toBe('notCommitted');
    expect(await of(61n)).toBe('notCommitted');
    expect(await of(61n, b2)).toBe('committed');
  });

  it('goes by the leadership that followed its own, not by a later one', async () => {
    const { of, successions, world } = setUp({ 65: 'committed' });
    successions.add(beginning(b2, 60n, 500), false);
    successions.add(beginning(b3, 70n, 800), false);
    world.replayed = 900;
    expect(await of(65n)).toBe('notCommitted');
    expect(await of(65n, b2)).toBe('committed');
  });

  it('is not that of another one whose id was used again after a leader that resumed in vain', async () => {
    const { of, successions, world } = setUp({ 10: 'committed' });
    successions.add(beginning(ballot(2, 'r1'), 11n, 500), true);
    successions.add(beginning(b3, 10n, 500), false);
    world.replayed = 900;
    expect(await of(10n)).toBe('notCommitted');
  });

  it('is unknown where a leadership in between was not seen', async () => {
    const { of, successions, world } = setUp({ 50: 'committed' });
    successions.clear();
    successions.add(beginning(b3, 70n, 800), false);
    world.replayed = 900;
    expect(await of(50n)).toBe('unknown');
  });

  it('of a leader that resumed is settled only when that one serves, but for what is committed already', async () => {
    const { of, successions, world } = setUp({ 50: 'committed', 51: 'open' });
    successions.add(beginning(ballot(2, 'r1'), 60n, 500), true);
    world.replayed = 900;
    expect(await of(50n)).toBe('committed');
    expect(await of(51n)).toBe('unknown');
    expect(await of(60n)).toBe('notCommitted');
    world.standby = false;
    expect(await of(50n)).toBe('unknown');
    world.serves = true;
    expect(await of(50n)).toBe('committed');
    expect(await of(51n)).toBe('notCommitted');
  });

  it('is asked again while PostgreSQL is away', async () => {
    const { of, successions, time, world } = setUp({ 50: 'committed' });
    successions.add(beginning(b2, 60n, 500), false);
    world.replayed = 500;
    world.down = true;
    time.after(10, () => {
      world.down = false;
    });
    expect(await of(50n)).toBe('committed');
  });

  it('is found by its name, too', async () => {
    const { ofName, successions, world } = setUp();
    successions.add(beginning(b2, 60n, 500), false);
    world.replayed = 500;
    expect(await ofName('done')).toEqual({ code: 'committed', tag: 'INSERT 0 1' });
    expect(await ofName('other')).toEqual({ code: 'notCommitted' });
    // Its role was dropped.
    expect(await ofName('gone')).toEqual({ code: 'unknown' });
  });

  it('is not looked for by its name before everything from before the next leadership is there', async () => {
    const { ofName, successions, world } = setUp();
    successions.add(beginning(b2, 60n, 500), false);
    world.replayed = 499;
    expect(await ofName('other')).toEqual({ code: 'unknown' });
    world.replayed = 500;
    world.standby = false;
    expect(await ofName('other')).toEqual({ code: 'unknown' });
    world.serves = true;
    expect(await ofName('other')).toEqual({ code: 'notCommitted' });
  });
});

describe('what a session may have done elsewhere', () => {
  it('is known once everything of its leadership is here, and is taken for something before', async () => {
    const { elsewhere, successions, world } = setUp();
    expect(await elsewhere('d')).toBe(true);
    successions.add(beginning(b2, 60n, 500), false);
    world.replayed = 499;
    expect(await elsewhere('d')).toBe(true);
    world.replayed = 500;
    expect([await elsewhere('d'), await elsewhere('foreign')]).toEqual([false, true]);
    world.down = true;
    expect(await elsewhere('d')).toBe(true);
  });

  it('is looked at anew for a leadership that has ended, whatever was found before', async () => {
    const { elsewhere, successions, world } = setUp();
    expect(await elsewhere('foreign', null)).toBe(true);
    world.down = true;
    expect(await elsewhere('foreign', null)).toBe(true);
    expect(await elsewhere('d', null)).toBe(true);
    world.down = false;
    expect(await elsewhere('d', null)).toBe(false);
    successions.add(beginning(b2, 60n, 500), false);
    world.replayed = 500;
    world.down = true;
    expect(await elsewhere('d', null)).toBe(false);
    expect(await elsewhere('d')).toBe(true);
  });
});
