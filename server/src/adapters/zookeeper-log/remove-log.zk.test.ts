/** Removing a log from a real ZooKeeper, as the loss of a disk does. */
import { beforeEach, describe, expect, it } from 'vitest';
import type { ReplicaId } from '../../multipaxos/types/names.ts';
import type { LogStore } from '../../ports/log-store.ts';
import { commandOf, newLogOf, slotOf, voteOf } from '../../ports/testing/log-store-contract.ts';
import { getChildren } from './client/protocol.ts';
import { logPaths } from './layout.ts';
import { isRootThere, removeZooKeeperLog } from './remove-log.ts';
import { createLogFixture, withSession, type LogFixture } from './testing/zookeeper-fixture.ts';
import { startZooKeeperOfFile } from './testing/zookeeper-of-file.ts';

const zookeeper = await startZooKeeperOfFile();

let fixture: LogFixture;
let store: LogStore;
beforeEach(async () => {
  fixture = createLogFixture(zookeeper.server);
  store = await fixture.create(newLogOf());
});

const where = (): Parameters<typeof isRootThere>[0] => ({
  servers: [zookeeper.server],
  root: fixture.root,
  waitMs: 10_000,
});
const removeLog = (): Promise<void> => removeZooKeeperLog({ ...where(), replica: fixture.options().replica });

function childrenOf(path: string): Promise<readonly string[]> {
  return withSession(zookeeper.server, (session) => session.request(getChildren(path)));
}

describe('removing a log', () => {
  it('takes all of its nodes, large entries and the lock of a killed process among them', async () => {
    const large = new Uint8Array(3 * 2 ** 20).fill(7);
    await store.append([voteOf(1), voteOf(2, 1, commandOf(2, large))]);
    await store.append(Array.from({ length: 1200 }, (_, i) => voteOf(i + 3)));
    fixture.crash();
    // Well before the session of the killed process expires.
    await removeLog();
    expect(await childrenOf(`${fixture.root}/paxos`)).toEqual([]);
    expect(await childrenOf(`${fixture.root}/sqlpaxos`)).toEqual([]);
    await expect(fixture.open()).rejects.toMatchObject({ code: 'logMissing' });
    const next = await fixture.create(newLogOf());
    expect(next.recovered.tail).toEqual([]);
    await next.close();
  });

  it('leaves the logs of other replicas alone', async () => {
    const others = await fixture.create(newLogOf(), { replica: 'r3' as ReplicaId });
    await others.append([voteOf(1)]);
    await store.close();
    await removeLog();
    expect(await others.read(slotOf(1), slotOf(1), 1000)).toHaveLength(1);
    await others.close();
    expect(await childrenOf(`${fixture.root}/paxos`)).toEqual(['r3']);
  });

  it('is done by an interrupted removal that is repeated, and by one that finds nothing', async () => {
    await store.append([voteOf(1)]);
    await store.close();
    const { writer } = logPaths(fixture.root, fixture.options().replica);
    const { dial } = fixture.options();
    fixture.network.onWrite = (bytes) => !Buffer.from(bytes).includes(writer);
    const cutShort = removeZooKeeperLog({
      ...where(),
      waitMs: 300,
      replica: fixture.options().replica,
      ...(dial === undefined ? {} : { dial }),
    });
    await expect(cutShort).rejects.toMatchObject({ name: 'LogStoreError', code: 'logFailed' });
    await removeLog();
    await removeLog();
    await expect(fixture.open()).rejects.toMatchObject({ code: 'logMissing' });
  });

  it('ends a log that somebody has still open: what it appends is refused', async () => {
    await store.append([voteOf(1)]);
    await removeLog();
    await expect(store.append([voteOf(2)])).rejects.toMatchObject({ code: 'logFailed' });
    expect(await childrenOf(`${fixture.root}/paxos`)).toEqual([]);
    fixture.crash();
  });
});

describe('looking for logs', () => {
  it('tells a root that is used from one that is not', async () => {
    expect(await isRootThere(where())).toBe(true);
    expect(await isRootThere({ ...where(), root: '/nothing-here' })).toBe(false);
    await store.close();
  });

  it('fails in time, naming the servers, when none answers', async () => {
    const servers = ['127.0.0.1:1'];
    const looking = isRootThere({ ...where(), servers, waitMs: 300 });
    await expect(looking).rejects.toMatchObject({ code: 'logFailed' });
    await expect(looking).rejects.toThrow(/127\.0\.0\.1:1.*ECONNREFUSED/);
    await store.close();
  });
});
