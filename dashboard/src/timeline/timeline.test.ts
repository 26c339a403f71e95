import { describe, expect, test } from 'vitest';
import type { ClusterReplica } from '../../../server/src/api/status.ts';
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import { ballot, clusterOf, consensus, replica } from '../model/testing.ts';
import type { Frame } from '../model/frames.ts';
import type { Flight } from '../run/flights.ts';
import { msAt, scaleOf, spellOffset, thinned, ticksOf, xOf, zeroOf } from './scale.ts';
import { arrowAt, arrowsOf, rowsOf } from './space-time.ts';
import { Tracks, tracksMax } from './tracks.ts';

const told = (...replicas: readonly ClusterReplica[]): readonly Frame[] => [
  { type: 'cluster', cluster: clusterOf(...replicas) },
];

describe('tracks', () => {
  test('are spans of ballots that follow one another', () => {
    const tracks = new Tracks();
    for (const [atMs, round, role] of [
      [100, 1, 'follower'],
      [200, 1, 'follower'],
      [300, 2, 'leader'],
      [400, 2, 'leader'],
    ] as const)
      tracks.add({ atMs, frames: told(replica('r1', { ballot: ballot(round, 'r1'), role })) });
    expect(tracks.spans.get('r1')).toEqual([
      { fromMs: 100, toMs: 300, ballot: ballot(1, 'r1'), isLeading: false, process: 'running' },
      { fromMs: 300, toMs: 400, ballot: ballot(2, 'r1'), isLeading: true, process: 'running' },
    ]);
  });

  test('know of a ballot by its event, and are not set back by an older status', () => {
    const tracks = new Tracks();
    tracks.add({ atMs: 100, frames: told(replica('r1')) });
    const event = consensus({ seq: 1 }, { name: 'StartElection', state: { ballot: ballot(3, 'r1') } });
    tracks.add({ atMs: 200, frames: [{ type: 'events', events: [event] }] });
    tracks.add({ atMs: 300, frames: told(replica('r1')) });
    expect(tracks.spans.get('r1')?.map((span) => span.ballot?.round)).toEqual([1, 3]);
    expect(tracks.elections).toEqual([{ atMs: 200, replica: 'r1', ballot: ballot(3, 'r1'), kind: 'stood' }]);
  });

  test('flag a lost log, and give the ballot of the life before to nobody', () => {
    const tracks = new Tracks();
    tracks.add({ atMs: 1, frames: told(replica('r2', { ballot: ballot(3, 'r1'), incarnation: 1 })) });
    tracks.add({ atMs: 2, frames: told(replica('r2', { ballot: ballot(0, ''), incarnation: 0 })) });
    const late = consensus({ seq: 9, replica: 'r2' }, { name: 'Fsync', state: { ballot: ballot(3, 'r1') } });
    tracks.add({ atMs: 3, frames: [{ type: 'events', events: [late] }] });
    tracks.add({ atMs: 4, frames: told(replica('r2', { ballot: ballot(0, ''), incarnation: 0 })) });
    tracks.add({ atMs: 5, frames: told(replica('r2', { ballot: ballot(3, 'r1'), incarnation: 2 })) });
    expect(tracks.spans.get('r2')?.map(({ fromMs, ballot: held }) => [fromMs, held?.round])).toEqual([
      [1, 3],
      [2, 0],
      [5, 3],
    ]);
    expect(tracks.flags.map(({ atMs, kind, text }) => [atMs, kind, text])).toEqual([
      [2, 'fault', 'r2 has lost its log'],
      [5, 'started', 'r2 is let in as r2.2'],
    ]);
  });

  test('flag what befell processes and links', () => {
    const tracks = new Tracks();
    const cut = {
      from: 'r1' as ReplicaId,
      to: 'r2' as ReplicaId,
      cut: true,
      delayMs: 0,
      drop: 0,
      duplicate: 0,
    };
    tracks.add({ atMs: 1, frames: told(replica('r1'), replica('r2')) });
    tracks.add({ atMs: 2, frames: told(replica('r1', { faults: [cut] }), replica('r2')) });
    tracks.add({ atMs: 3, frames: told(replica('r1'), replica('r2', {}, { process: 'stopped' })) });
    tracks.add({ atMs: 4, frames: told(replica('r1'), replica('r2')) });
    tracks.add({ atMs: 5, frames: told(replica('r1'), replica('r2', {}, { process: 'paused' })) });
    tracks.add({ atMs: 6, frames: told(replica('r1'), replica('r2')) });
    expect(tracks.flags.map(({ atMs, kind, text }) => [atMs, kind, text])).toEqual([
      [2, 'fault', 'r1 → r2: cut'],
      [3, 'stopped', 'r2 is down'],
      [3, 'healed', 'r1 → r2 whole again'],
      [4, 'started', 'r2 was started'],
      [5, 'paused', 'r2 is frozen'],
      [6, 'resumed', 'r2 goes on'],
    ]);
  });

  test('have nobody lead before it serves, by its status or by its events', () => {
    const tracks = new Tracks();
    const of = (state: 'recovering' | 'serving') =>
      told(replica('r1', { ballot: ballot(2, 'r1'), role: 'leader', state }));
    tracks.add({ atMs: 1, frames: told(replica('r1')) });
    const won = consensus(
      { seq: 1 },
      { name: 'BecomeLeader', state: { role: 'leader', ballot: ballot(2, 'r1'), serving: false } },
    );
    tracks.add({ atMs: 2, frames: [{ type: 'events', events: [won] }] });
    tracks.add({ atMs: 3, frames: of('recovering') });
    tracks.add({ atMs: 4, frames: of('serving') });
    expect(tracks.spans.get('r1')?.map(({ fromMs, isLeading }) => [fromMs, isLeading])).toEqual([
      [1, false],
      [2, false],
      [4, true],
    ]);
  });

  test('flag a fault that becomes another one, and none that stays', () => {
    const tracks = new Tracks();
    const link = { from: 'r1' as ReplicaId, to: 'r2' as ReplicaId, drop: 0, duplicate: 0 };
    for (const [atMs, fault] of [
      [1, { ...link, cut: false, delayMs: 200 }],
      [2, { ...link, cut: false, delayMs: 200 }],
      [3, { ...link, cut: true, delayMs: 0 }],
    ] as const)
      tracks.add({ atMs, frames: told(replica('r1', { faults: [fault] }), replica('r2')) });
    expect(tracks.flags.map(({ atMs, text }) => [atMs, text])).toEqual([
      [1, 'r1 → r2: delayed by 200 ms'],
      [3, 'r1 → r2: cut'],
    ]);
  });

  test('are bounded', () => {
    const tracks = new Tracks();
    for (let atMs = 1; atMs <= 4_000; atMs += 1)
      tracks.add({
        atMs,
        frames: told(replica('r1', { ballot: ballot(atMs, 'r1'), commitPoint: atMs as Slot })),
      });
    expect(tracks.spans.get('r1')).toHaveLength(tracksMax.spans);
    expect(tracks.positions.get('r1')).toHaveLength(tracksMax.positions);
    expect(tracks.positions.get('r1')?.at(-1)?.commitPoint).toBe(4_000);
  });
});

