import { describe, expect, it } from 'vitest';
import type { PrimaryDatabase, SessionAnswer, WalStreamHandlers } from '../../../ports/database-server.ts';
import type { Lsn, Timeline } from '../../../wal/lsn.ts';
import { ballot, leadership, lsn, range, start } from '../testing/entries.ts';
import { bePrimary } from './primary-phase.ts';
import {
  LifeFixture,
  positionAfter,
  primaryOf,
  silentPrimary,
  silentStream,
  stateOf,
  timings,
} from './testing/life-fixture.ts';

const b1 = ballot(1, 'r1');
const log = [start(b1), leadership(b1, 1, 100), range(b1, 1, 100, 10)];

async function setUp(asked: Partial<Pick<PrimaryDatabase, 'answer' | 'committing'>> = {}) {
  const life = new LifeFixture(log);
  const position = positionAfter(log);
  const wal = life.context.take(stateOf(primaryOf(b1), position));
  life.payload.lead(b1);
  let heard: WalStreamHandlers | null = null;
  const unchosen = (position.end + 10) as Lsn;
  const primary = silentPrimary({
    timeline: 1 as Timeline,
    barrier: () => Promise.resolve(unchosen),
    ...asked,
    openStream: (_from, handlers) => {
      heard = handlers;
      return Promise.resolve(silentStream);
    },
  });
  const ended = bePrimary(life.context, { primary, ballot: b1, wal, from: position.end });
  await life.time.pass(10);
  life.story.length = 0;
  return { life, ended, heard: () => heard! };
}

describe('a primary that is deposed', () => {
  it('leaves nobody waiting for a barrier, and nothing behind', async () => {
    const { life, ended } = await setUp();
    const passed = life.context.barriers!.pass();
    const failed = passed.catch((error: unknown) => String(error));
    life.payload.follow();
    await life.time.until(ended);
    await life.time.pass(2000);
    expect(await failed).toMatch('no primary any more');
    const { shipper, primary, barriers } = life.context;
    expect({ shipper, primary, barriers }).toEqual({ shipper: null, primary: null, barriers: null });
  });

  it('is told to serve nobody before anything else, and then stopped: PostgreSQL has ended', async () => {
    const { life, ended } = await setUp();
    life.payload.suspect('PostgreSQL ended');
    expect(await life.time.until(ended)).toEqual({ kind: 'inspect' });
    expect(life.story).toEqual(['unready: PostgreSQL ended', 'step down', 'stop: immediate']);
  });

  it('is told to serve nobody before anything else, and then stopped: leadership has ended', async () => {
    const { life, ended } = await setUp();
    life.payload.follow();
    expect(await life.time.until(ended)).toMatchObject({ kind: 'written', state: { role: primaryOf(b1) } });
    expect(life.story).toEqual(['unready: leadership has ended', 'stop: immediate']);
  });
});

describe('a primary whose barrier is passed', () => {
  async function setUpWithBarrier() {
    const life = new LifeFixture(log);
    const position = positionAfter(log);
    const wal = life.context.take(stateOf(primaryOf(b1), position));
    life.payload.lead(b1);
    let make = (): void => undefined;
    const barrier = new Promise<typeof position.end>((resolve) => (make = () => resolve(position.end)));
    const primary = silentPrimary({ timeline: 1 as Timeline, barrier: () => barrier });
    const ended = bePrimary(life.context, { primary, ballot: b1, wal, from: position.end });
    await life.time.pass(10);
    return { life, ended, make };
  }

  it('serves', async () => {
    const { life, make } = await setUpWithBarrier();
    expect(life.story).not.toContain('ready');
    make();
    await life.time.pass(10);
    expect(life.story).toContain('ready');
  });

  it('does not serve any more where leadership ended in the same moment', async () => {
    const { life, ended, make } = await setUpWithBarrier();
    make();
    life.payload.follow();
    await life.time.until(ended);
    expect(life.story).not.toContain('ready');
    expect(life.events.map(({ name }) => name)).not.toContain('Open');
  });
});

