import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { BegunCopy } from '../../ports/kept-copy.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { CopyKeeper, type Paces } from './copy-keeper.ts';

const paces: Paces = {
  firstAfterBusyMs: 500,
  afterBusyMs: 1_000,
  furtherAfterBusyMs: 300,
  timesCost: 20,
  restAskedMs: 2_000,
  furtherAskedMs: 4_000,
  restMsMax: 5_000,
  pressedAfterBusyMs: 60_000,
  againMs: 3_000,
  furtherAgainMs: 1_000,
};

function copyOf(told: string[], restFails = false): BegunCopy {
  let slot = 0 as Slot;
  return {
    atRest: (reached) => {
      if (restFails) return Promise.reject(new Error('no connection'));
      slot = reached;
      told.push(`at ${reached}`);
      return Promise.resolve();
    },
    complete: () => Promise.resolve({ slot, bytesCopied: 1, bytesKept: 0 }),
    giveUp: () => Promise.resolve(void told.push('given up')),
  };
}

function setUp({ fails = false, costMs = 0, restFails = false } = {}) {
  const told: string[] = [];
  const timers = new SimulatedTime();
  const at = { settledTo: 1_000, canGoFurther: false, hasCopy: true, resumed: 0, isLogFilling: false };
  const keeper = new CopyKeeper({
    maker: {
      get canGoFurther() {
        return at.canGoFurther;
      },
      further: () => {
        told.push('further');
        return Promise.resolve(at.canGoFurther ? copyOf(told) : null);
      },
      get hasCopy() {
        return at.hasCopy;
      },
      resume: () => Promise.resolve(void (at.resumed += 1)),
      lost: () => undefined,
      begin: async (signal) => {
        told.push('begin');
        signal.addEventListener('abort', () => told.push('unwanted'));
        if (fails) throw new Error('no room');
        await new Promise<void>((resolve) => timers.after(costMs, resolve));
        return copyOf(told, restFails);
      },
    },
    timers,
    logger: pino({ level: 'silent' }),
    isSettled: (slot) => slot <= at.settledTo,
    wake: () => told.push('wake'),
    askForRest: () => told.push('ask'),
    isLogFilling: () => at.isLogFilling,
    onKept: (slot) => told.push(`kept ${slot}`),
    paces,
  });
  const pass = (ms: number): Promise<void> => timers.pass(ms);
  keeper.up();
  return { keeper, told, pass, at };
}