describe('the scale', () => {
  const place = { left: 50, right: 1_050 };
  const extent = { firstMs: 0, lastMs: 100_000 };

  test('shows no time before the run, but that a run of moments has room', () => {
    const place = { left: 0, right: 100 };
    expect(scaleOf({ firstMs: 0, lastMs: 25_000 }, 60_000, 25_000, place)).toMatchObject({
      fromMs: 0,
      toMs: 25_000,
    });
    expect(scaleOf({ firstMs: 0, lastMs: 500 }, 60_000, 500, place)).toMatchObject({
      fromMs: -9_500,
      toMs: 500,
    });
    expect(scaleOf({ firstMs: 0, lastMs: 90_000 }, 60_000, 90_000, place)).toMatchObject({ fromMs: 30_000 });
  });

  test('has the newest at the right, and what is looked at in view', () => {
    expect(scaleOf(extent, 10_000, 100_000, place)).toMatchObject({ fromMs: 90_000, toMs: 100_000 });
    for (const momentMs of [0, 1, 50_000, 89_999, 90_000, 95_000, 100_000]) {
      const scale = scaleOf(extent, 10_000, momentMs, place);
      expect(scale.toMs - scale.fromMs).toBe(10_000);
      expect(scale.fromMs <= momentMs && momentMs <= scale.toMs).toBe(true);
    }
  });

  test('goes from moments to pixels and back', () => {
    const scale = scaleOf(extent, 10_000, 100_000, place);
    expect([xOf(scale, 90_000), xOf(scale, 95_000), xOf(scale, 100_000)]).toEqual([50, 550, 1_050]);
    expect(msAt(scale, xOf(scale, 91_234))).toBeCloseTo(91_234);
  });

  test.each([
    ['live', { firstMs: 1_790_000_000_000, lastMs: 1_790_000_005_000 }, '−3 s'],
    ['file', { firstMs: 1_790_000_000_000, lastMs: 1_790_000_005_000 }, '+2 s'],
    ['file', { firstMs: 40_000, lastMs: 45_000 }, '+42 s'],
    ['simulated', { firstMs: 40_000, lastMs: 45_000 }, '+42 s'],
  ] as const)('times of a %s run of %o are told from what people know', (kind, extent, told) => {
    expect(spellOffset(extent.firstMs + 2_000 - zeroOf(kind, extent).zeroMs)).toBe(told);
  });

  test('has ticks far enough apart, told from zero', () => {
    const scale = scaleOf(extent, 60_000, 100_000, place);
    const ticks = ticksOf(scale, 100_000, 'now');
    expect(ticks.at(-1)).toEqual({ ms: 100_000, label: 'now' });
    expect(ticks.at(-2)?.label).toBe('−10 s');
    const xs = ticks.map(({ ms }) => xOf(scale, ms));
    for (const [index, x] of xs.slice(1).entries()) expect(x - xs[index]!).toBeGreaterThanOrEqual(80);
    expect([spellOffset(-200), spellOffset(3_500), spellOffset(-180_000)]).toEqual([
      '−200 ms',
      '+3.5 s',
      '−3 min',
    ]);
  });

  test('thins what lies on one another', () => {
    const scale = scaleOf(extent, 10_000, 100_000, place);
    const items = Array.from({ length: 1_000 }, (_, index) => ({ atMs: 90_000 + index }));
    expect(thinned(items, scale, 10).length).toBeLessThanOrEqual(11);
    expect(thinned([{ atMs: 1 }], scale, 10)).toEqual([]);
  });
});

