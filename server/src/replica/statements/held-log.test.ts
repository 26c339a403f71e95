import { describe, expect, it } from 'vitest';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { LogStore } from '../../ports/log-store.ts';
import { heldLog } from './held-log.ts';

function setUp() {
  const purged: number[] = [];
  const at = { bytes: 0, floor: 0, cannotKeep: false, isDurablyBehind: false };
  const store = {
    purge: (upTo: Slot) => Promise.resolve(void purged.push(upTo)),
    stats: () => ({ purgedTo: 0 as Slot, bytes: at.bytes, segments: 1 }),
  } as unknown as LogStore;
  const options = {
    bytesMax: 1000,
    floor: () => at.floor as Slot,
    cannotKeep: () => at.cannotKeep,
    isDurablyBehind: () => at.isDurablyBehind,
  };
  return { log: heldLog(store, options), purged, at };
}

describe('a log that is held', () => {
  it('lets go of nothing until there is a copy, and then up to that', async () => {
    const { log, purged, at } = setUp();
    await log.purge(70 as Slot);
    expect(purged).toEqual([]);
    at.floor = 50;
    await log.release();
    expect(purged).toEqual([50]);
    at.floor = 90;
    await log.release();
    expect(purged).toEqual([50, 70]);
  });

  it('is held up no more where no copy can be made, and it has come to half of its bound', async () => {
    const { log, purged, at } = setUp();
    at.bytes = 600;
    await log.purge(70 as Slot);
    expect(purged).toEqual([]);
    at.cannotKeep = true;
    at.bytes = 400;
    await log.release();
    expect(purged).toEqual([]);
    at.bytes = 600;
    await log.release();
    expect(purged).toEqual([70]);
  });

  it('fills up for want of a copy, and not where another replica is what it is held for', async () => {
    const { log, at } = setUp();
    at.bytes = 600;
    at.floor = 80;
    await log.purge(70 as Slot);
    expect(log.isFilling).toBe(false);
    await log.purge(90 as Slot);
    expect(log.isFilling).toBe(true);
    at.bytes = 400;
    expect(log.isFilling).toBe(false);
    at.bytes = 600;
    at.floor = 90;
    expect(log.isFilling).toBe(false);
    at.isDurablyBehind = true;
    expect(log.isFilling).toBe(true);
  });
});
