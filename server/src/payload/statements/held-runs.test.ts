import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { SlotEntry } from '../../multipaxos/types/entries.ts';
import type { GroupId, Slot } from '../../multipaxos/types/names.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { HeldRuns, noRuns, RunHeldError, type RunRecord } from './held-runs.ts';
import { encodeOperation, keyOf, type Operation } from './operation.ts';

const session = 'ab'.repeat(16);
const run = { slot: 5, turn: 0, session, seq: 3 };
const never = new Promise<string>(() => undefined);
const nobody = new AbortController().signal;

/** A log that takes what is submitted, behind slot 5, and replicas of which each may be started again. */
function setUp(replicas = ['r1', 'r2', 'r3']) {
  const timers = new SimulatedTime();
  const log: SlotEntry[] = [];
  const keys: string[] = [];
  const files = new Map<string, RunRecord>();
  const lives = new Map<string, HeldRuns>();
  const state = { isWhole: true, isOrdered: true };
  const submit = (key: string, operation: Operation): void => {
    if (!state.isOrdered || keys.includes(key)) return;
    keys.push(key);
    const slot = (6 + log.length) as Slot;
    const proposal = { client: 'c', request: slot };
    const payload = encodeOperation(operation);
    log.push({ slot, entry: { kind: 'command', group: 'g' as GroupId, proposal, payload } });
    for (const life of lives.values()) life.chosen(log.slice(-1));
  };
  const start = (self: string, endOfLog = 0): HeldRuns => {
    lives.get(self)?.stop();
    const life = new HeldRuns({
      self,
      replicas,
      record: files.get(self) ?? noRuns,
      write: (record) => {
        files.set(self, record);
        return Promise.resolve();
      },
      endOfLog: endOfLog as Slot,
      longestMs: 60_000,
      timers,
      log: {
        get settledTo() {
          return (5 + log.length) as Slot;
        },
        readChosen: (from) =>
          Promise.resolve(log.filter(({ slot }) => slot >= from).map(({ entry }) => entry)),
      },
      submit,
      isWhole: () => state.isWhole,
      logger: pino({ level: 'silent' }),
    });
    lives.set(self, life);
    return life;
  };
  const kinds = (): string[] => [...keys];
  return { timers, state, start, kinds, files, pass: (ms: number) => timers.pass(ms) };
}

async function begun(life: HeldRuns): Promise<HeldRuns> {
  expect(await life.startsAt(4, false)).toBe(true);
  return life;
}

