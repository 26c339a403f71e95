import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { LeftProcesses } from './left-processes.ts';

beforeEach(() => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
});
afterEach(() => {
  vi.useRealTimers();
});

function looker(ends: (slowMs: number) => Promise<number>, living: readonly number[] = []) {
  const state = { lingering: 1, asked: 0, warnings: [] as object[] };
  const made = new LeftProcesses({
    lingering: () => state.lingering,
    door: () => ({
      lookAtLeft: async (slowMs, pids) => {
        state.asked += 1;
        return {
          ended: await ends(slowMs),
          living: living
            .filter((pid) => pids.includes(pid))
            .map((pid) => ({ pid, waitsFor: 'Lock: relation' })),
        };
      },
    }),
    lookMs: 1_000,
    slowMs: 3_000,
    warn: (fields) => state.warnings.push(fields),
  });
  return { state, made };
}

const owner = { role: 'app', database: 'shop', address: '10.0.0.9' };

it('asks again while some linger, one question at a time, and tells of it once a minute', async () => {
  const { state, made } = looker((slowMs) => Promise.resolve(slowMs / 1_500));
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
  const { state, made } = looker(() => Promise.resolve(0));
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
  const { state, made } = looker(() => Promise.reject(new Error('PostgreSQL is away')));
  made.start();
  await vi.advanceTimersByTimeAsync(3_000);
  expect(state.asked).toBe(3);
  expect(state.warnings).toEqual([]);
});

it('lets go of what executed something when its process has ended', async () => {
  const living = [7, 8];
  const { state, made } = looker(() => Promise.resolve(0), living);
  state.lingering = 0;
  const gone: string[] = [];
  made.awaitEnd(7, owner, () => gone.push('seven'));
  made.awaitEnd(8, owner, () => gone.push('eight'));
  await vi.advanceTimersByTimeAsync(3_000);
  expect(gone).toEqual([]);
  living.shift();
  await vi.advanceTimersByTimeAsync(1_000);
  expect(gone).toEqual(['seven']);
  // Another process of this id, whose client has gone, too.
  made.awaitEnd(8, owner, () => gone.push('the other eight'));
  expect(gone).toEqual(['seven', 'eight']);
  living.length = 0;
  await vi.advanceTimersByTimeAsync(1_000);
  expect(gone).toEqual(['seven', 'eight', 'the other eight']);
  const { asked } = state;
  await vi.advanceTimersByTimeAsync(5_000);
  expect(state.asked).toBe(asked);
});

it('lets go of all where PostgreSQL cannot be asked', async () => {
  const { made } = looker(() => Promise.reject(new Error('PostgreSQL is away')), [7]);
  let gone = 0;
  made.awaitEnd(7, owner, () => (gone += 1));
  await vi.advanceTimersByTimeAsync(1_000);
  expect(gone).toBe(1);
});

it('tells whose those are that execute something, and what they wait for, the longest first', async () => {
  const living = [1, 2, 3, 4, 5, 6];
  const { state, made } = looker(() => Promise.resolve(0), living);
  state.lingering = 0;
  expect(made.report()).toEqual({ count: 0, longest: [] });
  for (const pid of living) {
    made.awaitEnd(pid, { ...owner, role: `app${pid}` }, () => undefined);
    await vi.advanceTimersByTimeAsync(10);
  }
  expect(made.report().longest[0]).toEqual({ ...owner, pid: 1, role: 'app1', leftMs: 60, waitsFor: null });
  await vi.advanceTimersByTimeAsync(1_000);
  // Another process of this id.
  made.awaitEnd(1, owner, () => undefined);
  const { count, longest } = made.report();
  expect([count, longest.map(({ pid }) => pid)]).toEqual([6, [2, 3, 4, 5, 6]]);
  expect(longest[0]).toEqual({ ...owner, pid: 2, role: 'app2', leftMs: 1_050, waitsFor: 'Lock: relation' });
  expect([made.ownerOf(1), made.ownerOf(7)]).toEqual([owner, null]);
  living.length = 0;
  await vi.advanceTimersByTimeAsync(2_000);
  expect(made.report()).toEqual({ count: 0, longest: [] });
});
