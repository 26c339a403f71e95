/** Replicas that share a store of backups, in simulated time. */
import { pino } from 'pino';
import { beforeEach, describe, expect, it } from 'vitest';
import type { Slot } from '../../multipaxos/types/names.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import type {
  BackupClaim,
  BackupStore,
  ClaimOutcome,
  KeptBackup,
  RestoreTestResult,
} from '../../ports/backup-store.ts';
import type { Lsn } from '../../wal/lsn.ts';
import { BackupSchedule, type BackupScheduleOptions } from './backup-schedule.ts';

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;
/** A day in some year. */
const epochMs = Date.UTC(2026, 4, 4);

let time: SimulatedTime;
let disk: Map<string, KeptBackup>;
/** Who has the claim; empty: nobody. */
let claimText: string;
let most: { now: number; ever: number };
let takeMs: number;
let failure: string | null;

beforeEach(() => {
  time = new SimulatedTime();
  disk = new Map();
  claimText = '';
  most = { now: 0, ever: 0 };
  takeMs = 5 * minuteMs;
  failure = null;
});

const wallMs = (): number => epochMs + time.nowMs();

/** One replica's view of the shared disk. */
class MemoryStore implements BackupStore {
  private readonly who: string;
  private made = 0;
  private beats = 0;
  skewMs = 0;

  constructor(who: string) {
    this.who = who;
  }

  list(): Promise<readonly KeptBackup[]> {
    return Promise.resolve([...disk.values()]);
  }

  claim(): Promise<ClaimOutcome> {
    if (claimText !== '') return Promise.resolve({ kind: 'taken', heldBy: claimText });
    // As each claim has a life of its own in its text, none is taken for an earlier one that did not end.
    this.beats += 1;
    const own = (): string => `${this.who} ${this.beats}`;
    claimText = own();
    const claim: BackupClaim = {
      beat: () => {
        if (claimText === own()) {
          this.beats += 1;
          claimText = own();
        }
        return Promise.resolve();
      },
      release: () => {
        if (claimText === own()) claimText = '';
        return Promise.resolve();
      },
    };
    return Promise.resolve({ kind: 'held', claim });
  }

  breakClaim(heldBy: string): Promise<void> {
    if (claimText === heldBy) claimText = '';
    return Promise.resolve();
  }

  async take(signal: AbortSignal): Promise<void> {
    most.now += 1;
    most.ever = Math.max(most.ever, most.now);
    const takenAtMs = wallMs() + this.skewMs;
    await new Promise<void>((resolve) => {
      const stop = (): void => resolve();
      signal.addEventListener('abort', stop);
      time.after(takeMs, () => {
        signal.removeEventListener('abort', stop);
        resolve();
      });
    });
    most.now -= 1;
    signal.throwIfAborted();
    if (failure !== null) throw new Error(failure);
    this.made += 1;
    const name = `${this.who}-${this.made}`;
    const slot = Math.floor(time.nowMs() / 1000) as Slot;
    disk.set(name, { name, path: name, takenAtMs, slot, end: (slot * 10) as Lsn, bytes: 1000, test: null });
  }

  noteTest(name: string, test: RestoreTestResult): Promise<void> {
    disk.set(name, { ...disk.get(name)!, test });
    return Promise.resolve();
  }

  remove(name: string): Promise<void> {
    disk.delete(name);
    return Promise.resolve();
  }
}

function replica(who: string, changes: Partial<BackupScheduleOptions> = {}) {
  const store = new MemoryStore(who);
  const forgotten: Lsn[] = [];
  const schedule = new BackupSchedule({
    store,
    directory: '/backup',
    everyMs: 24 * hourMs,
    keep: 2,
    testEveryMs: 0,
    whyNot: () => null,
    leavesItToOthers: () => false,
    test: () => Promise.resolve({ ok: true, at: new Date(wallMs()).toISOString(), message: 'fine' }),
    forgetWalBelow: (lsn) => forgotten.push(lsn),
    timers: time,
    wallMs: () => wallMs() + store.skewMs,
    logger: pino({ level: 'silent' }),
    ...changes,
  });
  schedule.start();
  return { schedule, store, forgotten };
}
const names = (): string[] => [...disk.keys()];

