import { pino } from 'pino';
import { describe, expect, it } from 'vitest';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { BegunCopy } from '../../ports/kept-copy.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { CopyKeeper, type Paces } from './copy-keeper.ts';

const paces: Paces = { afterBusyMs: 1_000, timesCost: 20, restMsMax: 5_000, againMs: 3_000 };

function setUp({ fails = false, costMs = 0 } = {}) {
  const told: string[] = [];
  const timers = new SimulatedTime();
  const at = { settledTo: 1_000 };
  const keeper = new CopyKeeper({
    maker: {
      begin: async (signal) => {
        told.push('begin');
        signal.addEventListener('abort', () => told.push('unwanted'));
        if (fails) throw new Error('no room');
        await new Promise<void>((resolve) => timers.after(costMs, resolve));
        let slot = 0 as Slot;
        const copy: BegunCopy = {
          atRest: (reached) => {
            slot = reached;
            told.push(`at ${reached}`);
            return Promise.resolve();
          },
          complete: () => Promise.resolve({ slot, bytesCopied: 1, bytesKept: 0 }),
          giveUp: () => Promise.resolve(void told.push('given up')),
        };
        return copy;
      },
    },
    timers,
    logger: pino({ level: 'silent' }),
    isSettled: (slot) => slot <= at.settledTo,
    wake: () => told.push('wake'),
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

  it('gives up where no moment of rest comes, and tries again later', async () => {
    const { keeper, told, pass } = setUp();
    keeper.executed(2_000);
    await pass(7_000);
    expect(told.filter((word) => word !== 'wake')).toEqual(['begin', 'given up']);
    await pass(4_000);
    expect(told.filter((word) => word === 'begin')).toHaveLength(2);
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
