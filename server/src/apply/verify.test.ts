/** Checks: the snapshot is taken when the database stands at exactly their slot, and writes do not wait for long. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import type { Entry, Slot } from '../multipaxos/types.ts';
import { createOrderedApply, type OrderedApply } from './ordered-apply.ts';
import { ArrayLog, check, group, leadership, start, transaction } from './testing/array-log.ts';
import { MemoryDatabase } from './testing/memory-database.ts';

const waitMs = 60;

let log: ArrayLog;
let database: MemoryDatabase;
/** What the database held when each snapshot was taken. */
let seen: string[];
let givenUp: string[];
let signals: AbortSignal[];
/** What taking a snapshot takes. */
let snapshot: () => Promise<void>;
let apply: OrderedApply;

beforeEach(() => {
  log = new ArrayLog();
  database = new MemoryDatabase();
  seen = [];
  givenUp = [];
  signals = [];
  snapshot = () => Promise.resolve();
  apply = createOrderedApply({
    log,
    commitPoint: 0 as Slot,
    onApplied: () => {},
    onEvent: () => {},
    onDiverged: (reason) => givenUp.push(`diverged: ${reason}`),
    onDatabaseDown: (error) => givenUp.push(`down: ${error.message}`),
    batchEntriesMax: 10,
    batchBytesMax: 1 << 20,
    queueEntriesMax: 10,
    verify: {
      waitMs,
      async onVerify(name, slot, signal) {
        signals.push(signal);
        await snapshot();
        const { applied, pointer } = database.contents;
        seen.push(`${name} at ${slot}, pointer ${pointer}: ${applied.join(' ')}`);
      },
      onVerifyGivenUp: (name, slot, reason) => givenUp.push(`${name} at ${slot}: ${reason}`),
    },
  });
});
afterEach(() => apply.stop());

const choose = (...entries: Entry[]): void => apply.chosen(log.append(entries));
const settled = (pointer: number) => vi.waitFor(() => expect(apply.pointer).toBe(pointer));
function commit(slot: number, name: string): void {
  database.commitSession(slot as Slot, name);
  apply.committed(slot as Slot);
}
const lead = async (): Promise<void> => {
  await apply.follow(database);
  choose(start);
  await settled(1);
  apply.lead(leadership);
};
/** Has it been cleared by now? */
const isClear = async (cleared: Promise<void> | null): Promise<boolean> =>
  cleared === null || Promise.race([cleared.then(() => true), Promise.resolve(false)]);

describe('a check while following', () => {
  it('sees everything below its slot and nothing above, though all came at once', async () => {
    await apply.follow(database);
    choose(start, transaction('a'), transaction('b'), check('c'), transaction('d'));
    await settled(5);
    expect(seen).toEqual(['c at 4, pointer 3: a#0 b#0']);
    expect(givenUp).toEqual([]);
  });

  it('that is the first thing chosen, or follows on another, is met as well', async () => {
    await apply.follow(database);
    choose(check('c'), check('d'), transaction('a'));
    await settled(3);
    expect(seen).toEqual(['c at 1, pointer 0: ', 'd at 2, pointer 1: ']);
  });

  it('whose snapshot takes too long is given up: it is told so, and the log is applied on', async () => {
    snapshot = () => new Promise(() => {});
    await apply.follow(database);
    choose(start, check('c'), transaction('a'));
    await settled(3);
    expect(givenUp).toEqual([`c at 2: the snapshot took longer than ${waitMs} ms`]);
    expect(signals.map(({ aborted }) => aborted)).toEqual([true]);
  });

  it('whose snapshot fails is given up with the reason', async () => {
    snapshot = () => Promise.reject(new Error('no room'));
    await apply.follow(database);
    choose(start, check('c'), transaction('a'));
    await settled(3);
    expect(givenUp).toEqual(['c at 2: no room']);
  });

  it('does not keep a replica from stopping, and is met again afterwards', async () => {
    snapshot = () => new Promise(() => {});
    await apply.follow(database);
    choose(start, check('c'));
    await vi.waitFor(() => expect(signals).toHaveLength(1));
    const begunMs = performance.now();
    await apply.stop();
    expect(performance.now() - begunMs).toBeLessThan(waitMs / 2);
    snapshot = () => Promise.resolve();
    await apply.follow(database);
    await settled(2);
    expect(seen).toHaveLength(1);
    expect(givenUp).toEqual([]);
  });

  it('is given up where sessions had committed above it before', async () => {
    await lead();
    choose(check('early'), transaction('a'), transaction('b'));
    await apply.clearToCommit(4 as Slot);
    await apply.foldPointer();
    seen = [];
    choose(check('c'), transaction('d'));
    // As if its signal had come too late: what was above the check is in, what was below is not.
    database.commitSession(4 as Slot, 'b');
    database.commitSession(6 as Slot, 'd');
    await apply.stop();
    await apply.follow(database);
    await settled(6);
    expect(seen).toEqual([]);
    expect(givenUp).toHaveLength(1);
    choose({ kind: 'leaderStart', group, ballot: { ...leadership, round: 2 } }, check('later'));
    await settled(8);
    expect(seen).toEqual(['later at 8, pointer 7: b d a#0']);
  });
});

describe('a check while leading', () => {
  it('waits for the commits below, and those above wait for it', async () => {
    await lead();
    choose(transaction('a'), transaction('b'), check('c'), transaction('d'));
    expect(await isClear(apply.clearToCommit(3 as Slot))).toBe(true);
    const above = apply.clearToCommit(5 as Slot);
    commit(3, 'b');
    expect(await isClear(above)).toBe(false);
    expect(seen).toEqual([]);
    commit(2, 'a');
    await above;
    commit(5, 'd');
    expect(seen).toEqual(['c at 4, pointer 1: b a']);
    expect(apply.pointer).toBe(5);
    expect(apply.clearToCommit(6 as Slot)).toBeNull();
  });

  it('is met at once where everything below is in', async () => {
    await lead();
    choose(check('c'), transaction('a'));
    await apply.clearToCommit(3 as Slot);
    expect(seen).toEqual(['c at 2, pointer 1: ']);
    expect(apply.pointer).toBe(2);
  });

  it('is given up after a while, for writes must go on', async () => {
    await lead();
    choose(transaction('slow'), check('c'), check('d'), transaction('a'));
    await apply.clearToCommit(5 as Slot);
    expect(givenUp.map((line) => line.slice(0, 6))).toEqual(['c at 3', 'd at 4']);
    commit(5, 'a');
    commit(2, 'slow');
    expect(apply.pointer).toBe(5);
    expect(seen).toEqual([]);
  });

  it('whose snapshot hangs lets the commits go, too', async () => {
    snapshot = () => new Promise(() => {});
    await lead();
    choose(check('c'), transaction('a'));
    await apply.clearToCommit(3 as Slot);
    expect(givenUp).toHaveLength(1);
    expect(signals[0]?.aborted).toBe(true);
  });

  it('is met from the log if leadership ends first, and nobody waits any more', async () => {
    await lead();
    choose(transaction('a'), check('c'), transaction('b'));
    const above = apply.clearToCommit(4 as Slot);
    const stopped = apply.stop();
    await above;
    await stopped;
    await apply.follow(database);
    await settled(4);
    expect(seen).toEqual(['c at 3, pointer 2: a#0']);
    expect(givenUp).toEqual([]);
  });
});