describe('a request that lasts too long', () => {
  it.each([
    ['before they hear of it', true],
    ['when they have heard of it', false],
  ])(
    'fails, too, where others stand still ahead of it, %s, and wait for a copy of who runs it',
    async (_when, isBefore) => {
      const { start, pass, kinds } = setUp();
      const [one, ...others] = await Promise.all(['r1', 'r2', 'r3'].map((id) => begun(start(id))));
      const stand = (): void => {
        for (const life of others) life.standsAheadOf(4 as Slot);
      };
      if (isBefore) stand();
      const end = one!.within(run, never).catch((error: unknown) => error);
      await pass(61_000);
      if (!isBefore) stand();
      await pass(1_000);
      expect(kinds()).toEqual(['r1', 'r2', 'r3'].map((id) => `hold 5.0.0 ${id}`));
      expect(await end).toBeInstanceOf(RunHeldError);
      expect(await one!.ahead(run, nobody)).toBe('fails');
    },
  );

  it('fails at all replicas when each has given it up, and is run by none of them again', async () => {
    const { start, pass, kinds } = setUp();
    const lives = await Promise.all(['r1', 'r2', 'r3'].map((id) => begun(start(id))));
    const ends = lives.map((life) => life.within(run, never));
    const errors = Promise.allSettled(ends);
    await pass(59_000);
    expect(kinds()).toEqual([]);
    await pass(2_000);
    expect(
      (await errors).map((end) => end.status === 'rejected' && end.reason instanceof RunHeldError),
    ).toEqual([true, true, true]);
    expect(kinds().toSorted()).toEqual(['hold 5.0.0 r1', 'hold 5.0.0 r2', 'hold 5.0.0 r3']);
    const verdicts = Promise.all(lives.map((life) => life.ahead(run, nobody)));
    await pass(100);
    expect(await verdicts).toEqual(['fails', 'fails', 'fails']);
  });

  it('that one has finished is run again by who has given it up, for longer', async () => {
    const { start, pass, kinds } = setUp();
    const [fast, slow, third] = await Promise.all(['r1', 'r2', 'r3'].map((id) => begun(start(id))));
    expect(await fast!.within(run, Promise.resolve('done'))).toBe('done');
    expect(await third!.within(run, Promise.resolve('done'))).toBe('done');
    const end = slow!.within(run, never).catch((error: unknown) => error);
    await pass(61_000);
    expect(await end).toBeInstanceOf(RunHeldError);
    expect(kinds()).toEqual(['hold 5.0.0 r2', 'goOn 5.0.0']);
    const verdict = slow!.ahead(run, nobody);
    await pass(100);
    expect(await verdict).toBe('goesOn');
    let isOver = false;
    void slow!.within(run, never).catch(() => {
      isOver = true;
    });
    await pass(200_000);
    expect(isOver).toBe(false);
    await pass(41_000);
    expect(isOver).toBe(true);
  });

  it('is held by one that comes to it later without being run', async () => {
    const { start, pass, kinds } = setUp(['r1', 'r2']);
    const [one, late] = await Promise.all(['r1', 'r2'].map((id) => begun(start(id))));
    void one!.within(run, never).catch(() => undefined);
    await pass(61_000);
    const verdict = late!.ahead(run, nobody);
    await pass(100);
    expect(await verdict).toBe('fails');
    expect(kinds()).toEqual(['hold 5.0.0 r1', 'hold 5.0.0 r2']);
  });

  it('is not given up while one is away, and gone on with when one is away behind that', async () => {
    const { start, pass, kinds, state } = setUp(['r1', 'r2']);
    const one = await begun(start('r1'));
    state.isWhole = false;
    const end = one.within(run, never).catch((error: unknown) => error);
    await pass(100_000);
    expect(kinds()).toEqual([]);
    state.isWhole = true;
    await pass(1_000);
    expect(await end).toBeInstanceOf(RunHeldError);
    const verdict = one.ahead(run, nobody);
    await pass(31_000);
    state.isWhole = false;
    await pass(31_000);
    expect(await verdict).toBe('goesOn');
    expect(kinds()).toEqual(['hold 5.0.0 r1', 'goOn 5.0.0']);
  });

  it('is given up when its client wants that, if it has lasted ten seconds', async () => {
    const { start, pass, kinds } = setUp(['r1']);
    const one = await begun(start('r1'));
    const end = one.within(run, never).catch((error: unknown) => error);
    await pass(11_000);
    one.cancel('cd'.repeat(16));
    await pass(1_000);
    expect(kinds()).toEqual([]);
    one.cancel(session);
    expect(await end).toBeInstanceOf(RunHeldError);
    await pass(0);
    expect(kinds()).toEqual(['hold 5.0.0 r1']);
  });
});

describe('a request that ends PostgreSQL', () => {
  const crash = (): Promise<string> =>
    Promise.reject(Object.assign(new Error('the session broke'), { name: 'SessionEnded' }));
  const crashes = async (life: HeldRuns, times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      expect(await life.ahead(run, nobody)).toBe('goesOn');
      await expect(life.within(run, crash())).rejects.toThrow('the session broke');
      expect(await life.startsAt(4, false)).toBe(true);
    }
  };

  it('twice at each replica fails at all, and is run by none of them a third time', async () => {
    const { start, pass, kinds } = setUp();
    const lives = await Promise.all(['r1', 'r2', 'r3'].map((id) => begun(start(id))));
    for (const life of lives) await crashes(life, 2);
    expect(kinds()).toEqual([]);
    const verdicts = Promise.all(lives.map((life) => life.ahead(run, nobody)));
    await pass(100);
    expect(await verdicts).toEqual(['fails', 'fails', 'fails']);
    expect(kinds().toSorted()).toEqual(['hold 5.0.0 r1', 'hold 5.0.0 r2', 'hold 5.0.0 r3']);
  });

  it('at one replica only is run again there, since others have finished it', async () => {
    const { start, pass, kinds } = setUp(['r1', 'r2']);
    const [sick, well] = await Promise.all(['r1', 'r2'].map((id) => begun(start(id))));
    expect(await well!.within(run, Promise.resolve('done'))).toBe('done');
    await crashes(sick!, 2);
    const verdict = sick!.ahead(run, nobody);
    await pass(100);
    expect(await verdict).toBe('goesOn');
    expect(kinds()).toEqual(['hold 5.0.0 r1', 'goOn 5.0.0']);
    await crashes(sick!, 5);
    expect(kinds()).toHaveLength(2);
  });

  it('is not given up while one is away', async () => {
    const { start, kinds, state } = setUp(['r1', 'r2']);
    const life = await begun(start('r1'));
    state.isWhole = false;
    await crashes(life, 4);
    expect(await life.ahead(run, nobody)).toBe('goesOn');
    expect(kinds()).toEqual([]);
  });

  it('is given up behind a restart of the replica, too', async () => {
    const { start, pass, kinds } = setUp(['r1']);
    await crashes(await begun(start('r1')), 1);
    const after = await begun(start('r1', 5));
    await crashes(after, 2);
    const verdict = after.ahead(run, nobody);
    await pass(100);
    expect(await verdict).toBe('fails');
    expect(kinds()).toEqual(['hold 5.0.0 r1']);
  });
});

