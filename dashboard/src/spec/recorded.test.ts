import { describe, expect, it } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { lineOf } from './value-shape.ts';
import { layerOf, recordedWalk } from './recorded-walk.ts';
import { readTraceText } from './trace-text.ts';
import { modelTextOf } from './walk.ts';
import { wholeRuns } from './whole-runs.ts';

function event(replica: string, seq: number, atUs: number, more: object = {}): TraceEvent {
  const all = { replica, run: `run of ${replica}`, seq, atUs, layer: 'consensus', name: 'Fsync', ...more };
  return all as unknown as TraceEvent;
}

describe('what of a run can be judged', () => {
  it('is all of it, each event once, where every process is told of from its beginning on', () => {
    const told = [event('r1', 1, 1), event('r2', 1, 2), event('r1', 2, 3), event('r1', 2, 3)];
    const { events, leftOut, problem } = wholeRuns(told);
    expect(events.map(({ replica, seq }) => `${replica} ${seq}`)).toEqual(['r1 1', 'r2 1', 'r1 2']);
    expect([leftOut, problem]).toEqual([null, null]);
  });

  it('is what came before a gap, of all replicas, and says what is left out', () => {
    const told = [
      event('r1', 1, 1),
      event('r2', 1, 2),
      event('r1', 3, 5),
      event('r2', 2, 4),
      event('r2', 3, 6),
    ];
    const { events, leftOut } = wholeRuns(told);
    expect(events.map(({ replica, seq }) => `${replica} ${seq}`)).toEqual(['r1 1', 'r2 1', 'r2 2']);
    expect(leftOut).toContain('before its event 3');
    expect(leftOut).toContain('2 of 5');
  });

  it('is nothing without a beginning', () => {
    expect(wholeRuns([event('r1', 7, 1)])).toMatchObject({
      events: [],
      problem: expect.stringContaining('number 7'),
    });
  });
});

describe('a recorded run as a walk', () => {
  const text = modelTextOf(new Map([['MultiPaxos', 'Fsync(r, n) ==\n  n > 0\n']]));

  it('has each event beside the action that it claims to be, with the state that each replica told last', () => {
    const events = [
      event('r1', 1, 1, { state: { role: 'follower' } }),
      event('r2', 1, 2, { state: { role: 'leader' }, records: 3 }),
      event('r1', 2, 3, { layer: 'apply', name: 'Ship' }),
      event('r1', 3, 4, { state: { role: 'down' } }),
    ];
    const { walk, at } = recordedWalk(events, { layer: 'consensus', about: events[3]! }, text);
    expect(at).toBe(2);
    expect(walk.map(({ title, operands, place }) => [title, operands, place?.first])).toEqual([
      ['Fsync', 'r1', 1],
      ['Fsync', 'r2', 1],
      ['Fsync', 'r1', 1],
    ]);
    expect(walk.map(({ values }) => lineOf(values.get('state')!))).toEqual([
      '[r1: [role: follower]]',
      '[r1: [role: follower], r2: [role: leader]]',
      '[r1: [role: down], r2: [role: leader]]',
    ]);
    expect(lineOf(walk[1]!.values.get('records')!)).toBe('3');
  });
});

describe('a recorded run of another protocol as a walk', () => {
  const text = modelTextOf(new Map([['Paxos', 'Fsync(r, n) ==\n  n > 0\n']]));
  const step = (replica: string, seq: number, atUs: number, told: object): TraceEvent =>
    event(replica, seq, atUs, { layer: 'protocol', name: 'PaxosStep', step: told });

  it('has its steps by the names that they have in the specification, with what they say', () => {
    const events = [
      step('r1', 1, 1, { name: 'Restart', state: { done: 0 } }),
      step('r2', 1, 2, { name: 'Fsync', records: 2, state: { done: 1 } }),
      event('r1', 2, 3, { layer: 'operation', name: 'DatabaseUp' }),
    ];
    const { walk, at } = recordedWalk(events, { layer: layerOf('Paxos'), about: null }, text);
    expect(at).toBeNull();
    expect(walk.map(({ title, operands, place }) => [title, operands, place?.first])).toEqual([
      ['Restart', 'r1', undefined],
      ['Fsync', 'r2', 1],
    ]);
    expect(walk.map(({ values }) => lineOf(values.get('state')!))).toEqual([
      '[r1: [done: 0]]',
      '[r1: [done: 0], r2: [done: 1]]',
    ]);
    expect(lineOf(walk[1]!.values.get('records')!)).toBe('2');
    expect(walk[1]!.values.has('step')).toBe(false);
  });

  it('is of the layer that its specification says what it means', () => {
    expect(['MultiPaxos', 'OrderedApply', 'Lease', 'Paxos', 'PrimaryCopies'].map(layerOf)).toEqual([
      'consensus',
      'apply',
      'lease',
      'protocol',
      'protocol',
    ]);
  });
});

describe('the text of a file', () => {
  it('is read as a recorded trace, or as a run that a page exported', () => {
    const one = event('r1', 1, 1);
    expect(readTraceText(`${JSON.stringify(one)}\n`)).toEqual({ ok: true, events: [one] });
    const run = `{"format":"barista-run","version":1,"group":"g","source":"s"}\n${JSON.stringify({ atMs: 1, frames: [{ type: 'events', events: [one] }] })}\n`;
    expect(readTraceText(run)).toEqual({ ok: true, events: [one] });
  });

  it('is refused where a line is no event, or there is none', () => {
    expect(readTraceText('{"seq":1}\n')).toMatchObject({
      ok: false,
      message: expect.stringContaining('Line 1'),
    });
    expect(readTraceText('\n')).toMatchObject({ ok: false });
  });
});
