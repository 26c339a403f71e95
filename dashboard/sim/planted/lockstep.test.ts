/** Two simulators in one process, each behind a port, as two Workers of the page: they pass and stand together. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { openPair, type PairedRun } from '../../src/compare/pair.ts';
import type { SimulatorPort } from '../../src/run/simulated-source.ts';
import type { FromSimulator } from '../../src/run/simulated/protocol.ts';
import { firstRun } from '../../src/run/simulated/run-address.ts';
import type { RunStore } from '../../src/run/run-store.ts';
import { Simulator } from '../simulator.ts';

const soon = { interval: 20 };
const setup = { ...firstRun, seed: 7, clients: 2 };
const r2 = 'r2' as ReplicaId;

/** A port to one world, and where that world was when it was heard of last. */
interface Wired extends SimulatorPort {
  readonly atMs: () => number;
}

/** Of the world's time: so far ahead of the one behind it may go at twice the speed, with what passes between two events. */
const aheadMsMax = 700;

/** `lateMs`: it answers so much later than the other one. `onPassed`: of how far it may go at a finite speed. */
function portTo(lateMs: number, onPassed: (toMs: number) => void): Wired {
  let atMs = 0;
  let listener: (message: FromSimulator) => void = () => undefined;
  const simulator = new Simulator((message) => setTimeout(() => listener(message), lateMs));
  return {
    atMs: () => atMs,
    post(message) {
      const pace = message.kind === 'pace' ? message.pace : null;
      if (pace?.mode === 'running' && Number.isFinite(pace.speed)) onPassed(pace.toMs);
      setTimeout(() => simulator.hear(message), lateMs);
    },
    listen(next) {
      listener = (message) => {
        if (message.kind === 'frames' || message.kind === 'pace') atMs = message.atMs;
        next(message);
      };
    },
    end: () => simulator.end(),
  };
}

const lastMs = (store: RunStore): number => store.get().extent?.lastMs ?? 0;
const crashed = (store: RunStore) =>
  store.get().state.cluster?.replicas.find(({ id }) => id === r2)?.process === 'stopped';

describe('two worlds in lockstep', () => {
  let pair: PairedRun;
  /** Each time that one was let go on: how far ahead of the one behind. */
  let ahead: number[];
  /** Where the two worlds said that they are: the page hears of that, and what it shows comes later. */
  let worldsMs: () => readonly number[];
  beforeEach(async () => {
    ahead = [];
    const onPassed = (toMs: number): void =>
      void ahead.push(toMs - Math.min(...wired.map((one) => one.atMs())));
    const wired: readonly Wired[] = [portTo(0, onPassed), portTo(15, onPassed)];
    worldsMs = () => wired.map((one) => one.atMs());
    const [naive, ours] = wired as [Wired, Wired];
    pair = openPair({ naive, ours, setup, fromMs: 8_000, goesOn: false });
    while (lastMs(pair.naive) < 8_000 || lastMs(pair.ours) < 8_000)
      await new Promise((resolve) => setTimeout(resolve, 10));
  });
  afterEach(() => pair.close());

  it('stand at the same moment when they are held, and neither is far ahead before', async () => {
    const world = pair.both.source.world!;
    world.run(2);
    await expect.poll(() => lastMs(pair.both), soon).toBeGreaterThan(10_000);
    world.pause();
    expect(world.pace().mode).toBe('standing');
    // Until both stand there is no step.
    const before = lastMs(pair.both);
    await expect.poll(() => world.step().then(() => lastMs(pair.both)), soon).toBeGreaterThan(before);
    await expect.poll(() => lastMs(pair.naive) === lastMs(pair.ours), soon).toBe(true);
    expect(ahead.length).toBeGreaterThan(2);
    expect(Math.max(...ahead)).toBeLessThanOrEqual(aheadMsMax);
    let stood: readonly number[] = [];
    const hasStepped = async (): Promise<boolean> => {
      stood = worldsMs();
      await world.step();
      return worldsMs().some((atMs, n) => atMs !== stood[n]);
    };
    await expect.poll(hasStepped, soon).toBe(true);
    for (const [n, atMs] of worldsMs().entries()) {
      expect(atMs).toBeGreaterThan(stood[n]! + 50);
      expect(atMs).toBeLessThan(stood[n]! + 150);
    }
    await expect.poll(() => lastMs(pair.naive) === lastMs(pair.ours), soon).toBe(true);
  });

  it('befall the same acts at the same time, standing and running', async () => {
    const { world, requests } = pair.both.source;
    expect(await requests!.fault({ action: 'crash', replica: r2 })).toEqual({ ok: true });
    await expect.poll(() => [pair.naive, pair.ours].map(crashed), soon).toEqual([true, true]);
    world!.run(4);
    await expect.poll(() => lastMs(pair.both), soon).toBeGreaterThan(9_000);
    expect(await requests!.fault({ action: 'restart', replica: r2 })).toEqual({ ok: true });
    await expect.poll(() => lastMs(pair.both), soon).toBeGreaterThan(12_000);
    world!.pause();
    await expect.poll(() => lastMs(pair.naive) === lastMs(pair.ours), soon).toBe(true);
    // Of one seed, and both as they are: whatever was done to them, they are the same.
    const loads = [pair.naive, pair.ours].map((store) => JSON.stringify(store.get().state.cluster));
    expect(loads[0]).toBe(loads[1]);
  });

  it('are looked at, and made again, at the same moment', async () => {
    const { both, naive, ours } = pair;
    both.source.world!.run(4);
    await expect.poll(() => lastMs(both), soon).toBeGreaterThan(9_500);
    both.source.world!.pause();
    both.standAt(9_000);
    expect([naive, ours].map((store) => store.momentMs())).toEqual([9_000, 9_000]);
    await both.source.world!.fork(9_000);
    await expect.poll(() => [naive, ours].map(lastMs), soon).toEqual([9_000, 9_000]);
  });
});
