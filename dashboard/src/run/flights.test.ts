import { describe, expect, test } from 'vitest';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { TraceMessage } from '../../../server/src/multipaxos/types/trace.ts';
import { ballot, consensus, other } from '../model/testing.ts';
import { FlightLog } from './flights.ts';

const accept = (firstSlot: number, round = 1): TraceMessage => ({
  kind: 'Accept',
  ballot: ballot(round, 'r1'),
  firstSlot: firstSlot as Slot,
  labels: ['a/1'],
});

/** In milliseconds of the events' clock, by the number. */
function sends(seq: number, to: string, message: TraceMessage, from = 'r1'): TraceEvent {
  return consensus({ seq, replica: from }, { name: 'Propose', sent: [{ to: to as ReplicaId, message }] });
}

function handles(seq: number, from: string, message: TraceMessage, at = 'r2'): TraceEvent {
  return consensus({ seq, replica: at }, { name: 'HandleAccept', from: from as ReplicaId, message });
}

const later = (seq: number): TraceEvent =>
  other({ seq, replica: 'r9' }, { layer: 'operation', name: 'ReplicaStarted', pid: 1 });

function flightsOf(...batches: readonly (readonly TraceEvent[])[]) {
  const log = new FlightLog();
  for (const batch of batches) log.add(batch);
  return log.kept.map(({ from, to, leftUs, arrivedUs, isLost }) => ({ from, to, leftUs, arrivedUs, isLost }));
}

