import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Lsn } from '../../../wal/lsn.ts';
import { positionNone } from '../../../wal/position.ts';
import { type Chosen, type DurablePosition, untilChosen } from './chosen.ts';

const stop = 2_000 as Lsn;

/** Durable up to one end after the other; the last one stays. */
function durableAt(...ends: readonly number[]): Chosen['position'] {
  let asked = 0;
  return (): DurablePosition => {
    const end = ends[Math.min(asked, ends.length - 1)] as Lsn;
    asked += 1;
    return { position: { ...positionNone, end }, configuration: null };
  };
}

describe('the position that a copy has', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  it('is none where what the copy holds will not be chosen', async () => {
    const chosen: Chosen = { position: durableAt(3_000), awaitChosen: () => Promise.resolve(false) };
    await expect(untilChosen(stop, chosen, new AbortController().signal)).rejects.toMatchObject({
      name: 'CopyError',
      code: 'transferFailed',
    });
  });

  it('is the first at which all of that is durable, too', async () => {
    const asked: Lsn[] = [];
    const chosen: Chosen = {
      position: durableAt(1_000, 1_999, 2_000, 3_000),
      awaitChosen: (lsn) => {
        asked.push(lsn);
        return Promise.resolve(true);
      },
    };
    const found = untilChosen(stop, chosen, new AbortController().signal);
    await vi.advanceTimersByTimeAsync(100);
    expect((await found).position.end).toBe(stop);
    expect(asked).toEqual([stop]);
  });

  it('is none where that does not come about in time, or nobody wants it any more', async () => {
    const chosen: Chosen = { position: durableAt(1_000), awaitChosen: () => Promise.resolve(true) };
    const unavailable = { name: 'CopyError', code: 'sourceUnavailable' };
    const late = untilChosen(stop, chosen, new AbortController().signal).catch((error: unknown) => error);
    await vi.advanceTimersByTimeAsync(31_000);
    expect(await late).toMatchObject(unavailable);
    await expect(untilChosen(stop, chosen, AbortSignal.abort())).rejects.toMatchObject(unavailable);
  });
});