describe('replicas that share a place for backups', () => {
  it('make one each day, one at a time, whoever it is; and keep as many as they are told', async () => {
    const all = ['r1', 'r2', 'r3'].map((who) => replica(who));
    await time.pass(hourMs);
    expect(names()).toHaveLength(1);
    await time.pass(4 * 24 * hourMs);
    expect(names()).toHaveLength(2);
    expect(most.ever).toBe(1);
    const made = all.map(({ schedule }) => schedule.report().newest?.name);
    expect(new Set(made).size).toBe(1);
    expect(all[0]!.schedule.report()).toMatchObject({ kept: 2, problem: null, running: null });
    // None of them has let go of WAL that the oldest one needs.
    const needed = Math.min(...[...disk.values()].map(({ end }) => end));
    expect(all.map(({ forgotten }) => forgotten.at(-1))).toEqual([needed, needed, needed]);
    for (const { schedule } of all) await schedule.stop();
  });

  it('leave it to those that do not lead, and the leader does it if nobody else does', async () => {
    const leader = replica('leader', { leavesItToOthers: () => true });
    const follower = replica('follower');
    await time.pass(26 * hourMs);
    expect(names()).toEqual(['follower-1', 'follower-2']);
    await follower.schedule.stop();
    await time.pass(23.5 * hourMs);
    expect(names().at(-1)).toBe('leader-1');
    await leader.schedule.stop();
  });

  it('make up for one that was missed as soon as anybody is there', async () => {
    const first = replica('r1');
    await time.pass(hourMs);
    await first.schedule.stop();
    await time.pass(72 * hourMs);
    const second = replica('r2');
    await time.pass(10 * minuteMs);
    expect(names()).toEqual(['r1-1', 'r2-1']);
    await second.schedule.stop();
  });

  it('do not wait for ever for one that died while it made one', async () => {
    claimText = 'r9 7';
    const r1 = replica('r1');
    await time.pass(4 * minuteMs);
    expect(names()).toEqual([]);
    await time.pass(15 * minuteMs);
    expect(names()).toEqual(['r1-1']);
    await r1.schedule.stop();
  });

  it('do not take the turn of one that is slow', async () => {
    takeMs = 5 * hourMs;
    const all = ['r1', 'r2'].map((who) => replica(who));
    await time.pass(6 * hourMs);
    expect(names()).toHaveLength(1);
    expect(most.ever).toBe(1);
    for (const { schedule } of all) await schedule.stop();
  });

  it('make no more than one each half of the time, whatever their clocks say', async () => {
    const ahead = replica('ahead');
    ahead.store.skewMs = 300 * hourMs;
    const right = replica('right');
    await time.pass(10 * 24 * hourMs);
    const { ahead: a = 0, right: r = 0 } = Object.fromEntries(
      ['ahead', 'right'].map((who) => [
        who,
        Number(
          names()
            .findLast((name) => name.startsWith(who))
            ?.slice(who.length + 1) ?? 0,
        ),
      ]),
    );
    expect(a + r).toBeGreaterThanOrEqual(10);
    expect(a + r).toBeLessThanOrEqual(41);
    for (const { schedule } of [ahead, right]) await schedule.stop();
  });
});

