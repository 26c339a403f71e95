import { describe, expect, test } from 'vitest';
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import { eventClockUs, initialState, reduceDashboard } from './dashboard-state.ts';
import type { DashboardState } from './dashboard-state.ts';
import { parseFrame } from './frames.ts';
import type { Frame } from './frames.ts';
import { addSample, columnsOf, emptyRates, latestTotal, samplesMax } from './rate-series.ts';
import { lagText, stripsOf } from './strips.ts';
import { clusterOf, consensus, other, replica } from './testing.ts';
import { isBusy, linkKey } from './trace-model.ts';

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

  test('sees a link fall idle a second after its last message, though no event comes any more', () => {
    const heard = consensus({ seq: 1, replica: 'r2' }, { name: 'HandleAccept', from: 'r1' as ReplicaId });
    const state = take(initialState, 50_000, { type: 'events', events: [heard] });
    const busyAt = (nowMs: number) => isBusy(state.trace, linkKey('r1', 'r2'), eventClockUs(state, nowMs));
    expect([50_000, 50_900, 51_100, 76_000].map(busyAt)).toEqual([true, true, false, false]);
    expect(isBusy(state.trace, linkKey('r2', 'r1'), eventClockUs(state, 50_000))).toBe(false);
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

describe('a replica whose disk was lost', () => {
  const at = (slot: number) => slot as Slot;
  const full = { commitPoint: at(9), applicationPointer: at(9), lastSlot: at(9) };
  const nothing = { commitPoint: at(0), applicationPointer: at(0), lastSlot: at(0) };
  const told: Frame = {
    type: 'events',
    events: [
      consensus({ seq: 8, replica: 'r2' }, { name: 'AdvanceCommitPoint', state: full }),
      other({ seq: 9, replica: 'r2' }, { layer: 'apply', name: 'Release', slot: 9, start: 0, position: 9 }),
    ],
  };
  const frame = (second: Parameters<typeof replica>[1] | null): Frame => {
    const r2 = replica('r2', second ?? {});
    const heard = second === null ? { ...r2, status: null, ageMs: null } : r2;
    return { type: 'cluster', cluster: clusterOf(replica('r1', full), heard) };
  };
  const shown = ({ cluster: now, trace }: DashboardState) => {
    const strip = stripsOf(now!, trace)[1]!;
    return [strip.cellAt(9).kind, lagText(strip, 9)];
  };

  test('shows neither its slots nor that it is in step, from the moment at which it is another process', () => {
    const before = take(take(initialState, 1, frame({ ...full, pid: 100 })), 2, told);
    const known = take(before, 3, frame({ ...full, pid: 100 }));
    expect(shown(known)).toEqual(['applied', 'in step']);
    const started = take(known, 4, frame(null));
    expect(shown(started)).toEqual(['empty', 'no word']);
    expect(shown(take(started, 5, frame(null)))).toEqual(['empty', 'no word']);
    const empty = { ...nothing, pid: 200, incarnation: 0 };
    expect(shown(take(started, 6, frame(empty)))).toEqual(['empty', '−9']);
    expect(shown(take(known, 6, frame(empty)))).toEqual(['empty', '−9']);
  });

  test('is told by the events of its new process, even those that come before its status, and not by late ones of the old', () => {
    const known = take(take(initialState, 1, told), 2, frame({ ...full, pid: 100 }));
    const late = consensus({ seq: 10, replica: 'r2' }, { name: 'AdvanceCommitPoint', state: full });
    const started = take(known, 3, frame(null), { type: 'events', events: [late] });
    expect(shown(started)).toEqual(['empty', 'no word']);
    const events = [
      other(
        { seq: 1, replica: 'r2.2', run: 'next' },
        { layer: 'operation', name: 'ReplicaStarted', pid: 200 },
      ),
      consensus(
        { seq: 2, replica: 'r2.2', run: 'next' },
        { name: 'AdvanceCommitPoint', state: { commitPoint: at(9), lastSlot: at(9) } },
      ),
    ];
    const again = take(started, 4, { type: 'events', events });
    expect(shown(again)).toEqual(['chosen', '−9']);
    expect(shown(take(again, 5, frame(null)))).toEqual(['chosen', '−9']);
    expect(shown(take(again, 5, frame({ ...nothing, pid: 200 })))).toEqual(['chosen', '−9']);
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
    expect(latestTotal(emptyRates, 'transactionsPerSecond')).toBeNull();
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
