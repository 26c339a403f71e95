import { describe, expect, it } from 'vitest';
import type { RunningTransaction } from '../../api/wal-summary.ts';
import { SimulatedTime } from '../../ports/testing/simulated-time.ts';
import { TransactionSampler, type Sample } from './transaction-sampler.ts';

const transaction: RunningTransaction = {
  pid: 7,
  xid: 800,
  state: 'waiting',
  user: 'barista',
  database: 'barista',
  sql: 'COMMIT',
  sinceMs: 3,
};
const busy: Sample = { transactions: [transaction], more: 0 };
const calm: Sample = { transactions: [], more: 0 };

function sampler(look: () => Promise<Sample | null>) {
  const timers = new SimulatedTime();
  const told: Sample[] = [];
  const state = { looks: 0, isWatched: true };
  const subject = new TransactionSampler({
    look: () => {
      state.looks += 1;
      return look();
    },
    isWatched: () => state.isWatched,
    onSample: (sample) => told.push(sample),
    timers,
    paceMs: 50,
    idleMs: 500,
  });
  return { subject, timers, told, state };
}

describe('the sampler of transactions', () => {
  it('asks nothing while nobody watches', async () => {
    const { subject, timers, state } = sampler(() => Promise.resolve(busy));
    state.isWatched = false;
    subject.nudge();
    await timers.pass(5_000);
    expect(state.looks).toBe(0);
    state.isWatched = true;
    await timers.pass(500);
    expect(state.looks).toBe(1);
    subject.stop();
    await timers.pass(5_000);
    expect(state.looks).toBe(1);
  });

  it('looks at once when something goes on, but not more often than it may', async () => {
    const { subject, timers, state, told } = sampler(() => Promise.resolve(busy));
    for (let ms = 0; ms < 200; ms += 1) {
      subject.nudge();
      await timers.pass(1);
    }
    expect(state.looks).toBe(4);
    expect(told).toEqual([busy, busy, busy, busy]);
  });

  it('does not look again before the last look has ended', async () => {
    const { subject, timers, state } = sampler(() => new Promise(() => undefined));
    subject.nudge();
    await timers.pass(2_000);
    subject.nudge();
    expect(state.looks).toBe(1);
  });

  it('tells once that there is nothing any more, also if PostgreSQL is away', async () => {
    const samples = [calm, busy, calm, calm];
    const { timers, told } = sampler(() => {
      const next = samples.shift();
      return next === undefined ? Promise.reject(new Error('away')) : Promise.resolve(next);
    });
    await timers.pass(5_000);
    expect(told).toEqual([busy, calm]);
  });
});
