/**
 * What every log store must do, as one suite that each adapter runs against itself.
 *
 * An adapter's test calls `describeLogStore` with a way to create a log, to open it, also after a crash, and to make it full.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Configuration, Member } from '../../multipaxos/types/members.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { LogRecord } from '../../multipaxos/types/records.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import type { LogStore, NewLog } from '../log-store.ts';

/** One log on one (perhaps simulated) disk. */
export interface LogStoreFixture {
  create(newLog: NewLog): Promise<LogStore>;
  open(): Promise<LogStore>;
  /** The process that has the log open dies without closing it. The old store must not be used afterwards. */
  crash(): Promise<void>;
  /** From now on there is no space, or there is again. */
  setFull(full: boolean): void | Promise<void>;
  dispose(): Promise<void>;
}

export const group = 'g1' as GroupId;

export function slotOf(slot: number): Slot {
  return slot as Slot;
}

export function ballotOf(round: number, replica = 'r1'): Ballot {
  return { round, replica: replica as ReplicaId };
}

export function commandOf(request: number, payload: Uint8Array = new Uint8Array([request % 256])): Entry {
  return { kind: 'command', group, proposal: { client: 'client/ü', request }, payload };
}

export function voteOf(slot: number, round = 1, entry: Entry = commandOf(slot)): LogRecord {
  return { kind: 'vote', slot: slotOf(slot), ballot: ballotOf(round), entry };
}

function memberOf(replica: string, incarnation: number, role: Member['role']): Member {
  const address = { host: `${replica}.example`, port: 7432, pgwire: { host: '::1', port: 5432 } };
  return { replica: replica as ReplicaId, incarnation, role, nonce: `nonce ü of ${replica}`, address };
}

export const members: readonly Member[] = [
  memberOf('r1', 1, 'voter'),
  memberOf('r2', 12, 'voter'),
  memberOf('r3', 0, 'learner'),
];

export function configurationOf(version: number, slot = version * 10): Configuration {
  return { version, slot: slotOf(slot), members: members.slice(0, (version % members.length) + 1) };
}

export function newLogOf(base = 0, promised = ballotNone): NewLog {
  const identity = { cluster: 'cluster-7f', member: 'r2.12' as ReplicaId };
  return { identity, configuration: configurationOf(1, 0), base: slotOf(base), promised };
}

/** Entries with their payloads as arrays, so that a Buffer equals a Uint8Array. */
export function plain(entries: readonly Entry[]): unknown[] {
  return entries.map((entry) =>
    entry.kind === 'command' ? { ...entry, payload: [...entry.payload] } : entry,
  );
}

const everything = [slotOf(1), slotOf(1_000_000), Number.MAX_SAFE_INTEGER] as const;