describe('who keeps a copy', () => {
  it('makes one when much was executed, at a moment of rest, and the next not before as much', async () => {
    const { keeper, told, pass } = setUp();
    keeper.executed(900);
    await pass(2_000);
    expect(told).toEqual([]);
    keeper.executed(200);
    await pass(1_000);
    expect(told).toEqual(['begin', 'wake']);
    expect(keeper.isAwaited).toBe(true);
    await keeper.reached(7 as Slot);
    await pass(2_000);
    expect(told.slice(2)).toEqual(['at 7', 'kept 7']);
    expect(keeper.isAwaited).toBe(false);
    keeper.executed(900);
    await pass(2_000);
    expect(told).toHaveLength(4);
    keeper.stop();
  });

  it('makes one, or has it go further, as soon as the log fills up, however little was executed', async () => {
    const { keeper, told, pass, at } = setUp();
    keeper.executed(10);
    await pass(3_000);
    expect(told).toEqual([]);
    at.isLogFilling = true;
    await pass(1_000);
    expect(told).toEqual(['begin', 'wake']);
    at.isLogFilling = false;
    await keeper.reached(7 as Slot);
    await pass(5_000);
    expect(told.slice(2)).toEqual(['at 7', 'kept 7']);
    keeper.stop();
  });

  it('gives up where no moment of rest comes, and tries again later', async () => {
    const { keeper, told, pass } = setUp();
    keeper.executed(2_000);
    await pass(7_000);
    expect(told.filter((word) => word !== 'wake')).toEqual(['begin', 'ask', 'ask', 'given up']);
    await pass(4_000);
    expect(told.filter((word) => word === 'begin')).toHaveLength(2);
    keeper.stop();
  });

  it('is pressed where no moment of rest comes and the log fills up, or another replica waits, and not where a copy fails otherwise', async () => {
    const { keeper, told, pass, at } = setUp();
    keeper.executed(2_000);
    await pass(7_000);
    expect([keeper.isPressed, keeper.cannotKeep]).toEqual([false, false]);
    at.isLogFilling = true;
    expect(keeper.isPressed).toBe(true);
    // Though nothing is executed meanwhile.
    await pass(4_000);
    expect(told.filter((word) => word === 'begin')).toHaveLength(2);
    await keeper.reached(7 as Slot);
    await pass(100);
    expect(keeper.isPressed).toBe(false);
    at.isLogFilling = false;
    keeper.hurry();
    await pass(7_000);
    expect(keeper.isPressed).toBe(true);
    await pass(2_000);
    await keeper.reached(9 as Slot);
    await pass(100);
    expect(keeper.isPressed).toBe(false);
    // Before it comes back it would have to do so much again.
    for (let time = 0; time < 7; time += 1) {
      keeper.executed(8_000);
      expect(keeper.isPressed).toBe(false);
      await pass(7_000);
    }
    keeper.executed(8_000);
    expect(keeper.isPressed).toBe(true);
    await pass(4_000);
    await keeper.reached(11 as Slot);
    await pass(100);
    expect(keeper.isPressed).toBe(false);
    keeper.stop();
    // It is not what is open that the attempt lacked.
    const odd = setUp({ restFails: true });
    odd.at.isLogFilling = true;
    odd.keeper.executed(2_000);
    await odd.pass(1_000);
    await odd.keeper.reached(7 as Slot);
    await odd.pass(100);
    expect([odd.keeper.isPressed, odd.keeper.cannotKeep]).toEqual([false, true]);
    odd.keeper.stop();
    const full = setUp({ fails: true });
    full.at.isLogFilling = true;
    full.keeper.executed(2_000);
    await full.pass(2_000);
    expect([full.keeper.isPressed, full.keeper.cannotKeep]).toEqual([false, true]);
    full.keeper.stop();
  });

  it('is pressed at once for a copy that is owed, until one of that slot is kept, or it is owed no more', async () => {
    const { keeper, told, pass } = setUp();
    keeper.executed(2_000);
    await pass(1_000);
    expect(told).toContain('begin');
    const reached = keeper.reached(9 as Slot);
    keeper.owe(12 as Slot);
    await reached;
    await pass(2_000);
    expect(told).toContain('kept 9');
    expect(keeper.isPressed).toBe(true);
    expect(told.filter((word) => word === 'begin')).toHaveLength(2);
    await keeper.reached(12 as Slot);
    await pass(100);
    expect(told).toContain('kept 12');
    expect(keeper.isPressed).toBe(false);
    keeper.owe(20 as Slot);
    expect(keeper.isPressed).toBe(true);
    keeper.owe(null);
    expect(keeper.isPressed).toBe(false);
    keeper.stop();
  });

  it('gives up when the database goes away, and makes none while it is', async () => {
    const { keeper, told, pass } = setUp();
    keeper.executed(2_000);
    await pass(1_000);
    keeper.down();
    await pass(8_000);
    expect(told.filter((word) => word !== 'wake')).toEqual(['begin', 'unwanted', 'given up']);
    keeper.stop();
  });

  it('keeps none of a slot that another primary may take back', async () => {
    const { keeper, told, pass, at } = setUp();
    at.settledTo = 6;
    keeper.executed(2_000);
    await pass(1_000);
    await keeper.reached(7 as Slot);
    await pass(2_000);
    expect(told).not.toContain('kept 7');
    at.settledTo = 7;
    await pass(1_000);
    expect(told).toContain('kept 7');
    keeper.stop();
  });

  it('makes none while the last one was dear', async () => {
    const { keeper, told, pass } = setUp({ costMs: 500 });
    keeper.executed(2_000);
    await pass(2_000);
    await keeper.reached(7 as Slot);
    await pass(1_000);
    keeper.executed(9_000);
    await pass(3_000);
    expect(told.filter((word) => word === 'begin')).toHaveLength(1);
    keeper.executed(1_500);
    await pass(1_000);
    expect(told.filter((word) => word === 'begin')).toHaveLength(2);
    keeper.stop();
  });

  it('has the last one go further, sooner, and asks for a moment of rest later', async () => {
    const { keeper, told, pass, at } = setUp();
    at.canGoFurther = true;
    keeper.executed(350);
    await pass(1_000);
    expect(told).toEqual(['further', 'wake']);
    await pass(3_000);
    expect(told).not.toContain('ask');
    await pass(1_000);
    expect(told).toContain('ask');
    await keeper.reached(9 as Slot);
    await pass(100);
    expect(told.filter((word) => word !== 'wake')).toEqual(['further', 'ask', 'at 9', 'kept 9']);
    keeper.stop();
  });

  it('makes the first one early', async () => {
    const { keeper, told, pass, at } = setUp();
    at.hasCopy = false;
    keeper.executed(550);
    await pass(1_000);
    expect(told[0]).toBe('begin');
    keeper.stop();
  });

  it('asks at each start whether the last one can go further', async () => {
    const { keeper, pass, at } = setUp();
    keeper.down();
    keeper.up();
    await pass(10);
    expect(at.resumed).toBe(2);
    keeper.stop();
  });

  it('makes a whole one where the last one can go no further', async () => {
    const { keeper, told, pass, at } = setUp();
    at.canGoFurther = true;
    keeper.executed(1_350);
    // What it is of has gone between the look and the asking.
    Object.defineProperty(at, 'canGoFurther', { get: () => told.length === 0 });
    await pass(3_000);
    expect(told.slice(0, 2)).toEqual(['further', 'begin']);
    keeper.stop();
  });

  it('has ended with what it was making before the database is replaced', async () => {
    const { keeper, told, pass } = setUp({ costMs: 2_000 });
    keeper.executed(1_100);
    await pass(1_000);
    expect(told).toEqual(['begin']);
    let isCleared = false;
    const cleared = keeper.cleared().then(() => {
      isCleared = true;
    });
    await pass(1_000);
    expect(isCleared).toBe(false);
    expect(told).toEqual(['begin', 'unwanted']);
    await pass(1_500);
    await cleared;
    expect(told).toEqual(['begin', 'unwanted', 'given up']);
  });
});
