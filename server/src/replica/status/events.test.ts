import { expect, it } from 'vitest';
import type { TraceEvent } from '../../api/events.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { Lsn } from '../../wal/lsn.ts';
import { ReplicaEvents } from './events.ts';

const replayed = {
  name: 'Replay',
  flushed: 1 as Lsn,
  replayed: 1 as Lsn,
  durable: 1 as Slot,
  applied: 1 as Slot,
} as const;
const looked = { name: 'RunningTransactions', transactions: [], more: 0 } as const;
const rare = { name: 'PeerLost', peer: 'r2' as ReplicaId } as const;

function listener() {
  const seen: TraceEvent[] = [];
  return {
    seen,
    names: () => seen.map(({ name }) => name),
    onEvent: (event: TraceEvent) => void seen.push(event),
  };
}

it('frequent events are for whoever asked for them, numbered without a gap for these', () => {
  const events = new ReplicaEvents('r1' as ReplicaId);
  const [some, all] = [listener(), listener()];
  events.subscribe(some.onEvent, 'rare');
  events.apply(replayed);
  const end = events.subscribe(all.onEvent, 'all');
  events.apply(replayed);
  events.operation(looked);
  events.operation(rare);
  end();
  events.apply(replayed);
  expect(all.seen.map(({ seq, name }) => [seq, name])).toEqual([
    [1, 'Replay'],
    [2, 'RunningTransactions'],
    [3, 'PeerLost'],
  ]);
  expect(some.names()).toEqual(['PeerLost']);
});

it('the first listener is given what happened before', () => {
  const events = new ReplicaEvents('r1' as ReplicaId);
  events.operation(rare);
  const [first, second] = [listener(), listener()];
  events.subscribe(first.onEvent, 'rare');
  events.subscribe(second.onEvent, 'rare');
  expect([first.names(), second.names()]).toEqual([['PeerLost'], []]);
});

it('nobody watches who only writes all events down', () => {
  const events = new ReplicaEvents('r1' as ReplicaId);
  const levels: string[] = [];
  events.onLevel((level) => levels.push(level));
  const endWriting = events.subscribe(() => undefined, 'all');
  expect(events.isWatched).toBe(false);
  const endWatching = events.subscribe(() => undefined, 'watching');
  expect(events.isWatched).toBe(true);
  endWatching();
  expect(events.isWatched).toBe(false);
  endWriting();
  expect(levels).toEqual(['rare', 'all', 'rare']);
});

const runRead = {
  name: 'RunRead',
  generation: 1,
  leadership: { round: 1, replica: 'r1' as ReplicaId },
} as const;

it('an event of the lease is stamped with the time at which its clock was read', () => {
  const events = new ReplicaEvents('r1' as ReplicaId);
  const all = listener();
  events.subscribe(all.onEvent, 'all');
  events.operation(rare);
  events.lease({ ...runRead, clockMs: 500 }, () => 1500);
  const [now, earlier] = all.seen;
  expect(now!.atUs - earlier!.atUs).toBeGreaterThan(900_000);
  expect(now!.atUs - earlier!.atUs).toBeLessThanOrEqual(1_000_000);
});

it('a process that is put aside between two clocks stamps an event of the lease with the right time', () => {
  let trueMs = 3000;
  let pausesMs = [20, 0, 40, 1, 0];
  const nowUs = (): number => {
    trueMs += pausesMs.shift() ?? 0;
    return trueMs * 1000;
  };
  const events = new ReplicaEvents('r1' as ReplicaId, { run: 'a', nowUs });
  const all = listener();
  events.subscribe(all.onEvent, 'all');
  // This clock is a second behind the other.
  const event = { ...runRead, clockMs: 1990 };
  events.lease(event, () => trueMs - 1000);
  expect(all.seen[0]!.atUs).toBe(2_990_000);
  pausesMs = [30, 20, 40, 60, 10, 0];
  events.lease(event, () => trueMs - 1000);
  // Never at rest: the shortest pause tells best, after five.
  expect(all.seen[1]!.atUs).toBe(3_000_000);
});
