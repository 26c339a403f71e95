/** The contract of log stores, against a real Apache ZooKeeper. */
import { mkdtempSync } from 'node:fs';
import { rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { describeLogStore } from '../../ports/testing/log-store-contract.ts';
import { startZooKeeper } from './testing/start-zookeeper.ts';
import { createLogFixture, setQuota } from './testing/zookeeper-fixture.ts';

const directory = mkdtempSync(join(tmpdir(), 'barista-zookeeper-'));
const zookeeper = await startZooKeeper({ directory });

afterAll(async () => {
  await zookeeper.stop();
  await rm(directory, { recursive: true });
});

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
