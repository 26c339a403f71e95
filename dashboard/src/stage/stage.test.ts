import { describe, expect, test } from 'vitest';
import type { FaultRequest, LinkFault } from '../../../server/src/api/status.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { faultsByLink } from '../model/cluster-view.ts';
import { ballot, clusterOf, replica } from '../model/testing.ts';
import type { Flight } from '../run/flights.ts';
import { undoOf, wholeRequests } from './acts.ts';
import { dotAt, dotsOf } from './dots.ts';
import { curveOf, linkAt, linksOf, nodeAt, pointOn } from './links.ts';
import { isAway, placesOf, regionAt, scaleThatFits, sidesOf } from './places.ts';
import { movedTo, partingRequests, type Regions, regionsOf } from './regions.ts';

const named = (count: number) => Array.from({ length: count }, (_, index) => `r${index + 1}`);

function cutting(...pairs: readonly (readonly [string, string])[]): ReadonlyMap<string, LinkFault> {
  return new Map(
    pairs.map(([from, to]) => [
      `${from}>${to}`,
      { from: from as ReplicaId, to: to as ReplicaId, cut: true, delayMs: 0, drop: 0, duplicate: 0 },
    ]),
  );
}

const sizes = [
  { width: 1408, height: 640 },
  { width: 1888, height: 820 },
  { width: 992, height: 520 },
  { width: 768, height: 640 },
];

test.each([
  [{ width: 1440, height: 600 }, 1.5],
  [{ width: 655, height: 450 }, 1.5],
  // A phone with a scenario under the stage, and on its side.
  [{ width: 390, height: 270 }, 1],
  [{ width: 540, height: 242 }, 1],
])('a stage of %o is drawn larger only where its replicas then stand apart', (size, expected) => {
  const scale = scaleThatFits(1.5, size);
  expect(scale).toBe(expected);
  const { nodes, radius } = placesOf([['r1', 'r2', 'r3']], {
    width: size.width / scale,
    height: size.height / scale,
  });
  const at = [...nodes.values()];
  const apart = at.flatMap((one) =>
    at.filter((other) => other !== one).map((other) => Math.hypot(one.x - other.x, one.y - other.y)),
  );
  expect(Math.min(...apart)).toBeGreaterThan(radius * 2);
});

describe('regions', () => {
  test('are replicas that reach each other, if only through others', () => {
    const ids = named(3);
    expect(regionsOf(ids, new Map())).toEqual([ids]);
    expect(regionsOf(ids, cutting(['r1', 'r2'], ['r2', 'r1']))).toEqual([ids]);
    expect(regionsOf(ids, cutting(['r1', 'r2'], ['r1', 'r3'], ['r2', 'r1'], ['r3', 'r1']))).toEqual([
      ['r1'],
      ['r2', 'r3'],
    ]);
    expect(regionsOf(['r1', 'r2'], cutting(['r1', 'r2']))).toEqual([['r1', 'r2']]);
  });

  test('come about by what is asked for them, and only what changes is asked', () => {
    const ids = named(5);
    const wanted: Regions = [
      ['r1', 'r4'],
      ['r2', 'r3', 'r5'],
    ];
    const asked = partingRequests(wanted, new Map());
    expect(asked).toHaveLength(12);
    const cuts = asked.map((request) => {
      if (request.action !== 'cut') throw new Error('only cuts are asked for');
      return [request.from, request.to] as const;
    });
    const faults = cutting(...cuts);
    expect(regionsOf(ids, faults)).toEqual(wanted);
    expect(partingRequests(wanted, faults)).toEqual([]);
    const back = partingRequests([ids], faults);
    expect(back).toHaveLength(12);
    expect(back.every((request) => request.action === 'cut' && request.amount === 0)).toBe(true);
  });

  test('gain and lose whoever goes over', () => {
    const parted: Regions = [['r1'], ['r2', 'r3']];
    expect(movedTo(parted, 'r3', 0)).toEqual([['r1', 'r3'], ['r2']]);
    expect(movedTo(parted, 'r1', 1)).toEqual([['r2', 'r3', 'r1']]);
    expect(movedTo([named(3)], 'r2', null)).toEqual([['r1', 'r3'], ['r2']]);
  });
});

