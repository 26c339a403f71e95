import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { EntryEnder } from './entry-ender.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function ender(ends: (slowMs: number) => Promise<number>) {
  const state = { lingering: 1, asked: 0, warnings: [] as object[] };
  const made = new EntryEnder({
    lingering: () => state.lingering,
    door: () => ({
      endEntries: (slowMs) => {
        state.asked += 1;
        return ends(slowMs);
      },
    }),
    lookMs: 1_000,
    slowMs: 3_000,
    warn: (fields) => state.warnings.push(fields),
  });
  return { state, made };
}

it('asks again while some linger, one question at a time, and tells of it once a minute', async () => {
  const { state, made } = ender((slowMs) => Promise.resolve(slowMs / 1_500));
  made.start();
  made.start();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(state.asked).toBe(10);
  expect(state.warnings).toEqual([{ ended: 2 }]);
  await vi.advanceTimersByTimeAsync(52_000);
  expect(state.warnings).toEqual([{ ended: 2 }, { ended: 120 }]);
  state.lingering = 0;
  const { asked } = state;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(state.asked).toBe(asked);
});

it('asks nothing where those that lingered are gone by then, or where it is stopped', async () => {
  const { state, made } = ender(() => Promise.resolve(0));
  made.start();
  state.lingering = 0;
  await vi.advanceTimersByTimeAsync(5_000);
  state.lingering = 1;
  made.start();
  made.stop();
  made.start();
  await vi.advanceTimersByTimeAsync(5_000);
  expect(state.asked).toBe(0);
});

it('goes on behind a question that PostgreSQL did not answer', async () => {
  const { state, made } = ender(() => Promise.reject(new Error('PostgreSQL is away')));
  made.start();
  await vi.advanceTimersByTimeAsync(3_000);
  expect(state.asked).toBe(3);
  expect(state.warnings).toEqual([]);
});
