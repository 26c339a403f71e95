/** What a log leaves in a real ZooKeeper: large entries in pieces, nothing that is not needed, nothing damaged taken for data. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { GroupId } from '../../multipaxos/types/names.ts';
import type { LogStore } from '../../ports/log-store.ts';
import {
  ballotOf,
  commandOf,
  configurationOf,
  newLogOf,
  plain,
  slotOf,
  voteOf,
} from '../../ports/testing/log-store-contract.ts';
import { create, getChildren, multi, type WriteOp } from './client/protocol.ts';
import { logPaths, slotOfName } from './layout.ts';
import { createLogFixture, setQuota, withSession, type LogFixture } from './testing/zookeeper-fixture.ts';
import { startZooKeeperOfFile } from './testing/zookeeper-of-file.ts';

const zookeeper = await startZooKeeperOfFile();

let fixture: LogFixture;
let store: LogStore;
beforeEach(async () => {
  fixture = createLogFixture(zookeeper.server);
  store = await fixture.create(newLogOf());
});
afterEach(() => fixture.crash());

const paths = (): ReturnType<typeof logPaths> => logPaths(fixture.root, fixture.options().replica);
const large = (slot: number, bytes: number, fill = slot): ReturnType<typeof commandOf> =>
  commandOf(slot, new Uint8Array(bytes).fill(fill));

async function reopen(): Promise<void> {
  await store.close();
  store = await fixture.open();
}

/** Names of the nodes of votes and of entries, sorted. */
function nodes(): Promise<{ readonly votes: string[]; readonly entries: string[] }> {
  return withSession(zookeeper.server, async (session) => {
    const votes = await session.request(getChildren(paths().paxos));
    const entries = await session.request(getChildren(paths().sqlpaxos));
    return { votes: votes.filter((name) => slotOfName(name) !== null).sort(), entries: [...entries].sort() };
  });
}

function write(op: WriteOp): Promise<void> {
  return withSession(zookeeper.server, async (session) => {
    const failure = await session.request(multi([op]));
    if (failure !== null) throw failure.error;
  });
}

describe('entries above what one request can hold', () => {
  it('come back as they were, one of 3 MiB and one of 11 MiB', async () => {
    const entries = [large(1, 3 * 2 ** 20), large(2, 11 * 2 ** 20), large(3, 10)];
    await store.append([voteOf(1, 1, entries[0])]);
    await store.append([voteOf(2, 1, entries[1]), voteOf(3, 1, entries[2])]);
    await reopen();
    const read = await store.read(slotOf(1), slotOf(3), 1e9);
    expect(read.map((entry) => entry.kind === 'command' && entry.payload.length)).toEqual([
      3 * 2 ** 20,
      11 * 2 ** 20,
      10,
    ]);
    expect(
      read.every((entry, i) => entry.kind === 'command' && entry.payload.every((b) => b === i + 1)),
    ).toBe(true);
    expect(store.recovered.tail).toHaveLength(3);
  });

  it('an append of 3,000 records is there as a whole, and so is one of 20 entries of 200 KiB', async () => {
    await store.append(Array.from({ length: 3000 }, (_, i) => voteOf(i + 1)));
    await store.append(Array.from({ length: 20 }, (_, i) => voteOf(3001 + i, 1, large(i, 200 * 1024))));
    await reopen();
    expect(store.recovered.tail).toHaveLength(3020);
    expect(await store.read(slotOf(2990), slotOf(4000), 1e9)).toHaveLength(31);
  });

  it('leave nothing behind when a smaller one takes their place, nor the other way round', async () => {
    for (const bytes of [10, 2 ** 21, 3 * 2 ** 20, 20, 2 ** 21, 30]) {
      await store.append([voteOf(1, 1, large(1, bytes, bytes % 251))]);
      expect(plain(await store.read(slotOf(1), slotOf(1), 1))).toHaveLength(1);
    }
    await store.close();
    expect(await nodes()).toEqual({ votes: ['1'], entries: ['1'] });
    store = await fixture.open();
    expect(plain(store.recovered.tail.map(({ entry }) => entry))).toEqual(plain([large(1, 30, 30)]));
  });

  it('whose pieces were written when the process died, but no vote, are not there, and the pieces are removed', async () => {
    await store.append([voteOf(1)]);
    // The last packet holds the vote.
    fixture.network.onWrite = (bytes) => bytes.length > 100_000;
    void store.append([voteOf(2, 1, large(2, 2 ** 21))]).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 200));
    fixture.crash();
    expect((await nodes()).entries.length).toBeGreaterThan(1);
    store = await fixture.open();
    expect(store.recovered.tail.map(({ slot }) => slot)).toEqual([1]);
    expect(await nodes()).toEqual({ votes: ['1'], entries: ['1'] });
  });

  it('that find no space are logFull, leave no piece behind, and go in once there is space', async () => {
    await store.append([voteOf(1)]);
    await setQuota(zookeeper.server, fixture.root, 1);
    for (let attempt = 0; attempt < 2; attempt++) {
      const failing = store.append([voteOf(2, 1, large(2, 4 * 2 ** 20))]);
      await expect(failing).rejects.toMatchObject({ code: 'logFull', cause: { code: 'quotaExceeded' } });
    }
    expect(await nodes()).toEqual({ votes: ['1'], entries: ['1'] });
    await setQuota(zookeeper.server, fixture.root, 1e9);
    await store.append([voteOf(2, 1, large(2, 4 * 2 ** 20))]);
    await reopen();
    expect(store.recovered.tail.map(({ slot }) => slot)).toEqual([1, 2]);
  });
});