describe('flights', () => {
  test('join both ends of a message, whichever is told first', () => {
    const joined = [{ from: 'r1', to: 'r2', leftUs: 5_000, arrivedUs: 6_000, isLost: false }];
    expect(flightsOf([sends(5, 'r2', accept(1)), handles(6, 'r1', accept(1))])).toEqual(joined);
    expect(flightsOf([handles(6, 'r1', accept(1))], [sends(5, 'r2', accept(1))])).toEqual(joined);
  });

  test('are of replicas, whatever their incarnation', () => {
    const [flight] = flightsOf([sends(5, 'r2.3', accept(1), 'r1.2'), handles(6, 'r1.2', accept(1), 'r2.3')]);
    expect(flight).toEqual({ from: 'r1', to: 'r2', leftUs: 5_000, arrivedUs: 6_000, isLost: false });
  });

  test('tell messages apart by ballot and slots', () => {
    const all = flightsOf([
      sends(1, 'r2', accept(1)),
      sends(2, 'r2', accept(1, 2)),
      sends(3, 'r2', accept(2)),
      handles(4, 'r1', accept(1, 2)),
    ]);
    expect(all.map(({ arrivedUs }) => arrivedUs)).toEqual([null, 4_000, null]);
  });

  test('arrive together where several are handled as one, whichever end is told first', () => {
    const three: TraceMessage = { ...accept(1), labels: ['a/1', 'a/2', 'a/3'] };
    const left = [sends(1, 'r2', accept(1)), sends(2, 'r2', accept(2)), sends(3, 'r2', accept(3))];
    const arrivals = (batches: readonly (readonly TraceEvent[])[]) =>
      flightsOf(...batches).map(({ leftUs, arrivedUs, isLost }) => [leftUs, arrivedUs, isLost]);
    const all = [1_000, 2_000, 3_000].map((leftUs) => [leftUs, 9_000, false]);
    expect(arrivals([left, [handles(9, 'r1', three)]])).toEqual(all);
    expect(arrivals([[handles(9, 'r1', three)], left])).toEqual(all);
    expect(arrivals([left.slice(0, 1), [handles(9, 'r1', three)], left.slice(1)])).toEqual(all);
  });

  test('are the last of those that were sent again', () => {
    const all = flightsOf([
      sends(1, 'r2', accept(1)),
      sends(500, 'r2', accept(1)),
      handles(502, 'r1', accept(1)),
      later(700),
    ]);
    expect(all.map(({ arrivedUs, isLost }) => [arrivedUs, isLost])).toEqual([
      [null, true],
      [502_000, false],
    ]);
  });

  test('are lost once one that left later has arrived', () => {
    const all = flightsOf([
      sends(1, 'r2', accept(1)),
      sends(2, 'r3', accept(1)),
      sends(3, 'r2', accept(2)),
      handles(5, 'r1', accept(2)),
      later(200),
    ]);
    expect(all.map(({ isLost }) => isLost)).toEqual([true, false, false]);
  });

  test('may be overtaken, and arrive', () => {
    const all = flightsOf(
      [sends(1, 'r2', accept(1)), sends(2, 'r2', accept(2)), handles(3, 'r1', accept(2))],
      [handles(40, 'r1', accept(1)), later(200)],
    );
    expect(all.map(({ arrivedUs, isLost }) => [arrivedUs, isLost])).toEqual([
      [40_000, false],
      [3_000, false],
    ]);
  });

  test('are lost when they take too long, but those whose arrival nobody tells of', () => {
    const heartbeat: TraceMessage = { kind: 'Heartbeat', ballot: ballot(1, 'r1') };
    const all = flightsOf(
      [sends(1, 'r2', accept(1)), sends(2, 'r2', heartbeat)],
      [other({ seq: 5_000 }, { layer: 'operation', name: 'ReplicaStarted', pid: 1 })],
    );
    expect(all.map(({ isLost }) => isLost)).toEqual([true, false]);
  });

  test('know heartbeats from the lease alone, and no message twice', () => {
    const told = { layer: 'lease', name: 'HandleHeartbeat', ballot: ballot(1, 'r1') };
    const all = flightsOf([
      other({ seq: 6, replica: 'r2' }, told),
      sends(5, 'r2', accept(1)),
      handles(6, 'r1', accept(1)),
      other({ seq: 60, replica: 'r2' }, told),
    ]);
    expect(all.map(({ leftUs, arrivedUs }) => [leftUs, arrivedUs])).toEqual([
      [5_000, 6_000],
      [null, 60_000],
    ]);
  });

  test('do not arrive before they leave, whichever end is told first', () => {
    const apart = [
      [null, 6_000],
      [10_000, null],
    ];
    const ends = (...batches: readonly (readonly TraceEvent[])[]) =>
      flightsOf(...batches)
        .map(({ leftUs, arrivedUs }) => [leftUs, arrivedUs])
        .sort((a, b) => (a[0] ?? 0) - (b[0] ?? 0));
    expect(ends([sends(10, 'r2', accept(1)), handles(6, 'r1', accept(1))])).toEqual(apart);
    expect(ends([handles(6, 'r1', accept(1))], [sends(10, 'r2', accept(1))])).toEqual(apart);
  });

  test('are not lost because another kind of message that left later has arrived', () => {
    const accepted: TraceMessage = { ...accept(1), kind: 'Accepted', lastSlot: 1 as Slot };
    const all = flightsOf([
      sends(1, 'r2', accept(1)),
      sends(2, 'r2', accepted),
      handles(3, 'r1', accepted),
      later(200),
    ]);
    expect(all.map(({ arrivedUs, isLost }) => [arrivedUs, isLost])).toEqual([
      [null, false],
      [3_000, false],
    ]);
  });

  test('of an acknowledgement come from who gives it, and not from who leads', () => {
    const told = { layer: 'lease', name: 'HandleHeartbeatAck', from: 'r2', ballot: ballot(1, 'r1') };
    const log = new FlightLog();
    log.add([other({ seq: 6, replica: 'r1' }, told)]);
    expect(log.kept).toMatchObject([{ from: 'r2', to: 'r1', kind: 'acknowledgement', arrivedUs: 6_000 }]);
  });

  test('are told of as well by what a replica of another protocol says that it sent and heard', () => {
    const learn = { kind: 'Learn', ballot: ballot(2, 'r1'), firstSlot: 7 };
    const passed = (seq: number, replica: string, heard: readonly object[], sent: readonly object[]) =>
      other({ seq, replica }, { layer: 'operation', name: 'MessagesPassed', heard, sent });
    const log = new FlightLog();
    log.add([
      passed(3, 'r2', [{ peer: 'r1', ...learn }], []),
      passed(1, 'r1', [], [{ peer: 'r2', ...learn }]),
    ]);
    log.add([passed(4, 'r3', [], [{ peer: 'r1', kind: 'Operations', ballot: ballot(1, 'r3') }])]);
    expect(log.kept).toMatchObject([
      { from: 'r1', to: 'r2', kind: 'heartbeat', leftUs: 1_000, arrivedUs: 3_000, message: learn },
      { from: 'r3', to: 'r1', kind: 'heartbeat', leftUs: 4_000, arrivedUs: null },
    ]);
  });

  test('are found by the time that they were on their way', () => {
    const log = new FlightLog();
    log.add([sends(10, 'r2', accept(1)), handles(30, 'r1', accept(1)), sends(40, 'r2', accept(2))]);
    const between = (from: number, to: number) =>
      log.between(from * 1000, to * 1000).map(({ message }) => message?.firstSlot);
    expect([between(0, 9), between(0, 10), between(15, 20), between(30, 40), between(41, 90)]).toEqual([
      [],
      [1],
      [1],
      [1, 2],
      [],
    ]);
  });

  test('are found though others that were told of later have long arrived', () => {
    const log = new FlightLog();
    log.add([
      sends(10, 'r2', accept(1)),
      sends(20, 'r3', accept(2)),
      handles(30, 'r1', accept(2), 'r3'),
      handles(1_000, 'r1', accept(1)),
    ]);
    expect(log.between(500_000, 600_000).map(({ to }) => to)).toEqual(['r2']);
  });

  test('are bounded, and the oldest go', () => {
    const log = new FlightLog({ flightsMax: 100, flyingUsMax: 1_000_000 });
    for (let seq = 1; seq <= 1_000; seq += 1) log.add([sends(seq, 'r2', accept(seq))]);
    expect(log.kept.length).toBeLessThanOrEqual(110);
    expect(log.kept.at(-1)?.message?.firstSlot).toBe(1_000);
  });
});
