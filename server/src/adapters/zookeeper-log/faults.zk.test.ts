/** A log in a real ZooKeeper, with connections, sessions and servers that break at bad moments. */
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { LogStore } from '../../ports/log-store.ts';
import { commandOf, newLogOf, slotOf, voteOf } from '../../ports/testing/log-store-contract.ts';
import { getData, multi } from './client/protocol.ts';
import { fromJson, logPaths, type WriterNode } from './layout.ts';
import { startZooKeeper } from './testing/start-zookeeper.ts';
import { createZooKeeperLog, openZooKeeperLog } from './zookeeper-log.ts';
import {
  SESSION_TIMEOUT_MS,
  createLogFixture,
  createNetwork,
  withSession,
  type LogFixture,
} from './testing/zookeeper-fixture.ts';
import { startZooKeeperOfFile } from './testing/zookeeper-of-file.ts';

const zookeeper = await startZooKeeperOfFile();

const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const slotsOf = (store: LogStore): number[] => store.recovered.tail.map(({ slot }) => slot);
const upTo = (n: number): number[] => Array.from({ length: n }, (_, i) => i + 1);

let fixture: LogFixture;
let store: LogStore;
beforeEach(async () => {
  fixture = createLogFixture(zookeeper.server);
  store = await fixture.create(newLogOf());
});
afterEach(() => fixture.crash());

function pathsOf({ root }: LogFixture): ReturnType<typeof logPaths> {
  return logPaths(root, fixture.options().replica);
}

function readWriter(): Promise<WriterNode> {
  return withSession(zookeeper.server, async (session) => {
    const { data } = await session.request(getData(pathsOf(fixture).writer));
    return fromJson(data) as WriterNode;
  });
}

/** Appends slots 1, 2, 3... from `lanes` lanes until told to stop; each slot once. */
function startLoad(to: LogStore, lanes: number) {
  const acknowledged: number[] = [];
  let slot = 0;
  const stopped = new AbortController();
  const lane = async (): Promise<void> => {
    while (!stopped.signal.aborted) {
      const mine = ++slot;
      await to.append([voteOf(mine, 1, commandOf(mine, new Uint8Array(mine % 3000).fill(mine % 256)))]);
      acknowledged.push(mine);
    }
  };
  const done = Promise.all(Array.from({ length: lanes }, lane));
  // A test that lets the log die does not stop the load.
  done.catch(() => undefined);
  const stop = async (): Promise<void> => {
    stopped.abort();
    await done;
  };
  return { acknowledged, stop };
}

function expectIntact(recovered: LogStore, count: number): void {
  expect(slotsOf(recovered)).toEqual(upTo(count));
  for (const { slot, entry } of recovered.recovered.tail) {
    const payload = entry.kind === 'command' ? entry.payload : new Uint8Array(1e6);
    expect(payload.length).toBe(slot % 3000);
    expect(payload.every((byte) => byte === slot % 256)).toBe(true);
  }
}

describe('when the server is killed and started again', () => {
  it.each([1, 32])(
    'appends go on, and nothing that was acknowledged is lost (%i at a time)',
    async (lanes) => {
      const load = startLoad(store, lanes);
      for (let life = 0; life < 3; life++) {
        await sleep(150 + life * 37);
        const before = load.acknowledged.length;
        await zookeeper.kill();
        await sleep(life * 100);
        await zookeeper.restart();
        while (load.acknowledged.length <= before) await sleep(10);
      }
      while (load.acknowledged.length <= 30) await sleep(10);
      await load.stop();
      fixture.crash();
      expectIntact(await fixture.open(), load.acknowledged.length);
    },
  );

  it('what was acknowledged before the log and the server died together is there', async () => {
    const load = startLoad(store, 8);
    while (load.acknowledged.length < 100) await sleep(5);
    const acknowledged = [...load.acknowledged];
    await zookeeper.kill();
    fixture.crash();
    await zookeeper.restart();
    const again = await fixture.open();
    expect(slotsOf(again).length).toBeGreaterThanOrEqual(acknowledged.length);
    expectIntact(again, slotsOf(again).length);
  });
});