describe('purging', () => {
  it('leaves no node at or below, whether the slots were purged or a base took their place', async () => {
    await store.append(Array.from({ length: 1500 }, (_, i) => voteOf(i + 1)));
    await store.append([voteOf(3, 2, large(3, 2 ** 21))]);
    const before = store.stats().bytes;
    await store.purge(slotOf(1200));
    expect(store.stats().purgedTo).toBe(1200);
    expect(store.stats().bytes).toBeLessThan(before / 4);
    expect((await nodes()).votes).toHaveLength(300);
    expect((await nodes()).entries).toHaveLength(300);
    await store.append([{ kind: 'base', slot: slotOf(1490), configuration: configurationOf(2) }]);
    await store.close();
    expect((await nodes()).entries).toHaveLength(10);
    store = await fixture.open();
    expect(store.recovered).toMatchObject({ purgedTo: 1490, commitPoint: 1490 });
    expect(store.recovered.tail).toHaveLength(10);
  });

  it('that a crash cut short is made up for when the log is opened', async () => {
    await store.append(Array.from({ length: 50 }, (_, i) => voteOf(i + 1)));
    let isDead = false;
    fixture.network.onWrite = (bytes) => {
      isDead ||= Buffer.from(bytes).includes(`${paths().paxos}/20`);
      return !isDead;
    };
    void store.purge(slotOf(40)).catch(() => undefined);
    await new Promise((resolve) => setTimeout(resolve, 200));
    fixture.crash();
    expect((await nodes()).votes).toHaveLength(50);
    store = await fixture.open();
    expect(store.recovered.purgedTo).toBe(40);
    const left = await nodes();
    expect([left.votes.length, left.entries.length]).toEqual([10, 10]);
  });

  it('keeps the size flat under a steady load', async () => {
    let largest = 0;
    for (let slot = 1; slot <= 100; slot++) {
      await store.append([voteOf(slot, 1, large(slot, 1000))]);
      if (slot > 20) await store.purge(slotOf(slot - 20));
      largest = Math.max(largest, store.stats().bytes);
    }
    expect(largest).toBeLessThan(21 * 1500);
    expect((await nodes()).votes).toHaveLength(20);
  });

  it('and writing again go on while the same slots are read, and no read ever fails or mixes entries', async () => {
    const stopped = new AbortController();
    const counts = { reads: 0 };
    const records = (i: number) => Array.from({ length: 30 }, (_, n) => voteOf(n + 1, 1, large(i, 500 + i)));
    await store.append(records(0));
    const reader = async (): Promise<void> => {
      while (!stopped.signal.aborted) {
        for (const entry of await store.read(slotOf(5), slotOf(30), 1e6)) {
          if (entry.kind !== 'command') throw new Error(`found a ${entry.kind}`);
          const { request } = entry.proposal;
          if (!entry.payload.every((byte) => byte === request % 256)) throw new Error('entries are mixed');
          counts.reads++;
        }
        await new Promise(setImmediate);
      }
    };
    const readMoreThan = async (count: number): Promise<void> => {
      while (counts.reads <= count && !stopped.signal.aborted) await new Promise(setImmediate);
    };
    const readers = Promise.all([reader(), reader()]);
    const isOver = readers.then(
      () => true,
      () => true,
    );
    try {
      for (let i = 1; i <= 100; i++) {
        await store.append(records(i));
        if (i === 90) await store.purge(slotOf(10));
        // A machine in no haste reads between two writes what it could not while they were under way.
        if (i % 10 === 0) await Promise.race([isOver, readMoreThan(i)]);
      }
    } finally {
      stopped.abort();
    }
    await readers;
    expect(counts.reads).toBeGreaterThan(100);
  });
});