describe('a primary of which nothing is heard', () => {
  it('is taken for one that hangs, and not while too much of its WAL waits for others to be read from', async () => {
    const { life, heard } = await setUp();
    life.propose = () => ({ code: 'windowFull' });
    heard().onWal(lsn(110), [Buffer.alloc(1_000_001)]);
    await life.time.pass(3 * timings.hangMs);
    expect(life.story).toEqual([]);
    life.propose = () => ({ code: 'proposed', label: 'r1 1' });
    life.payload.room();
    await life.time.pass(2 * timings.hangMs);
    expect(life.story[0]).toBe('unready: PostgreSQL has said nothing for 2000 ms');
  });
});

describe('a primary that is asked in new sessions', () => {
  /** The stream of its WAL is alive all the time. */
  const liveFor = async (seconds: number, { life, heard }: Awaited<ReturnType<typeof setUp>>) => {
    for (let n = 0; n < 2 * seconds; n++) {
      await life.time.pass(500);
      heard().onHeard();
    }
    return life.story;
  };

  it.each([
    {
      what: 'refuses them',
      answer: () => Promise.reject(new Error('could not open file')),
      why: ': could not open file',
    },
    { what: 'says nothing', answer: () => new Promise<never>(() => undefined), why: '' },
  ])('does not lead any longer where it $what for long', async ({ answer, why }) => {
    const running = await setUp({ answer });
    expect(await liveFor(25, running)).toEqual([]);
    expect(await liveFor(10, running)).toEqual([
      `unready: PostgreSQL has not answered a query for 30 s${why}`,
      'step down',
      'stop: kill',
    ]);
  });

  it('leads on where one of several is answered', async () => {
    let asked = 0;
    const answer = (): Promise<SessionAnswer> =>
      ++asked % 4 === 0
        ? Promise.resolve({ isPaused: false, resumed: false })
        : Promise.reject(new Error('no'));
    const running = await setUp({ answer });
    expect(await liveFor(90, running)).toEqual([]);
    expect(asked).toBeGreaterThan(10);
  });
});

describe('a primary whose replica stops', () => {
  const stop = async (committing: () => Promise<number>) => {
    const { life, ended } = await setUp({ committing });
    life.context.wishes.stopping = true;
    life.context.signal.notify();
    await life.time.pass(1000);
    return { life, ended };
  };

  it('is stopped in order only when no session waits for its commit: that would end the wait', async () => {
    let waiting = 1;
    const { life, ended } = await stop(() => Promise.resolve(waiting));
    expect(life.story).toEqual(['unready: the replica is stopping']);
    waiting = 0;
    await life.time.pass(100);
    expect(life.story[1]).toBe('stop: fast');
    expect(await life.time.until(ended)).toEqual({ kind: 'stopped' });
  });

  it.each([
    { what: 'commits wait for too long', committing: () => Promise.resolve(1) },
    { what: 'PostgreSQL does not say', committing: () => new Promise<number>(() => undefined) },
    { what: 'PostgreSQL refuses to say', committing: () => Promise.reject(new Error('it is full')) },
  ])('is stopped at once where $what', async ({ committing }) => {
    const { life, ended } = await stop(committing);
    await life.time.pass(timings.patienceMs);
    expect(life.story[1]).toBe('stop: immediate');
    expect(await life.time.until(ended)).toEqual({ kind: 'stopped' });
  });

  it('is stopped at once where leadership ends while commits wait', async () => {
    const { life, ended } = await stop(() => Promise.resolve(1));
    life.payload.follow();
    await life.time.pass(100);
    expect(life.story[1]).toBe('stop: immediate');
    expect(await life.time.until(ended)).toEqual({ kind: 'stopped' });
  });

  it('is stopped at once where leadership ends before PostgreSQL has: nobody will choose the rest of its WAL', async () => {
    const { life, ended } = await setUp();
    let end = (): void => undefined;
    life.endsInOrder = new Promise((resolve) => (end = resolve));
    life.context.wishes.stopping = true;
    life.context.signal.notify();
    await life.time.pass(1000);
    expect(life.story).toEqual(['unready: the replica is stopping', 'stop: fast']);
    life.payload.follow();
    await life.time.pass(1000);
    expect(life.story.slice(2)).toEqual(['stop: immediate']);
    end();
    expect(await life.time.until(ended)).toEqual({ kind: 'stopped' });
  });
});