describe('when connections break', () => {
  it('each group of records takes effect once, in order, wherever the connection breaks', async () => {
    let writes = 0;
    let breaks = 0;
    // Every seventh packet is lost with its connection; after every eleventh the connection breaks, though it may have arrived.
    fixture.network.onWrite = () => {
      writes++;
      if (writes % 11 === 0) setTimeout(fixture.network.breakAll, writes % 3);
      if (writes % 7 === 0 || writes % 11 === 0) breaks++;
      return writes % 7 !== 0;
    };
    const order: number[] = [];
    const appends: Promise<void>[] = [];
    const append = async (i: number): Promise<void> => {
      await store.append([voteOf((i % 10) + 1, 1, commandOf(i))]);
      order.push(i);
    };
    // On a busy machine more of them share a packet, and it takes more for as many breaks.
    const isEnough = (): boolean => appends.length >= 120 && breaks > 10 && appends.length % 10 === 0;
    while (!isEnough()) {
      appends.push(append(appends.length + 1));
      await sleep(3);
    }
    await Promise.all(appends);
    const last = appends.length;
    expect(breaks).toBeGreaterThan(10);
    expect(order).toEqual(upTo(last));
    fixture.network.onWrite = null;
    const { sequence } = await readWriter();
    expect(sequence).toBeLessThanOrEqual(last);
    const requests = (await store.read(slotOf(1), slotOf(10), 1e6)).map(
      (entry) => entry.kind === 'command' && entry.proposal.request,
    );
    expect(requests).toEqual([last, ...upTo(9).map((i) => last - 10 + i)]);
    fixture.crash();
    const again = await fixture.open();
    expect(
      again.recovered.tail.map(({ entry }) => entry.kind === 'command' && entry.proposal.request),
    ).toEqual(requests);
  });

  it('a group that arrived, and whose answer was lost, is acknowledged and not written again', async () => {
    await store.append([voteOf(1)]);
    const { sequence } = await readWriter();
    let isFirst = true;
    fixture.network.onWrite = () => {
      // It arrives; what comes back does not.
      if (isFirst) setTimeout(fixture.network.breakAll, 0);
      isFirst = false;
      return true;
    };
    await store.append([voteOf(2)]);
    expect((await readWriter()).sequence).toBe(sequence + 1);
  });

  it("the version of the writer's node never runs over", async () => {
    await store.close();
    store = await fixture.open({ versionMax: 5 });
    for (const slot of upTo(40)) {
      await store.append([voteOf(slot)]);
      if (slot % 9 === 0) fixture.network.breakAll();
    }
    const version = await withSession(
      zookeeper.server,
      async (session) => (await session.request(getData(pathsOf(fixture).writer))).stat.version,
    );
    expect(version).toBeLessThanOrEqual(5);
    expect((await readWriter()).sequence).toBe(40);
  });
});

describe('when the session expires', () => {
  const expire = async (): Promise<void> => {
    fixture.network.cut(true);
    await sleep(SESSION_TIMEOUT_MS * 2);
  };
  const lockOwner = (): Promise<bigint> =>
    withSession(
      zookeeper.server,
      async (session) => (await session.request(getData(pathsOf(fixture).lock))).stat.ephemeralOwner,
    );

  it('the log takes its lock again and goes on, if nobody else has written', async () => {
    await store.append([voteOf(1)]);
    const before = await lockOwner();
    await expire();
    const waiting = store.append([voteOf(2)]);
    fixture.network.cut(false);
    await waiting;
    expect(await lockOwner()).not.toBe(before);
    await expect(fixture.open({ lockWaitMs: 100 })).rejects.toMatchObject({ code: 'logLocked' });
    await store.close();
    expect(slotsOf(await fixture.open())).toEqual([1, 2]);
  });

  it('what was under way is written once', async () => {
    const load = startLoad(store, 16);
    while (load.acknowledged.length < 50) await sleep(5);
    await expire();
    fixture.network.cut(false);
    const before = load.acknowledged.length;
    while (load.acknowledged.length <= before) await sleep(10);
    await load.stop();
    fixture.crash();
    expectIntact(await fixture.open(), load.acknowledged.length);
  });

  it.each(['is still open', 'was closed again'])(
    'the log fails for good if another opening has had it in the meantime, which %s',
    async (how) => {
      await store.append([voteOf(1, 1, commandOf(1))]);
      await expire();
      const other = await fixture.open({ dial: createNetwork().dial });
      await other.append([voteOf(2, 2, commandOf(20))]);
      if (how === 'was closed again') await other.close();
      const late = store.append([voteOf(2, 1, commandOf(2))]);
      fixture.network.cut(false);
      await expect(late).rejects.toMatchObject({ name: 'LogStoreError', code: 'logFailed' });
      await expect(late).rejects.toThrow('another process has taken over');
      await expect(store.append([voteOf(3)])).rejects.toMatchObject({ code: 'logFailed' });
      await store.close();
      await other.close();
      const again = await fixture.open();
      expect(
        again.recovered.tail.map(({ entry }) => entry.kind === 'command' && entry.proposal.request),
      ).toEqual([1, 20]);
    },
  );

  it('a lock that was taken away by hand does not let two write', async () => {
    await withSession(zookeeper.server, (session) =>
      session.request(multi([{ kind: 'delete', path: pathsOf(fixture).lock, version: -1 }])),
    );
    const other = await fixture.open();
    await other.append([voteOf(1, 2, commandOf(10))]);
    await expect(store.append([voteOf(1, 1, commandOf(1))])).rejects.toThrow(
      'another process has taken over',
    );
    expect(await other.read(slotOf(1), slotOf(1), 1e6)).toMatchObject([{ proposal: { request: 10 } }]);
    await other.close();
  });
});