export function describeLogStore(name: string, makeFixture: () => Promise<LogStoreFixture>): void {
  describe(`log store contract: ${name}`, () => {
    let fixture: LogStoreFixture;
    let store: LogStore;
    beforeEach(async () => {
      fixture = await makeFixture();
      store = await fixture.create(newLogOf());
    });
    afterEach(async () => {
      await store.close();
      await fixture.dispose();
    });
    const crashAndReopen = async (): Promise<void> => {
      await fixture.crash();
      store = await fixture.open();
    };
    const closeAndReopen = async (): Promise<void> => {
      await store.close();
      store = await fixture.open();
    };

    it('a new log remembers whose it is and what it was created with, and nothing else', async () => {
      const expectNew = (): void => {
        expect(store.identity).toEqual(newLogOf().identity);
        expect(store.recovered).toEqual({
          promised: { round: 0, replica: '' },
          commitPoint: 0,
          purgedTo: 0,
          configuration: newLogOf().configuration,
          tail: [],
        });
      };
      expectNew();
      await crashAndReopen();
      expectNew();
    });

    it('a log can begin above a base: all at or below counts as chosen and is missing', async () => {
      await store.close();
      await fixture.dispose();
      fixture = await makeFixture();
      store = await fixture.create(newLogOf(70));
      for (const reopen of [async () => undefined, crashAndReopen]) {
        await reopen();
        expect(store.recovered).toMatchObject({ commitPoint: 70, purgedTo: 70, tail: [] });
        expect(store.stats().purgedTo).toBe(70);
      }
      await store.append([voteOf(70), voteOf(71)]);
      expect(await store.read(slotOf(70), slotOf(71), 1e6)).toEqual([]);
      await crashAndReopen();
      expect(store.recovered.tail.map((kept) => kept.slot)).toEqual([71]);
    });

    it('a log can begin with a promise, which holds from its first moment on and is never lowered', async () => {
      await store.close();
      await fixture.dispose();
      fixture = await makeFixture();
      const promised = ballotOf(5, 'r2');
      store = await fixture.create(newLogOf(11, promised));
      expect(store.recovered).toMatchObject({ promised, commitPoint: 11, purgedTo: 11, tail: [] });
      for (const ballot of [ballotOf(4, 'r3'), ballotOf(5, 'r1')]) {
        await crashAndReopen();
        expect(store.recovered.promised).toEqual(promised);
        await store.append([{ kind: 'promise', ballot }]);
      }
      await store.append([voteOf(12, 6)]);
      await crashAndReopen();
      expect(store.recovered.promised).toEqual(ballotOf(6));
    });

    it('what is not there cannot be opened, and what is there cannot be created', async () => {
      await store.append([{ kind: 'promise', ballot: ballotOf(4) }]);
      await store.close();
      const again = fixture.create({ ...newLogOf(5), configuration: configurationOf(9) });
      await expect(again).rejects.toMatchObject({ name: 'LogStoreError', code: 'logExists' });
      store = await fixture.open();
      expect(store.recovered).toMatchObject({ promised: ballotOf(4), purgedTo: 0 });
      expect(store.recovered.configuration).toEqual(newLogOf().configuration);
      const empty = await makeFixture();
      await expect(empty.open()).rejects.toMatchObject({ name: 'LogStoreError', code: 'logMissing' });
      await empty.dispose();
    });

    it('the newest configuration that was recorded is recovered, also when it came with a base', async () => {
      for (const version of [2, 4, 3]) {
        await store.append([{ kind: 'configuration', configuration: configurationOf(version) }]);
      }
      await crashAndReopen();
      expect(store.recovered.configuration).toEqual(configurationOf(4));
      await store.append([{ kind: 'base', slot: slotOf(3), configuration: configurationOf(2) }]);
      await crashAndReopen();
      expect(store.recovered.configuration).toEqual(configurationOf(4));
      await store.append([{ kind: 'base', slot: slotOf(60), configuration: configurationOf(6) }]);
      await closeAndReopen();
      expect(store.recovered.configuration).toEqual(configurationOf(6));
      expect(store.identity).toEqual(newLogOf().identity);
    });

    it('a base forgets what is at or below it, durably and at once, and keeps what is above', async () => {
      await store.append([{ kind: 'promise', ballot: ballotOf(9, 'r3') }]);
      await store.append([1, 2, 3, 4, 6].map((slot) => voteOf(slot)));
      await store.append([{ kind: 'base', slot: slotOf(3), configuration: configurationOf(2) }]);
      const expectBase = async (): Promise<void> => {
        expect(store.stats().purgedTo).toBe(3);
        expect(await store.read(slotOf(3), slotOf(9), 1e6)).toEqual([]);
        expect(plain(await store.read(slotOf(4), slotOf(9), 1e6))).toEqual(plain([commandOf(4)]));
      };
      await expectBase();
      await crashAndReopen();
      expect(store.recovered).toMatchObject({ promised: ballotOf(9, 'r3'), commitPoint: 3, purgedTo: 3 });
      expect(store.recovered.tail.map((kept) => kept.slot)).toEqual([4, 6]);
      await expectBase();
      await store.append([voteOf(3), voteOf(5)]);
      expect(await store.read(slotOf(3), slotOf(9), 1e6)).toEqual([]);
      expect(await store.read(slotOf(4), slotOf(9), 1e6)).toHaveLength(3);
    });

    it('a base beyond all that the log has leaves an empty log that goes on above it', async () => {
      await store.append([voteOf(1, 3), { kind: 'commitPoint', slot: slotOf(1) }]);
      await store.append([{ kind: 'base', slot: slotOf(5000), configuration: configurationOf(2) }]);
      await store.append([voteOf(5001)]);
      await crashAndReopen();
      expect(store.recovered).toMatchObject({ promised: ballotOf(3), commitPoint: 5000, purgedTo: 5000 });
      expect(store.recovered.tail.map((kept) => kept.slot)).toEqual([5001]);
    });

    it('a base never goes back', async () => {
      await store.append([{ kind: 'base', slot: slotOf(50), configuration: configurationOf(2) }]);
      await store.append([{ kind: 'base', slot: slotOf(20), configuration: configurationOf(2) }]);
      await store.append([{ kind: 'commitPoint', slot: slotOf(30) }]);
      await crashAndReopen();
      expect(store.recovered).toMatchObject({ commitPoint: 50, purgedTo: 50 });
    });

    it('the configuration outlives the purge of what it was recorded with', async () => {
      await store.append([{ kind: 'configuration', configuration: configurationOf(5, 1) }]);
      for (let slot = 1; slot <= 60; slot++)
        await store.append([voteOf(slot, 1, commandOf(slot, new Uint8Array(2000)))]);
      await store.purge(slotOf(60));
      await crashAndReopen();
      expect(store.recovered.purgedTo).toBeGreaterThan(0);
      expect(store.recovered.configuration).toEqual(configurationOf(5, 1));
      expect(store.identity).toEqual(newLogOf().identity);
    });

    it('every kind of record and entry comes back as it was, after a close and after a crash', async () => {
      const entries: Entry[] = [
        { kind: 'noop', group },
        { kind: 'leaderStart', group, ballot: ballotOf(7, 'réplica') },
        { kind: 'configuration', group, ballot: ballotOf(7, 'r2.12'), version: 3, members },
        commandOf(3, new Uint8Array(0)),
        commandOf(
          2 ** 52,
          Uint8Array.from({ length: 70_000 }, (_, i) => i % 251),
        ),
      ];
      await store.append([{ kind: 'promise', ballot: ballotOf(6, 'r9') }]);
      await store.append(entries.map((entry, i) => voteOf(i + 1, 7, entry)));
      await store.append([{ kind: 'chosen', slot: slotOf(6), entry: commandOf(6) }]);
      for (const reopen of [closeAndReopen, crashAndReopen]) {
        await reopen();
        expect(store.recovered.promised).toEqual(ballotOf(7));
        expect(store.recovered.tail.map((kept) => [kept.slot, kept.ballot])).toEqual([
          ...[1, 2, 3, 4, 5].map((slot) => [slot, ballotOf(7)]),
          [6, null],
        ]);
        const expected = plain([...entries, commandOf(6)]);
        expect(plain(store.recovered.tail.map((kept) => kept.entry))).toEqual(expected);
        expect(plain(await store.read(...everything))).toEqual(expected);
      }
    });

    it('a vote implies the promise of its ballot, and a lower record never lowers the promise', async () => {
      await store.append([{ kind: 'promise', ballot: ballotOf(3, 'r2') }]);
      await store.append([voteOf(1, 5)]);
      await store.append([{ kind: 'promise', ballot: ballotOf(4, 'r3') }, voteOf(2, 2)]);
      await crashAndReopen();
      expect(store.recovered.promised).toEqual(ballotOf(5));
    });

    it('a promise for one slot binds nowhere else, is the highest of its slot, and goes with the slot', async () => {
      const promise = (slot: number, round: number, replica = 'r1'): LogRecord => ({
        kind: 'slotPromise',
        slot: slotOf(slot),
        ballot: ballotOf(round, replica),
      });
      await store.append([
        promise(7, 3, 'r2'),
        promise(5, 2),
        promise(7, 3, 'r1'),
        promise(2, 9),
        promise(3, 1),
      ]);
      await store.append([promise(5, 4), promise(7, 1)]);
      await store.append([voteOf(5, 1), { kind: 'commitPoint', slot: slotOf(2) }]);
      for (const reopen of [closeAndReopen, crashAndReopen]) {
        await reopen();
        expect(store.recovered.slotPromises).toEqual([
          { slot: 3, ballot: ballotOf(1) },
          { slot: 5, ballot: ballotOf(4) },
          { slot: 7, ballot: ballotOf(3, 'r2') },
        ]);
        expect(store.recovered.promised).toEqual(ballotOf(1));
        expect(store.recovered.tail.map(({ slot }) => slot)).toEqual([5]);
      }
      await store.append([
        { kind: 'base', slot: slotOf(5), configuration: configurationOf(2) },
        promise(4, 8),
      ]);
      await crashAndReopen();
      expect(store.recovered.slotPromises).toEqual([{ slot: 7, ballot: ballotOf(3, 'r2') }]);
    });

    it('a purge keeps the promises of slots above it', async () => {
      const promised = { slot: slotOf(61), ballot: ballotOf(3, 'r2') };
      await store.append([{ kind: 'slotPromise', ...promised }]);
      for (let slot = 1; slot <= 60; slot++)
        await store.append([voteOf(slot, 1, commandOf(slot, new Uint8Array(2000)))]);
      await store.purge(slotOf(60));
      await crashAndReopen();
      expect(store.recovered.slotPromises).toEqual([promised]);
    });

    it('ballots of one round are ordered by replica', async () => {
      await store.append([{ kind: 'promise', ballot: ballotOf(3, 'r2') }]);
      await store.append([{ kind: 'promise', ballot: ballotOf(3, 'r1') }]);
      await crashAndReopen();
      expect(store.recovered.promised).toEqual(ballotOf(3, 'r2'));
    });

    it('the last record of a slot counts', async () => {
      await store.append([voteOf(1, 1, commandOf(10)), voteOf(2, 1, commandOf(20))]);
      await store.append([voteOf(1, 2, commandOf(11))]);
      await store.append([{ kind: 'chosen', slot: slotOf(2), entry: commandOf(21) }]);
      const expected = plain([commandOf(11), commandOf(21)]);
      expect(plain(await store.read(...everything))).toEqual(expected);
      await crashAndReopen();
      expect(plain(await store.read(...everything))).toEqual(expected);
      expect(store.recovered.tail.map((kept) => kept.ballot)).toEqual([ballotOf(2), null]);
    });

    it('the tail begins above the commit point, and what is below can still be read', async () => {
      await store.append([voteOf(1), voteOf(2), voteOf(3), { kind: 'commitPoint', slot: slotOf(2) }]);
      await crashAndReopen();
      expect(store.recovered.commitPoint).toBe(2);
      expect(store.recovered.tail.map((kept) => kept.slot)).toEqual([3]);
      expect(await store.read(...everything)).toHaveLength(3);
    });

    it('a read stops at the first missing slot, at its upper end and at its bound of bytes, but returns at least one entry', async () => {
      await store.append([1, 2, 3, 5].map((slot) => voteOf(slot, 1, commandOf(slot, new Uint8Array(1000)))));
      expect(await store.read(...everything)).toHaveLength(3);
      expect(await store.read(slotOf(2), slotOf(2), 1e6)).toHaveLength(1);
      expect(await store.read(slotOf(4), slotOf(9), 1e6)).toEqual([]);
      expect(await store.read(slotOf(1), slotOf(9), 1)).toHaveLength(1);
      expect(await store.read(slotOf(1), slotOf(9), 2500)).toHaveLength(2);
    });

    it('overlapping appends all become durable, in the order of the calls', async () => {
      const order: number[] = [];
      const appends = Array.from({ length: 200 }, async (_, i) => {
        await store.append([voteOf((i % 50) + 1, 1, commandOf(i))]);
        order.push(i);
      });
      await Promise.all(appends);
      expect(order).toEqual(Array.from({ length: 200 }, (_, i) => i));
      await crashAndReopen();
      const requests = (await store.read(...everything)).map(
        (entry) => entry.kind === 'command' && entry.proposal.request,
      );
      expect(requests).toEqual(Array.from({ length: 50 }, (_, i) => 150 + i));
    });

    it('an empty append resolves after those before it', async () => {
      let earlier = false;
      const first = store.append([voteOf(1)]).then(() => (earlier = true));
      await store.append([]);
      expect(earlier).toBe(true);
      await first;
    });

    it('the caller may reuse a payload buffer once the append has resolved', async () => {
      const payload = new Uint8Array([1, 2, 3]);
      await store.append([voteOf(1, 1, commandOf(1, payload))]);
      payload.fill(9);
      expect(plain(await store.read(...everything))).toEqual(
        plain([commandOf(1, new Uint8Array([1, 2, 3]))]),
      );
    });

    it('a full disk fails the append with logFull, shows nothing of it, and the same append works once there is space', async () => {
      await store.append([voteOf(1)]);
      await fixture.setFull(true);
      const large = voteOf(2, 1, commandOf(2, new Uint8Array(300_000)));
      await expect(store.append([large])).rejects.toMatchObject({ name: 'LogStoreError', code: 'logFull' });
      expect(await store.read(...everything)).toHaveLength(1);
      await fixture.setFull(false);
      await store.append([large]);
      await store.append([voteOf(3)]);
      await crashAndReopen();
      expect(store.recovered.tail.map((kept) => kept.slot)).toEqual([1, 2, 3]);
    });

    it('a full log can be purged', async () => {
      for (let slot = 1; slot <= 60; slot++)
        await store.append([voteOf(slot, 1, commandOf(slot, new Uint8Array(2000)))]);
      await fixture.setFull(true);
      let slot = 61;
      const fill = async (): Promise<never> => {
        for (; ; slot++) await store.append([voteOf(slot, 1, commandOf(slot, new Uint8Array(2000)))]);
      };
      await expect(fill()).rejects.toMatchObject({ code: 'logFull' });
      const behind = store
        .append([voteOf(slot, 1, commandOf(slot, new Uint8Array(2000)))])
        .catch(() => 'full');
      await store.purge(slotOf(40));
      await behind;
      const { purgedTo } = store.stats();
      expect(purgedTo).toBeGreaterThan(0);
      await fixture.setFull(false);
      await crashAndReopen();
      expect(store.recovered.purgedTo).toBe(purgedTo);
    });

    it('a purge never forgets the promise, nor anything above it', async () => {
      await store.append([{ kind: 'promise', ballot: ballotOf(9, 'r2') }]);
      for (let slot = 1; slot <= 60; slot++)
        await store.append([voteOf(slot, 1, commandOf(slot, new Uint8Array(2000)))]);
      await store.append([{ kind: 'commitPoint', slot: slotOf(45) }]);
      await store.purge(slotOf(40));
      const { purgedTo } = store.stats();
      expect(purgedTo).toBeGreaterThan(0);
      expect(purgedTo).toBeLessThanOrEqual(40);
      await crashAndReopen();
      expect(store.recovered).toMatchObject({ promised: ballotOf(9, 'r2'), commitPoint: 45, purgedTo });
      expect(store.recovered.tail.map((kept) => kept.slot)).toEqual(
        Array.from({ length: 15 }, (_, i) => 46 + i),
      );
      expect(await store.read(slotOf(purgedTo), slotOf(60), 1e9)).toEqual([]);
      expect(await store.read(slotOf(purgedTo + 1), slotOf(60), 1e9)).toHaveLength(60 - purgedTo);
    });

    it('what is purged counts as chosen, whether or not a commit point was ever appended', async () => {
      for (let slot = 1; slot <= 60; slot++)
        await store.append([voteOf(slot, 1, commandOf(slot, new Uint8Array(2000)))]);
      await store.purge(slotOf(60));
      await crashAndReopen();
      expect(store.recovered.purgedTo).toBeGreaterThan(0);
      expect(store.recovered.commitPoint).toBeGreaterThanOrEqual(store.recovered.purgedTo);
    });

    it('a second opening is refused while the log is open', async () => {
      await expect(fixture.open()).rejects.toMatchObject({ name: 'LogStoreError', code: 'logLocked' });
    });

    it('a closed log refuses to work, and closing twice does no harm', async () => {
      const inFlight = store.append([voteOf(1)]);
      await store.close();
      await inFlight;
      await expect(store.append([voteOf(2)])).rejects.toMatchObject({ code: 'logClosed' });
      await expect(store.read(...everything)).rejects.toMatchObject({ code: 'logClosed' });
      await store.close();
      store = await fixture.open();
      expect(store.recovered.tail.map((kept) => kept.slot)).toEqual([1]);
    });
  });
}