describe('a backup that fails', () => {
  it('is told, leaves the old ones where they are, and is tried again', async () => {
    const { schedule, forgotten } = replica('r1', { keep: 1 });
    await time.pass(hourMs);
    expect(names()).toEqual(['r1-1']);
    failure = 'there is no space';
    await time.pass(26 * hourMs);
    expect(names()).toEqual(['r1-1']);
    expect(schedule.report()).toMatchObject({
      kept: 1,
      problem: expect.stringMatching(/^2026-05-05T.*: there is no space$/) as string,
    });
    const before = forgotten.at(-1);
    expect(new Set(forgotten)).toEqual(new Set([before]));
    failure = null;
    await time.pass(hourMs);
    expect(names()).toEqual(['r1-2']);
    expect(schedule.report().problem).toBeNull();
    expect(forgotten.at(-1)).toBeGreaterThan(before!);
    await schedule.stop();
  });

  it('lets go of no WAL where the directory has fewer than are kept, as if its disk were not mounted', async () => {
    const { schedule, forgotten } = replica('r1', { keep: 2 });
    await time.pass(25 * hourMs);
    expect(names()).toHaveLength(2);
    const before = forgotten.at(-1);
    disk = new Map();
    await time.pass(25 * hourMs);
    expect([names().length, forgotten.at(-1)]).toEqual([1, before]);
    await time.pass(25 * hourMs);
    expect(names()).toHaveLength(2);
    expect(forgotten.at(-1)).toBeGreaterThan(before!);
    await schedule.stop();
  });

  it('is not tried where the backups that are there cannot be seen, and nothing is let go of', async () => {
    const { schedule, store, forgotten } = replica('r1', { keep: 1 });
    await time.pass(hourMs);
    const list = store.list.bind(store);
    store.list = () => Promise.reject(new Error('EIO'));
    const before = forgotten.length;
    await time.pass(48 * hourMs);
    expect([names(), forgotten.length]).toEqual([['r1-1'], before]);
    expect(schedule.report()).toMatchObject({ kept: 1, problem: 'EIO' });
    store.list = list;
    await time.pass(hourMs);
    expect(names()).toEqual(['r1-2']);
    expect(schedule.report().problem).toBeNull();
    await schedule.stop();
  });

  it('is no problem any more when another replica has made one', async () => {
    const r1 = replica('r1', { whyNot: () => (wallMs() < epochMs + 10 * minuteMs ? null : 'it is busy') });
    r1.store.take = () => Promise.reject(new Error('there is no space'));
    const r2 = replica('r2', { leavesItToOthers: () => true });
    await time.pass(10 * minuteMs);
    expect(r1.schedule.report().problem).toMatch(/no space/);
    await time.pass(hourMs);
    expect(names()).toEqual(['r2-1']);
    expect(r1.schedule.report()).toMatchObject({ kept: 1, problem: null });
    for (const { schedule } of [r1, r2]) await schedule.stop();
  });

  it('is told of a directory that does not answer', async () => {
    const { schedule, store } = replica('r1');
    store.list = () => new Promise(() => {});
    await time.pass(30 * hourMs);
    expect(schedule.report().problem).toBe('/backup does not answer');
  });

  it('is not tried by a replica whose database cannot be copied', async () => {
    let why: string | null = 'it differs';
    const { schedule } = replica('r1', { whyNot: () => why });
    await time.pass(2 * hourMs);
    expect(names()).toEqual([]);
    why = null;
    await time.pass(hourMs);
    expect(names()).toEqual(['r1-1']);
    await schedule.stop();
  });

  it('is given up when the replica stops, and is no problem then', async () => {
    const { schedule } = replica('r1');
    await time.pass(2 * minuteMs);
    expect(schedule.report().running).toBe('backup');
    await schedule.stop();
    expect(schedule.report()).toMatchObject({ running: null, problem: null });
    expect([names(), claimText]).toEqual([[], '']);
  });
});

describe('a restore test', () => {
  it('is of the newest, as often as it was asked for; one that fails does not count as a backup', async () => {
    let ok = true;
    const tested: string[] = [];
    const { schedule } = replica('r1', {
      testEveryMs: 40 * hourMs,
      keep: 1,
      test: ({ name }) => {
        tested.push(name);
        return Promise.resolve({
          ok,
          at: new Date(wallMs()).toISOString(),
          message: ok ? 'fine' : 'a page is damaged',
        });
      },
    });
    await time.pass(hourMs);
    expect(tested).toEqual(['r1-1']);
    expect(schedule.report().test).toMatchObject({ name: 'r1-1', ok: true, message: 'fine' });
    ok = false;
    await time.pass(49 * hourMs);
    // One that fails is followed by another one, which is tested, too. What was restored once stays.
    expect(tested).toEqual(['r1-1', 'r1-2', 'r1-3']);
    expect(names()).toEqual(['r1-1', 'r1-3']);
    expect(schedule.report()).toMatchObject({
      kept: 1,
      newest: { name: 'r1-1' },
      test: { name: 'r1-3', ok: false, message: 'a page is damaged' },
    });
    ok = true;
    await time.pass(3 * hourMs);
    expect(names()).toEqual(['r1-4']);
    await schedule.stop();
  });

  it('that cannot be made says nothing of the backup, and is tried again', async () => {
    let tries = 0;
    const { schedule } = replica('r1', {
      testEveryMs: 40 * hourMs,
      test: () => {
        tries += 1;
        if (tries < 3) return Promise.reject(new Error('there is no space'));
        return Promise.resolve({ ok: true, at: new Date(wallMs()).toISOString(), message: 'fine' });
      },
    });
    await time.pass(10 * minuteMs);
    expect(schedule.report()).toMatchObject({
      kept: 1,
      test: null,
      problem: expect.stringContaining('no space') as string,
    });
    await time.pass(hourMs);
    expect(tries).toBe(3);
    expect(schedule.report()).toMatchObject({ kept: 1, problem: null, test: { ok: true } });
    await schedule.stop();
  });
});