describe('places', () => {
  test('keep all replicas on the stage and apart, up to nine of them, whole or parted', () => {
    for (const size of sizes)
      for (let count = 2; count <= 9; count += 1)
        for (const regions of [[named(count)], [named(count).slice(0, 1), named(count).slice(1)]]) {
          const { nodes, radius } = placesOf(regions, size);
          const all = [...nodes.values()];
          expect(all).toHaveLength(count);
          for (const [index, { x, y }] of all.entries()) {
            expect(x - radius).toBeGreaterThanOrEqual(0);
            expect(x + radius).toBeLessThanOrEqual(size.width);
            expect(y - radius).toBeGreaterThanOrEqual(0);
            expect(y + radius + 50).toBeLessThanOrEqual(size.height);
            for (const other of all.slice(index + 1))
              expect(Math.hypot(other.x - x, other.y - y)).toBeGreaterThan(radius * 2);
          }
        }
  });

  test('put regions side by side, and know which one a point is in', () => {
    const places = placesOf([['r1'], ['r2', 'r3']], sizes[0]!);
    for (const [index, ids] of [['r1'], ['r2', 'r3']].entries())
      for (const id of ids) expect(regionAt(places, places.nodes.get(id)!)).toBe(index);
    expect(regionAt(places, { x: -50, y: 0 })).toBe(0);
    expect(regionAt(places, { x: 99_999, y: 0 })).toBe(1);
  });

  test('are divided by a line, unless all lie on one side', () => {
    const { nodes } = placesOf([named(3)], sizes[0]!);
    const below = nodes.get('r1')!.y + 100;
    expect(sidesOf(nodes, { x: 0, y: below }, { x: 500, y: below })).toEqual([['r1'], ['r2', 'r3']]);
    expect(sidesOf(nodes, { x: 0, y: 0 }, { x: 500, y: 0 })).toBeNull();
  });

  test('are left by who is dragged far enough', () => {
    const places = placesOf([named(3)], sizes[0]!);
    const at = places.nodes.get('r2')!;
    expect(isAway(at, { x: at.x + places.radius, y: at.y }, places)).toBe(false);
    expect(isAway(at, { x: at.x + places.radius * 4, y: at.y }, places)).toBe(true);
  });
});

describe('links', () => {
  const places = placesOf([named(5)], sizes[0]!);

  test('go each its own way, outside of the discs', () => {
    for (const { from, to } of linksOf(named(5))) {
      const [a, b] = [places.nodes.get(from)!, places.nodes.get(to)!];
      const there = curveOf(a, b, places.radius);
      const back = curveOf(b, a, places.radius);
      expect(Math.hypot(there.start.x - a.x, there.start.y - a.y)).toBeGreaterThan(places.radius);
      expect(Math.hypot(there.end.x - b.x, there.end.y - b.y)).toBeGreaterThan(places.radius);
      const [here, across] = [pointOn(there, 0.5).at, pointOn(back, 0.5).at];
      expect(Math.hypot(here.x - across.x, here.y - across.y)).toBeGreaterThan(12);
    }
  });

  test('are the nearest of those that are within reach of the pointer', () => {
    for (const { from, to } of linksOf(named(5))) {
      const curve = curveOf(places.nodes.get(from)!, places.nodes.get(to)!, places.radius);
      for (const share of [0, 0.25, 0.5, 0.75, 1])
        expect(linkAt(named(5), places, pointOn(curve, share).at)).toEqual({ from, to });
    }
  });

  test('are found under the pointer, and replicas too', () => {
    const curve = curveOf(places.nodes.get('r2')!, places.nodes.get('r3')!, places.radius);
    expect(linkAt(named(5), places, pointOn(curve, 0.4).at)).toEqual({ from: 'r2', to: 'r3' });
    expect(linkAt(named(5), places, { x: 2, y: 2 })).toBeNull();
    expect(nodeAt(places, places.nodes.get('r4')!)).toBe('r4');
    expect(nodeAt(places, { x: 2, y: 2 })).toBeNull();
  });
});

