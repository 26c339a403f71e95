import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Frame } from '../model/frames.ts';
import { clusterOf, other, replica } from '../model/testing.ts';
import { openRun, type RunStore } from './run-store.ts';
import type { RunSource, SourceListener } from './source.ts';

let listener: SourceListener;
let store: RunStore;

const source: RunSource = {
  kind: 'simulated',
  title: 'seed 1',
  subscribe(next) {
    listener = next;
    return () => undefined;
  },
  nowMs: () => 77,
  requests: null,
  world: null,
  retryNow: () => undefined,
};

let seq = 0;
function led(by: string): readonly Frame[] {
  seq += 1;
  const replicas = ['r1', 'r2'].map((id) => replica(id, { role: id === by ? 'leader' : 'follower' }));
  const started = other({ seq }, { layer: 'operation', name: 'ReplicaStarted', pid: seq });
  return [
    { type: 'events', events: [started] },
    { type: 'cluster', cluster: clusterOf(...replicas) },
  ];
}

function tell(atMs: number, by: string): void {
  listener.onFrames(led(by), atMs);
  vi.advanceTimersByTime(150);
}

const leader = (): string | undefined =>
  store.get().state.cluster?.replicas.find(({ status }) => status?.role === 'leader')?.id;

beforeEach(() => {
  vi.useFakeTimers();
  store = openRun(source);
});
afterEach(() => {
  store.follow();
  vi.useRealTimers();
});

describe('the store of a run', () => {
  test('tells once of what comes within a moment', () => {
    const told = vi.fn<() => void>();
    store.subscribe(told);
    listener.onFrames(led('r1'), 10);
    listener.onFrames(led('r2'), 20);
    expect(told).not.toHaveBeenCalled();
    vi.advanceTimersByTime(150);
    expect(told).toHaveBeenCalledTimes(1);
    expect([leader(), store.get().extent]).toEqual(['r2', { firstMs: 20, lastMs: 20 }]);
    expect(store.get().state.trace.events).toHaveLength(2);
  });

  test('shows the moment where it stands while the run goes on, and the newest once it follows', () => {
    tell(100, 'r1');
    tell(200, 'r2');
    store.standAt(150);
    expect([leader(), store.momentMs()]).toEqual(['r1', 150]);
    tell(300, 'r2');
    expect([leader(), store.get().extent?.lastMs]).toEqual(['r1', 300]);
    store.follow();
    expect([leader(), store.momentMs()]).toEqual(['r2', 77]);
  });

  test('goes from one moment to the next, and back', () => {
    for (const [atMs, by] of [
      [100, 'r1'],
      [200, 'r2'],
      [300, 'r1'],
    ] as const)
      tell(atMs, by);
    store.step(-1);
    expect([store.momentMs(), leader()]).toEqual([200, 'r2']);
    store.step(-1);
    store.step(-1);
    expect([store.momentMs(), leader()]).toEqual([100, 'r1']);
    store.step(1);
    expect(store.momentMs()).toBe(200);
  });

  test('plays at its speed, and follows when it has caught up', () => {
    tell(1_000, 'r1');
    tell(2_000, 'r2');
    store.standAt(1_000);
    store.play(0.5);
    vi.advanceTimersByTime(1_000);
    expect(store.momentMs()).toBeCloseTo(1_500, 0);
    expect([leader(), store.get().playhead.mode]).toEqual(['r1', 'playing']);
    vi.advanceTimersByTime(1_500);
    expect([leader(), store.get().playhead.mode]).toEqual(['r2', 'following']);
  });

  test('says how the connection is now, whatever moment is looked at', () => {
    listener.onConnection({ kind: 'open' });
    tell(100, 'r1');
    tell(200, 'r2');
    store.standAt(100);
    listener.onConnection({ kind: 'lost', attempt: 1, retryAtMs: 5 });
    expect([leader(), store.get().state.connection.kind]).toEqual(['r1', 'lost']);
  });

  test('forgets a run that begins anew', () => {
    tell(500, 'r1');
    store.standAt(500);
    listener.onBegun();
    expect([store.get().extent, store.get().state.cluster]).toEqual([null, null]);
    tell(100, 'r2');
    expect([leader(), store.get().extent]).toEqual(['r2', { firstMs: 100, lastMs: 100 }]);
  });
});
