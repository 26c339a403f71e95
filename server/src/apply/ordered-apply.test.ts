import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Entry, ReplicaId, Slot } from '../multipaxos/types.ts';
import { DatabaseError } from '../ports/database.ts';
import type { ApplyTraceEvent } from '../api/events.ts';
import { createOrderedApply, type OrderedApply } from './ordered-apply.ts';
import {
  ArrayLog,
  group,
  leadership,
  noop,
  part,
  smallBounds,
  start,
  transaction,
} from './testing/array-log.ts';
import { MemoryDatabase } from './testing/memory-database.ts';

describe('ordered apply', () => {
  let log: ArrayLog;
  let database: MemoryDatabase;
  let events: ApplyTraceEvent[];
  let reported: [number, number];
  let diverged: string[];
  let downs: DatabaseError[];
  let apply: OrderedApply;

  function create(commitPoint = 0): OrderedApply {
    return createOrderedApply({
      log,
      commitPoint: commitPoint as Slot,
      onApplied: (slot, durable) => (reported = [slot, durable]),
      onEvent: (event) => events.push(event),
      onDiverged: (reason) => diverged.push(reason),
      onDatabaseDown: (error) => downs.push(error),
      ...smallBounds,
    });
  }

  beforeEach(() => {
    log = new ArrayLog();
    database = new MemoryDatabase();
    events = [];
    diverged = [];
    downs = [];
    reported = [-1, -1];
    apply = create();
  });
  afterEach(() => apply.stop());

  const choose = (...entries: Entry[]): void => apply.chosen(log.append(entries));
  const settled = (pointer: number) => vi.waitFor(() => expect(apply.pointer).toBe(pointer));

  it('applies chosen entries in slot order, several to a transaction', async () => {
    await apply.follow(database);
    choose(start, transaction('a'), noop, transaction('b'), transaction('c'));
    await settled(5);
    expect(database.contents.applied).toEqual(['a#0', 'b#0', 'c#0']);
    expect(Math.max(...database.batches)).toBeGreaterThan(1);
    expect(reported[0]).toBe(5);
  });

  it('reads from the log what was chosen before it began or no longer fits its queue', async () => {
    log.entries.push(transaction('a'), transaction('b'));
    apply = create(2);
    choose(...Array.from({ length: 12 }, (_, index) => transaction(`t${index}`)));
    await apply.follow(database);
    await settled(14);
    expect(database.contents.applied).toHaveLength(14);
    expect(database.contents.applied[0]).toBe('a#0');
  });

  it('reports as durable only what was flushed', async () => {
    await apply.follow(database);
    choose(transaction('a'), transaction('b'));
    await settled(2);
    expect(reported).toEqual([2, 0]);
    await apply.flush();
    expect(reported).toEqual([2, 2]);
  });

  it('starts again from the pointer that a crash left, doing nothing twice', async () => {
    await apply.follow(database);
    choose(transaction('a'));
    await settled(1);
    await apply.flush();
    choose(transaction('b'));
    await settled(2);
    database.crash();
    await apply.follow(database);
    await settled(2);
    expect(database.contents.applied).toEqual(['a#0', 'b#0']);
  });

  it('leaves out what the sessions of a leader had committed above the pointer', async () => {
    log.entries.push(transaction('a'), transaction('b'), transaction('c'));
    database.commitSession(2 as Slot, 'b#0');
    apply = create(3);
    await apply.follow(database);
    await settled(3);
    expect(database.contents.applied).toEqual(['b#0', 'a#0', 'c#0']);
  });

  it('lets sessions commit out of order while leading, and folds only the gapless prefix', async () => {
    await apply.follow(database);
    choose(start);
    await settled(1);
    apply.lead(leadership);
    choose(transaction('a'), transaction('b'), noop);
    database.commitSession(3 as Slot, 'b');
    apply.committed(3 as Slot);
    expect(apply.pointer).toBe(1);
    await apply.foldPointer();
    expect(database.contents.pointer).toBe(1);
    database.commitSession(2 as Slot, 'a');
    apply.committed(2 as Slot);
    expect(apply.pointer).toBe(4);
    await apply.foldPointer();
    expect(database.contents.pointer).toBe(4);
    expect(database.contents).toMatchObject({ applied: ['b', 'a'], above: [] });
  });

  it('refuses to lead while something chosen is not applied', async () => {
    database.failNextApply = new DatabaseError('databaseDown', 'gone');
    await apply.follow(database);
    choose(transaction('a'));
    await vi.waitFor(() => expect(downs).toHaveLength(1));
    expect(() => apply.lead(leadership)).toThrow(/cannot lead/);
  });

  it('lets no session commit what is of an older leadership, and so in no other database', async () => {
    const older = { round: 0, replica: 'r2' as ReplicaId };
    await apply.follow(database);
    choose(start);
    await settled(1);
    apply.lead(leadership);
    choose(transaction('a'), transaction('b', { leadership: older }));
    expect(apply.clearToCommit(2 as Slot)).toBeNull();
    expect(() => apply.clearToCommit(3 as Slot)).toThrow(
      /transaction of slot 3 takes no effect on the other/,
    );
  });

  it('applies the parts of a large transaction together, when the last one comes', async () => {
    await apply.follow(database);
    choose(part('big', 0), transaction('small'), part('big', 1));
    await settled(3);
    expect(database.contents.applied).toEqual(['small#0']);
    await apply.flush();
    expect(reported).toEqual([3, 0]);
    choose(transaction('big', { part: 2, partSlots: [1, 3] }));
    await settled(4);
    expect(database.contents.applied).toEqual(['small#0', 'big#2']);
    await apply.flush();
    expect(reported).toEqual([4, 4]);
  });

  it('begins a batch with the last part of a large transaction, for a batch may be applied in bits', async () => {
    log.entries.push(
      start,
      part('big', 0),
      transaction('big', { part: 1, partSlots: [2] }),
      transaction('a'),
    );
    apply = create(4);
    const kept: [number, number][] = [];
    const inner = new MemoryDatabase();
    database.apply = (batch, keep) => {
      for (const { slot } of batch) kept.push([slot, Math.min(keep.keepFrom, slot + 1)]);
      return inner.apply(batch, keep);
    };
    await apply.follow(database);
    await settled(4);
    expect(kept).toEqual([
      [1, 2],
      [2, 2],
      [3, 4],
      [4, 5],
    ]);
  });

  it('needs no session and changes nothing for a transaction that was given up, and lets go of its parts', async () => {
    await apply.follow(database);
    choose(start, part('big', 0), transaction('big', { part: 1 }));
    await settled(3);
    apply.lead(leadership);
    choose(part('huge', 0), transaction('huge', { part: 1 }));
    expect(apply.pointer).toBe(5);
    await apply.foldPointer();
    await apply.flush();
    expect(reported).toEqual([5, 5]);
    expect(database.contents.applied).toEqual([]);
    expect(events.flatMap((event) => (event.name === 'ApplyBatch' ? event.applied : []))).toEqual([]);
  });

  it('remembers across a restart which parts are still waited for', async () => {
    await apply.follow(database);
    choose(part('big', 0), transaction('small'));
    await settled(2);
    await apply.flush();
    apply = create(2);
    await apply.follow(database);
    await apply.flush();
    expect(database.contents.keep.keepFrom).toBe(1);
    choose(transaction('other'));
    await settled(3);
    await apply.flush();
    expect(reported).toEqual([3, 0]);
  });

  it('does not let go of parts while a crash can still make it read them again', async () => {
    await apply.follow(database);
    choose(part('big', 0), transaction('small'));
    await settled(2);
    await apply.flush();
    choose(transaction('big', { part: 1, partSlots: [1] }));
    await settled(3);
    expect(reported).toEqual([3, 0]);
    database.crash();
    await apply.follow(database);
    await settled(3);
    expect(database.contents.applied).toEqual(['small#0', 'big#1']);
    await apply.flush();
    expect(reported).toEqual([3, 3]);
  });

  it('does not let go of parts while the session that commits them has not', async () => {
    await apply.follow(database);
    choose(start);
    await settled(1);
    apply.lead(leadership);
    choose(part('big', 0), transaction('big', { part: 1, partSlots: [2] }));
    expect(apply.pointer).toBe(2);
    await apply.foldPointer();
    await apply.flush();
    expect(database.contents).toMatchObject({ pointer: 2, keep: { keepFrom: 2 } });
    expect(reported).toEqual([2, 1]);
    expect(apply.awaitsSession(3 as Slot)).toBe(true);
    database.commitSession(3 as Slot, 'big#1');
    apply.committed(3 as Slot);
    expect(apply.awaitsSession(3 as Slot)).toBe(false);
    await apply.foldPointer();
    await apply.flush();
    expect(reported).toEqual([3, 3]);
  });

  it('stays stopped if it is told to stop while it asks for the pointer', async () => {
    const pointer = await database.applicationPointer();
    let answer: () => void = () => {};
    database.applicationPointer = () =>
      new Promise((resolve) => {
        answer = () => resolve(pointer);
      });
    choose(transaction('a'));
    const following = apply.follow(database);
    await Promise.resolve();
    const stopped = apply.stop();
    answer();
    await Promise.all([following, stopped]);
    await new Promise((resolve) => setTimeout(resolve, 5));
    expect(database.batches).toEqual([]);
  });

  it('applies nothing that it read before it was told to stop', async () => {
    let answer: () => void = () => {};
    const full = new ArrayLog();
    full.entries.push(transaction('a'), transaction('b'));
    log.read = (...range) =>
      new Promise((resolve) => {
        answer = () => resolve(full.read(...range));
      });
    apply = create(2);
    await apply.follow(database);
    const stopped = apply.stop();
    answer();
    await stopped;
    expect(database.batches).toEqual([]);
  });

  it('gives no effect to a transaction that stands above the beginning of a newer leader', async () => {
    const second = { round: 2, replica: 'r2' as ReplicaId };
    await apply.follow(database);
    choose(start, transaction('a'), { kind: 'leaderStart', group, ballot: second });
    choose(transaction('b', { leadership: second }), transaction('late'), part('part of late', 0));
    await settled(6);
    expect(database.contents.applied).toEqual(['a#0', 'b#0']);
    expect(database.contents.keep).toEqual({ keepFrom: 7, leadership: second, configuration: null });
    apply = create(6);
    await apply.follow(database);
    choose(transaction('later'));
    await settled(7);
    expect(database.contents.applied).toEqual(['a#0', 'b#0']);
  });

  it('stops for good when the database refuses an entry', async () => {
    database.failNextApply = new DatabaseError('applyFailed', 'slot 1: no such row');
    await apply.follow(database);
    choose(transaction('a'), transaction('b'));
    await vi.waitFor(() => expect(diverged).toEqual(['slot 1: no such row']));
    expect(database.contents.applied).toEqual([]);
  });
});