describe('the space-time diagram', () => {
  const rows = rowsOf(['r1', 'r2', 'r3'], 0, 300);
  const view = { fromUs: 0, toUs: 100_000, left: 0, right: 1_000, rows };
  const flight = (changes: Partial<Flight>): Flight => ({
    number: 1,
    from: 'r1',
    to: 'r3',
    kind: 'accept',
    message: null,
    leftUs: 10_000,
    arrivedUs: 20_000,
    isLost: false,
    ...changes,
  });

  test('has arrows from the line where a message left to the one where it arrived', () => {
    expect([...rows.values()]).toEqual([50, 150, 250]);
    const [arrow] = arrowsOf([flight({})], view);
    expect([arrow?.start, arrow?.end]).toEqual([
      { x: 100, y: 50 },
      { x: 200, y: 250 },
    ]);
  });

  test('ends what is lost on its way', () => {
    const [arrow] = arrowsOf([flight({ arrivedUs: null, isLost: true })], view);
    expect(arrow!.end.y).toBe(150);
    expect(arrow!.isLost).toBe(true);
    expect(arrowsOf([flight({})], view)[0]!.isLost).toBe(false);
  });

  test('leaves out of too many every few, but none that is rare', () => {
    const many = Array.from({ length: 10_000 }, (_, number) => flight({ number }));
    const rare = flight({ number: -1, kind: 'promise' });
    const arrows = arrowsOf([...many, rare], view);
    expect(arrows.length).toBeLessThan(3_000);
    expect(arrows.at(-1)?.flight).toBe(rare);
  });

  test('finds the arrow under the pointer', () => {
    const arrows = arrowsOf([flight({}), flight({ leftUs: 60_000, arrivedUs: 70_000 })], view);
    expect(arrowAt(arrows, { x: 150, y: 150 })).toBe(arrows[0]);
    expect(arrowAt(arrows, { x: 400, y: 150 })).toBeNull();
  });
});
