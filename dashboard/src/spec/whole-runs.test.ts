/** Of what a page holds, only what a judge can begin with and follow is handed to it. */
import { describe, expect, test } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { other } from '../model/testing.ts';
import { wholeRuns } from './whole-runs.ts';

const event = (seq: number, replica = 'r1'): TraceEvent =>
  other({ seq, replica, run: `run of ${replica}` }, { layer: 'operation', name: 'ReplicaStarted', pid: 1 });

describe('runs', () => {
  test('that are whole are judged whole, in time', () => {
    const told = [event(2), event(1), event(1, 'r2')];
    const { events, leftOut, problem } = wholeRuns(told);
    expect(events.map(({ replica, seq }) => `${replica} ${seq}`)).toEqual(['r1 1', 'r2 1', 'r1 2']);
    expect([leftOut, problem]).toEqual([null, null]);
  });

  test('of which a single event is missing at the beginning are not judged', () => {
    const { events, problem } = wholeRuns([event(1, 'r2'), event(2), event(3)]);
    expect(events).toEqual([]);
    expect(problem).toContain('the first event of r1 that is kept is its number 2');
  });

  test('end before the first gap, those of the others too', () => {
    const told = [
      event(1),
      event(2),
      event(4),
      event(1, 'r2'),
      event(3, 'r2'),
      event(2, 'r2'),
      event(5, 'r2'),
    ];
    const { events, leftOut, problem } = wholeRuns(told);
    expect(events.map(({ replica, seq }) => `${replica} ${seq}`)).toEqual([
      'r1 1',
      'r2 1',
      'r1 2',
      'r2 2',
      'r2 3',
    ]);
    expect(problem).toBeNull();
    expect(leftOut).toContain('events of r1 before its event 4');
    expect(leftOut).toContain('2 of 7 events');
  });
});
