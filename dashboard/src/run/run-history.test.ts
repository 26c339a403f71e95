import { describe, expect, test } from 'vitest';
import { type DashboardState, initialState, reduceDashboard } from '../model/dashboard-state.ts';
import type { Frame } from '../model/frames.ts';
import { clusterOf, other, replica } from '../model/testing.ts';
import { type Moment, RunHistory } from './run-history.ts';

let seq = 0;

function frames(events: number, leader: string | null): readonly Frame[] {
  const told = Array.from({ length: events }, () => {
    seq += 1;
    return other({ seq }, { layer: 'operation', name: 'ReplicaStarted', pid: seq });
  });
  const replicas = ['r1', 'r2'].map((id) => replica(id, { role: id === leader ? 'leader' : 'follower' }));
  return [
    { type: 'events', events: told },
    { type: 'cluster', cluster: clusterOf(...replicas) },
  ];
}

function momentsOf(count: number): readonly Moment[] {
  return Array.from({ length: count }, (_, index) => ({
    atMs: 100 * index,
    frames: frames(index % 4, index % 3 === 0 ? 'r1' : 'r2'),
  }));
}

function folded(moments: readonly Moment[]): DashboardState {
  return moments.reduce(
    (state, moment) => reduceDashboard(state, { kind: 'frames', ...moment }),
    initialState,
  );
}

const small = { momentsMax: 30, eventsMax: 1_000, momentsBetween: 7 };

describe('the history of a run', () => {
  test('has the state of every moment, as if only that much had been told', () => {
    const moments = momentsOf(25);
    const history = new RunHistory(small);
    for (const { atMs, frames: told } of moments) history.add(atMs, told);
    for (const [index, { atMs }] of moments.entries()) {
      expect(history.stateAt(atMs)).toEqual(folded(moments.slice(0, index + 1)));
      expect(history.stateAt(atMs + 99)).toEqual(history.stateAt(atMs));
    }
    expect(history.stateAt(-1)).toEqual(initialState);
    expect(history.newest).toEqual(folded(moments));
  });

  test('lets the oldest go, and has the states of the others as before', () => {
    const moments = momentsOf(200);
    const history = new RunHistory(small);
    for (const { atMs, frames: told } of moments) history.add(atMs, told);
    expect(history.kept().length).toBeLessThanOrEqual(small.momentsMax);
    expect(history.kept().length).toBeGreaterThan(small.momentsMax - 2 * small.momentsBetween);
    const firstMs = history.firstMs!;
    for (const atMs of [firstMs, firstMs + 500, 19_900])
      expect(history.stateAt(atMs)).toEqual(folded(moments.filter((one) => one.atMs <= atMs)));
    expect(history.stateAt(0)).toEqual(folded(moments.filter((one) => one.atMs < firstMs)));
  });

  test('has them as before though what was looked at last is gone', () => {
    const moments = momentsOf(200);
    const history = new RunHistory(small);
    const add = (some: readonly Moment[]): void => {
      for (const { atMs, frames: told } of some) history.add(atMs, told);
    };
    add(moments.slice(0, 11));
    expect(history.stateAt(500)).toEqual(folded(moments.slice(0, 6)));
    add(moments.slice(11));
    const atMs = 19_800;
    expect(history.stateAt(atMs)).toEqual(folded(moments.filter((one) => one.atMs <= atMs)));
  });

  test('keeps no more events than it may, however few moments they came in', () => {
    const history = new RunHistory(small);
    for (let index = 0; index < 100; index += 1) history.add(index, frames(90, 'r1'));
    const kept = history.kept().reduce((sum, { frames: [first] }) => {
      return sum + (first?.type === 'events' ? first.events.length : 0);
    }, 0);
    expect(kept).toBeLessThanOrEqual(small.eventsMax);
    expect(kept).toBeGreaterThan(0);
  });

  test('lets go of events though they come in few moments', () => {
    const history = new RunHistory({ momentsMax: 1_000, eventsMax: 800, momentsBetween: 500 });
    for (let index = 0; index < 40; index += 1) history.add(index, frames(100, 'r1'));
    expect(history.kept().length).toBeLessThanOrEqual(8);
    expect(history.kept().length).toBeGreaterThan(5);
  });

  test('goes from moment to moment', () => {
    const history = new RunHistory(small);
    for (const atMs of [10, 20, 20, 30]) history.add(atMs, []);
    expect([0, 10, 15, 20, 30].map((ms) => history.next(ms))).toEqual([10, 20, 20, 30, null]);
    expect([10, 15, 20, 30, 99].map((ms) => history.before(ms))).toEqual([null, 10, 10, 20, 30]);
  });

  test('takes what comes with an earlier time for what came last', () => {
    const history = new RunHistory(small);
    history.add(50, frames(1, 'r1'));
    history.add(40, frames(1, 'r2'));
    expect(history.lastMs).toBe(50);
    expect(history.stateAt(50)).toEqual(history.newest);
  });
});