describe('a cancel that comes early', () => {
  it('is not forgotten: the run is given up when it has lasted ten seconds', async () => {
    const { start, pass, kinds } = setUp(['r1']);
    const one = await begun(start('r1'));
    const end = one.within(run, never).catch((error: unknown) => error);
    await pass(2_000);
    one.cancel(session);
    await pass(7_500);
    expect(kinds()).toEqual([]);
    await pass(1_000);
    expect(await end).toBeInstanceOf(RunHeldError);
    await pass(0);
    expect(kinds()).toEqual(['hold 5.0.0 r1']);
  });

  it('is not of the run behind it', async () => {
    const { start, pass, kinds } = setUp(['r1']);
    const one = await begun(start('r1'));
    await one.within(
      run,
      Promise.resolve().then(() => one.cancel(session)),
    );
    void one.within({ ...run, turn: 1 }, never).catch(() => undefined);
    await pass(30_000);
    expect(kinds()).toEqual([]);
  });
});

describe('behind a restart', () => {
  it('what was given up is not run before the log has said so', async () => {
    const { start, pass, state } = setUp(['r1']);
    state.isOrdered = false;
    const before = await begun(start('r1'));
    void before.within(run, never).catch(() => undefined);
    await pass(61_000);
    const after = await begun(start('r1', 5));
    const verdict = after.ahead(run, nobody);
    state.isOrdered = true;
    await pass(500);
    expect(await verdict).toBe('fails');
  });

  it('what was given up and is in the database all the same is not gone on from', async () => {
    const { start, pass, state, files } = setUp(['r1']);
    state.isOrdered = false;
    const before = await begun(start('r1'));
    void before.within(run, never).catch(() => undefined);
    await pass(61_000);
    expect(await start('r1', 5).startsAt(5, false)).toBe(false);
    // Of one who was told to go on.
    expect(await start('r1', 5).startsAt(5, true)).toBe(true);
    expect(files.get('r1')?.held).toEqual([]);
  });

  it('what may have been finished before is not given up', async () => {
    const { start, pass, kinds } = setUp(['r1']);
    const after = await begun(start('r1', 5));
    let isOver = false;
    void after.within(run, never).catch(() => {
      isOver = true;
    });
    await pass(200_000);
    after.cancel(session);
    await pass(1_000);
    expect([isOver, kinds()]).toEqual([false, []]);
  });

  it('what had lasted, and was not finished, is', async () => {
    const { start, pass, files } = setUp(['r1']);
    const before = await begun(start('r1'));
    let finish: (text: string) => void = () => undefined;
    const lasting = new Promise<string>((resolve) => {
      finish = resolve;
    });
    const end = before.within(run, lasting);
    await pass(2_000);
    expect(files.get('r1')?.at).toEqual({ slot: 5, turn: 0 });
    const after = await begun(start('r1', 5));
    let isOver = false;
    void after.within(run, never).catch(() => {
      isOver = true;
    });
    await pass(61_000);
    expect(isOver).toBe(true);
    finish('done');
    await end;
  });

  it('what was finished is no more said to last, before anybody is told', async () => {
    const { start, pass, files } = setUp(['r1']);
    const one = await begun(start('r1'));
    let finish: (text: string) => void = () => undefined;
    const end = one.within(
      run,
      new Promise<string>((resolve) => {
        finish = resolve;
      }),
    );
    await pass(2_000);
    finish('done');
    expect(await end).toBe('done');
    expect(files.get('r1')?.at).toBeNull();
  });

  it('another request at the place of one that was given up, in another log, is run', async () => {
    const { start, pass, state } = setUp(['r1']);
    state.isOrdered = false;
    const before = await begun(start('r1'));
    void before.within(run, never).catch(() => undefined);
    await pass(61_000);
    const after = await begun(start('r1'));
    expect(await after.ahead({ ...run, seq: 4 }, nobody)).toBe('goesOn');
  });
});

it('names of what is submitted tell runs apart', () => {
  const of = (round: number): string =>
    keyOf({ kind: 'hold', run: { slot: 5, turn: 0, round }, session, seq: 3, replica: 'r1' });
  expect(of(0)).not.toBe(of(1));
});
