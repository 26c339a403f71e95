/** The contract of log stores, against a real Apache ZooKeeper. */
import { describeLogStore } from '../../ports/testing/log-store-contract.ts';
import { createLogFixture, setQuota } from './testing/zookeeper-fixture.ts';
import { startZooKeeperOfFile } from './testing/zookeeper-of-file.ts';

const zookeeper = await startZooKeeperOfFile();

describeLogStore('ZooKeeper', async () => {
  const fixture = createLogFixture(zookeeper.server);
  return {
    create: (newLog) => fixture.create(newLog),
    open: () => fixture.open(),
    crash: async () => fixture.crash(),
    setFull: (full) => setQuota(zookeeper.server, fixture.root, full ? 1 : 100_000_000),
    dispose: async () => fixture.crash(),
  };
});