describe('dots', () => {
  const places = placesOf([named(3)], sizes[0]!);
  const flight = (changes: Partial<Flight>): Flight => ({
    number: 1,
    from: 'r1',
    to: 'r2',
    kind: 'accept',
    message: { kind: 'Accept', ballot: ballot(1, 'r1') },
    leftUs: 0,
    arrivedUs: 1_000,
    isLost: false,
    ...changes,
  });
  const at = (atUs: number, ...flights: readonly Flight[]) =>
    dotsOf(flights, places, { atUs, shownUs: 100_000, faults: new Map() });

  test('are on their way for long enough to be seen, and then gone', () => {
    const from = places.nodes.get('r1')!;
    const way = [0, 25_000, 50_000, 100_000].map((us) => {
      const [dot] = at(us, flight({}));
      return Math.hypot(dot!.at.x - from.x, dot!.at.y - from.y);
    });
    expect(way).toEqual(way.toSorted((a, b) => a - b));
    expect(new Set(way).size).toBe(4);
    expect(at(100_001, flight({}))).toEqual([]);
    expect(at(150_000, flight({ arrivedUs: 300_000 }))).toHaveLength(1);
  });

  test('stand for all that left together on a link', () => {
    const many = [0, 100, 200, 300].map((leftUs) => flight({ leftUs }));
    expect(at(10_000, ...many).map(({ count }) => count)).toEqual([4]);
    expect(at(10_000, ...many, flight({ to: 'r3' }), flight({ kind: 'accepted' }))).toHaveLength(3);
  });

  test('of what is lost, or flies over a link that is cut, end on the way', () => {
    const [lost] = at(99_000, flight({ arrivedUs: null, isLost: true }));
    const [whole] = at(99_000, flight({}));
    const to = places.nodes.get('r2')!;
    const left = (dot: typeof lost) => Math.hypot(dot!.at.x - to.x, dot!.at.y - to.y);
    expect(left(lost)).toBeGreaterThan(left(whole) + 100);
    expect([lost!.fading > 0.9, whole!.fading]).toEqual([true, 0]);
    const faults = cutting(['r1', 'r2']);
    const [cut] = dotsOf([flight({ arrivedUs: null })], places, { atUs: 99_000, shownUs: 100_000, faults });
    expect(cut!.fading).toBeGreaterThan(0.9);
  });

  test('are found under the pointer', () => {
    const dots = at(50_000, flight({}), flight({ to: 'r3' }));
    expect(dotAt(dots, dots[1]!.at)).toBe(dots[1]);
    expect(dotAt(dots, { x: 1, y: 1 })).toBeNull();
  });
});

describe('acts', () => {
  const r2 = 'r2' as ReplicaId;
  const ends = { from: 'r1' as ReplicaId, to: r2 };
  const delayed: LinkFault = { ...ends, cut: false, delayMs: 200, drop: 0, duplicate: 0 };

  test('are undone to what was before', () => {
    const cluster = clusterOf(replica('r1', { faults: [delayed] }), replica('r2'), replica('r3'));
    const undo = (request: FaultRequest) => undoOf(request, cluster);
    expect(undo({ action: 'crash', replica: r2 })).toEqual([{ action: 'restart', replica: 'r2' }]);
    expect(undo({ action: 'pause', replica: r2 })).toEqual([{ action: 'resume', replica: 'r2' }]);
    expect(undo({ action: 'wipe', replica: r2, what: 'both' })).toBeNull();
    expect(undo({ action: 'delay', ...ends, amount: 1000 })).toEqual([
      { action: 'delay', ...ends, amount: 200 },
    ]);
    expect(undo({ action: 'cut', ...ends })).toEqual([{ action: 'cut', ...ends, amount: 0 }]);
    expect(undo({ action: 'heal' })).toEqual([{ action: 'delay', ...ends, amount: 200 }]);
    expect(undo({ action: 'isolate', replica: r2 })).toHaveLength(4);
  });

  test('make everything whole: links, what is down, what is frozen', () => {
    const cluster = clusterOf(
      replica('r1', { faults: [delayed] }),
      replica('r2', {}, { process: 'stopped' }),
      replica('r3', {}, { process: 'paused' }),
    );
    expect(wholeRequests(cluster)).toEqual([
      { action: 'heal' },
      { action: 'restart', replica: 'r2' },
      { action: 'resume', replica: 'r3' },
    ]);
    expect(faultsByLink(cluster).size).toBe(1);
    expect(wholeRequests(clusterOf(replica('r1'), replica('r2')))).toEqual([]);
  });
});