describe('what somebody else has changed in ZooKeeper', () => {
  beforeEach(() => store.append([voteOf(1), voteOf(2), { kind: 'commitPoint', slot: slotOf(1) }]));

  it('is never read as an entry', async () => {
    await write({ kind: 'set', path: paths().entry(slotOf(1)), data: Buffer.from('x'), version: -1 });
    const reading = store.read(slotOf(1), slotOf(2), 1e6);
    await expect(reading).rejects.toMatchObject({ name: 'LogStoreError', code: 'logCorrupt' });
    await expect(reading).rejects.toThrow(paths().entry(slotOf(1)));
    expect(await store.read(slotOf(2), slotOf(2), 1e6)).toHaveLength(1);
  });

  it('keeps the log from opening if the tail is concerned, or an entry is gone', async () => {
    await store.close();
    await write({ kind: 'set', path: paths().entry(slotOf(2)), data: Buffer.from('x'), version: -1 });
    await expect(fixture.open()).rejects.toMatchObject({ code: 'logCorrupt' });
    await write({ kind: 'delete', path: paths().entry(slotOf(2)), version: -1 });
    await expect(fixture.open()).rejects.toThrow('the entry of slot 2 is missing');
    await write({ kind: 'set', path: paths().vote(slotOf(2)), data: Buffer.from('x'), version: -1 });
    await expect(fixture.open()).rejects.toMatchObject({ code: 'logCorrupt' });
  });

  it('is refused if it is of another group or another format', async () => {
    await store.close();
    const other = fixture.open({ group: 'g2' as GroupId });
    await expect(other).rejects.toMatchObject({ code: 'logFailed' });
    await expect(other).rejects.toThrow('belongs to group g1, not to g2');
    await write({ kind: 'set', path: paths().identity, data: Buffer.from('{"version":9}'), version: -1 });
    await expect(fixture.open()).rejects.toThrow(
      'format version 9; this Barista reads and writes version 1 only',
    );
  });
});

describe('creating', () => {
  it('makes all of a log or none, though connections break', async () => {
    let made = 0;
    for (let lost = 2; lost <= 12; lost++) {
      const fresh = createLogFixture(zookeeper.server);
      let writes = 0;
      fresh.network.onWrite = () => {
        writes++;
        if (writes === lost + 1) setTimeout(fresh.network.breakAll, 0);
        return writes !== lost;
      };
      const newLog = newLogOf(11, ballotOf(5));
      const log = await fresh.create(newLog);
      expect(log.identity).toEqual(newLog.identity);
      expect(log.recovered).toMatchObject({ promised: newLog.promised, purgedTo: newLog.base });
      await log.append([voteOf(12)]);
      await log.close();
      made++;
    }
    expect(made).toBe(11);
  });

  it("takes nodes that are there without a log for somebody else's", async () => {
    const fresh = createLogFixture(zookeeper.server);
    await withSession(zookeeper.server, async (session) => {
      for (const path of ['', '/paxos', '/sqlpaxos', '/paxos/r2'])
        await session.request(create(`${fresh.root}${path}`, new Uint8Array()));
    });
    await expect(fresh.open()).rejects.toMatchObject({ code: 'logMissing' });
    await expect(fresh.create(newLogOf())).rejects.toMatchObject({ code: 'logExists' });
  });
});