describe('when the process that had the log was killed', () => {
  it('the next one waits for its session to expire, even if ZooKeeper grants a longer one than was asked for', async () => {
    const slow = await startZooKeeper({ directory: join(zookeeper.directory, 'slow'), tickMs: 1000 });
    try {
      const { lockWaitMs: _, ...options } = createLogFixture(slow.server).options();
      const asked = { ...options, sessionTimeoutMs: 200 };
      const network = createNetwork();
      await createZooKeeperLog({ ...asked, dial: network.dial }, newLogOf());
      network.cut(true);
      const diedMs = performance.now();
      const next = await openZooKeeperLog(asked);
      // By what it asked for it would have waited no longer than this; the shortest session that is granted is two ticks.
      expect(performance.now() - diedMs).toBeGreaterThan(1300);
      await next.close();
    } finally {
      await slow.stop();
    }
  });
});

describe('when ZooKeeper is away', () => {
  it('opening fails with logFailed and the reason', async () => {
    const options = { servers: ['127.0.0.1:1'], awayMsMax: 200, dial: undefined };
    const opening = fixture.open(options as never);
    await expect(opening).rejects.toMatchObject({ name: 'LogStoreError', code: 'logFailed' });
    await expect(opening).rejects.toThrow('ECONNREFUSED');
  });

  it('for longer than is allowed, appends fail with logFailed, for good', async () => {
    await store.close();
    store = await fixture.open({ awayMsMax: 500 });
    await store.append([voteOf(1)]);
    fixture.network.cut(true);
    const failing = store.append([voteOf(2)]);
    await expect(failing).rejects.toMatchObject({ code: 'logFailed', cause: { code: 'connectionLoss' } });
    fixture.network.cut(false);
    await expect(store.append([voteOf(2)])).rejects.toMatchObject({ code: 'logFailed' });
    await store.close();
  });

  it('and pauses for less than a session, appends only wait', async () => {
    await zookeeper.pause(true);
    let done = false;
    const waiting = store.append([voteOf(1)]).then(() => (done = true));
    await sleep(300);
    expect(done).toBe(false);
    await zookeeper.pause(false);
    await waiting;
  });
});

describe('when ZooKeeper has lost its data', () => {
  it('the log fails for good, and is missing when it is opened again', async () => {
    await store.close();
    store = await fixture.open({ awayMsMax: 1500 });
    await store.append([voteOf(1)]);
    await zookeeper.kill();
    await rm(join(zookeeper.directory, 'data', 'version-2'), { recursive: true });
    await zookeeper.restart();
    await expect(store.append([voteOf(2)])).rejects.toMatchObject({ code: 'logFailed' });
    await store.close();
    await expect(fixture.open()).rejects.toMatchObject({ code: 'logMissing' });
  });
});
