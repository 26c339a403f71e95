/** Ordered apply when the members change, and when the database comes from another replica. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Entry, Member, ReplicaId, Slot } from '../multipaxos/types.ts';
import type { KeptWithPointer } from '../ports/database.ts';
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

const member: Member = {
  replica: 'r1' as ReplicaId,
  incarnation: 1,
  role: 'voter',
  nonce: 'n',
  address: { host: 'h', port: 1, pgwire: { host: 'h', port: 2 } },
};
const members = (version: number): Entry => ({
  kind: 'configuration',
  group,
  ballot: leadership,
  version,
  members: [member],
});

let log: ArrayLog;
let database: MemoryDatabase;
let reported: [number, number];
let trouble: string[];
let copies: string[];
let apply: OrderedApply;

function create(commitPoint = 0): OrderedApply {
  return createOrderedApply({
    log,
    commitPoint: commitPoint as Slot,
    onApplied: (slot, durable) => (reported = [slot, durable]),
    onEvent: () => {},
    onDiverged: (reason) => trouble.push(reason),
    onDatabaseDown: (error) => trouble.push(error.message),
    onCopyNeeded: (reason) => copies.push(reason),
    ...smallBounds,
  });
}

beforeEach(() => {
  log = new ArrayLog();
  database = new MemoryDatabase();
  trouble = [];
  copies = [];
  reported = [-1, -1];
  apply = create();
});
afterEach(async () => {
  await apply.stop();
  if (trouble.length > 0) throw new Error(trouble.join('; '));
});

const choose = (...entries: Entry[]): void => apply.chosen(log.append(entries));
const settled = (pointer: number) => vi.waitFor(() => expect(apply.pointer).toBe(pointer));
const kept = (): unknown => {
  const { configuration } = database.contents.keep;
  return configuration === null ? null : [configuration.version, configuration.slot];
};

describe('configurations', () => {
  it('are no transactions, and the newest is stored with the pointer', async () => {
    await apply.follow(database);
    choose(start, members(2), transaction('a'), members(3), noop);
    await settled(5);
    expect(database.contents.applied).toEqual(['a#0']);
    expect(database.contents.keep.configuration).toEqual({ version: 3, slot: 4, members: [member] });
  });

  it('while leading, one above the pointer is not stored before the pointer has passed it', async () => {
    await apply.follow(database);
    choose(start, members(2));
    await settled(2);
    apply.lead(leadership);
    choose(transaction('a'), transaction('b'), members(3), noop);
    database.commitSession(3 as Slot, 'a');
    apply.committed(3 as Slot);
    await apply.foldPointer();
    expect([database.contents.pointer, kept()]).toEqual([3, [2, 2]]);
    database.commitSession(4 as Slot, 'b');
    apply.committed(4 as Slot);
    await apply.foldPointer();
    expect([database.contents.pointer, kept()]).toEqual([6, [3, 5]]);
  });

  it('is still known after a restart that finds no newer one in the log', async () => {
    await apply.follow(database);
    choose(start, members(2));
    await settled(2);
    await apply.flush();
    log.purgedTo = 2;
    apply = create(2);
    await apply.follow(database);
    choose(noop);
    await settled(3);
    expect(kept()).toEqual([2, 2]);
  });
});

describe('a database copied from another replica', () => {
  const keep: KeptWithPointer = {
    keepFrom: 101 as Slot,
    leadership,
    configuration: { version: 7, slot: 90 as Slot, members: [member] },
  };
  const copyAt = (pointer: number, more: Partial<KeptWithPointer> = {}): void => {
    database.contents = { pointer: pointer as Slot, above: [], keep: { ...keep, ...more }, applied: ['x'] };
  };
  /** The log goes on behind `slot`. */
  const goOnFrom = (slot: number): void => {
    while (log.entries.length < slot) log.entries.push(noop);
    log.purgedTo = slot;
  };

  it('goes on behind its pointer, though the log below is gone', async () => {
    choose(start, transaction('old'));
    await apply.follow(database);
    await settled(2);
    await apply.stop();
    copyAt(100);
    goOnFrom(100);
    await apply.follow(database);
    expect(apply.pointer).toBe(100);
    choose(transaction('a'), transaction('b'));
    await settled(102);
    expect(database.contents.applied).toEqual(['x', 'a#0', 'b#0']);
    expect(kept()).toEqual([7, 90]);
    await apply.flush();
    expect(reported).toEqual([102, 102]);
    expect(copies).toEqual([]);
  });

  it('needs what the database before it did not need any more', async () => {
    choose(start, noop, noop, noop);
    await apply.follow(database);
    await settled(4);
    await apply.flush();
    expect(reported).toEqual([4, 4]);
    await apply.stop();
    copyAt(2, { keepFrom: 2 as Slot });
    await apply.follow(database);
    await settled(4);
    expect(reported).toEqual([4, 1]);
  });

  it('is not spoken for by what the database before it did last', async () => {
    choose(start, noop);
    await apply.follow(database);
    await settled(2);
    reported = [-1, -1];
    const flushing = apply.flush();
    const stopping = apply.stop();
    await Promise.all([flushing, stopping]);
    expect(reported).toEqual([-1, -1]);
  });

  it('lets the replica lead at once if nothing more is chosen', async () => {
    copyAt(100);
    goOnFrom(100);
    await apply.follow(database);
    apply.lead(leadership);
    choose(transaction('a'));
    database.commitSession(101 as Slot, 'a');
    apply.committed(101 as Slot);
    expect(apply.pointer).toBe(101);
  });

  it('that knows another leadership than the one to be led under, newer or older, is not led under it', async () => {
    const other = (round: number) => ({ round, replica: 'r2' as ReplicaId });
    for (const known of [other(5), other(0)]) {
      copyAt(100, { leadership: known });
      goOnFrom(100);
      await apply.follow(database);
      expect(() => apply.lead(leadership)).toThrow(
        `cannot lead in ballot 1.r1: the newest leader in the data is that of ${known.round}.r2`,
      );
      expect(apply.awaitsSession(101 as Slot)).toBe(false);
    }
  });

  it('passes over what the log learns late and the database has long since', async () => {
    copyAt(100);
    await apply.follow(database);
    choose(start, transaction('old'));
    expect(apply.pointer).toBe(100);
    expect(database.contents.applied).toEqual(['x']);
  });

  it('keeps the log from the first part that it waits for, once that has come by catch-up', async () => {
    copyAt(100, { keepFrom: 99 as Slot });
    goOnFrom(98);
    await apply.follow(database);
    choose(part('big', 0), noop, transaction('small'));
    await settled(101);
    await apply.flush();
    expect(database.contents.keep.keepFrom).toBe(99);
    expect(reported).toEqual([101, 98]);
    choose(transaction('big', { part: 1, partSlots: [99] }));
    await settled(102);
    await apply.flush();
    expect(database.contents.applied).toEqual(['x', 'small#0', 'big#1']);
    expect(reported).toEqual([102, 102]);
  });

  it('asks for another copy when parts that it needs are gone', async () => {
    copyAt(100, { keepFrom: 99 as Slot });
    goOnFrom(100);
    await apply.follow(database);
    choose(transaction('small'), transaction('big', { part: 1, partSlots: [99] }));
    await vi.waitFor(() => expect(copies).toEqual(['a part of big is missing from the log: slot 99']));
    expect(database.contents).toMatchObject({ pointer: 101, keep: { keepFrom: 99 } });
  });

  it('asks for a copy when the log begins above its pointer', async () => {
    copyAt(100);
    goOnFrom(110);
    await apply.follow(database);
    choose(transaction('later'));
    await vi.waitFor(() => expect(copies).toEqual(['slot 101 is chosen but missing from the log']));
  });
});
