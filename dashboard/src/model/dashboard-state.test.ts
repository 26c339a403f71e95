import { describe, expect, test } from 'vitest';
import { initialState, reduceDashboard } from './dashboard-state.ts';
import type { DashboardState } from './dashboard-state.ts';
import { parseFrame } from './frames.ts';
import type { Frame } from './frames.ts';
import { addSample, columnsOf, emptyRates, latestTotal, samplesMax } from './rate-series.ts';
import { clusterOf, other, replica } from './testing.ts';

function take(state: DashboardState, atMs: number, ...frames: readonly Frame[]): DashboardState {
  return reduceDashboard(state, { kind: 'frames', frames, atMs });
}

function cluster(leader: string | null): Frame {
  const replicas = ['r1', 'r2'].map((id) => replica(id, { role: id === leader ? 'leader' : 'follower' }));
  return { type: 'cluster', cluster: clusterOf(...replicas) };
}

const rates = {
  transactionsPerSecond: 5,
  readsPerSecond: 1,
  appliedPerSecond: 0,
  latencyMsP50: 2,
  latencyMsP99: 9,
};

describe('the dashboard state', () => {
  test('takes the status, the events and the rates of one flush', () => {
    const state = take(
      initialState,
      1000,
      cluster('r1'),
      { type: 'events', events: [other({ seq: 1 }, { layer: 'operation', name: 'ReplicaStarted', pid: 1 })] },
      { type: 'rates', at: 900, perReplica: { r1: rates } },
    );
    expect(state.cluster?.replicas).toHaveLength(2);
    expect(state.clusterAtMs).toBe(1000);
    expect(state.trace.events).toHaveLength(1);
    expect(state.rates.samples).toEqual([{ at: 900, perReplica: { r1: rates } }]);
  });

  test('notes when leadership changes hands, once for each change', () => {
    const first = take(initialState, 1, cluster(null), cluster('r1'), cluster('r1'));
    const second = take(first, 2, cluster(null));
    const third = take(second, 3, cluster('r2'), cluster('r2'));
    expect(third.rates.leaderChanges).toEqual([
      { at: 1, leader: 'r1' },
      { at: 2, leader: null },
      { at: 3, leader: 'r2' },
    ]);
  });

  test('keeps what was last heard when the connection is lost', () => {
    const open = take(initialState, 1, cluster('r1'));
    const lost = reduceDashboard(open, {
      kind: 'connection',
      connection: { kind: 'lost', attempt: 1, retryAtMs: 2 },
    });
    expect(lost.cluster).toBe(open.cluster);
    expect(lost.connection.kind).toBe('lost');
  });
});

describe('rates', () => {
  test('keep the last samples, in order of time', () => {
    let series = emptyRates;
    for (let at = 1; at <= samplesMax + 3; at += 1) series = addSample(series, { at, perReplica: {} });
    expect(series.samples).toHaveLength(samplesMax);
    expect(series.samples[0]!.at).toBe(4);
    expect(addSample(series, { at: 5, perReplica: {} })).toBe(series);
  });

  test('become a column for each replica, with a gap where it has no sample', () => {
    const one = addSample(emptyRates, { at: 1000, perReplica: { r1: rates } });
    const two = addSample(one, { at: 2000, perReplica: { r1: rates, r2: rates } });
    expect(columnsOf(two, ['r1', 'r2'], 'readsPerSecond')).toEqual([
      [1, 2],
      [1, 1],
      [null, 1],
    ]);
    expect(latestTotal(two, 'transactionsPerSecond')).toBe(10);
    expect(latestTotal(emptyRates, 'transactionsPerSecond')).toBe(0);
  });
});

describe('a frame', () => {
  test('is refused unless it has the shape of one', () => {
    const bad = [
      '',
      '{',
      'null',
      '[]',
      '{"type":"cluster"}',
      '{"type":"events","events":{}}',
      '{"type":"rates","at":"1","perReplica":{}}',
      '{"type":"other"}',
    ];
    expect(bad.map(parseFrame)).toEqual(bad.map(() => null));
  });

  test('is taken as it is', () => {
    const frame = { type: 'rates', at: 1, perReplica: { r1: rates } };
    expect(parseFrame(JSON.stringify(frame))).toEqual(frame);
    expect(parseFrame('{"type":"events","events":[]}')).toEqual({ type: 'events', events: [] });
    expect(parseFrame(JSON.stringify(cluster('r1')))).toEqual(cluster('r1'));
  });
});
