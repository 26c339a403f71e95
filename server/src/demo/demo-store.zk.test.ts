/** The data directory of a demo, and what `fault wipe` takes, with a real ZooKeeper. */
import { existsSync, mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startZooKeeperOfFile } from '../adapters/zookeeper-log/testing/zookeeper-of-file.ts';
import { newLogOf, voteOf } from '../ports/testing/log-store-contract.ts';
import type { GroupId } from '../multipaxos/types/names.ts';
import { loadReplicaConfig, type ReplicaConfig } from '../config/replica-config.ts';
import { exitCodes } from '../main/errors.ts';
import { createLog, openLog } from '../main/log-store.ts';
import { noteFounded, openDemoDir, writeReplicaConfigs } from './data-dir.ts';
import { planReplicas } from './layout.ts';
import { wipeDisk } from './wipe.ts';

const zookeeper = await startZooKeeperOfFile();
const other = await startZooKeeperOfFile();
const wish = { kind: 'zookeeper', servers: [zookeeper.server] } as const;

async function configsIn(dir: string): Promise<readonly ReplicaConfig[]> {
  const demo = await openDemoDir(dir, 3, wish);
  const { cluster } = demo;
  const layout = { dataDir: dir, replicas: 3, port: 7432, dashboardPort: 8080, pgBin: null };
  const { logStore } = cluster;
  const options = {
    ...layout,
    autoRestart: false,
    trace: false,
    check: false,
    logBytesMax: null,
    clientsMax: null,
    electionTimeoutMs: null,
    logStore,
    payload: 'wal' as const,
    protocol: 'multi-paxos' as const,
  };
  const plans = planReplicas(options);
  await writeReplicaConfigs(plans, options, cluster, () => ({ group: newGroup }));
  await noteFounded(dir, cluster);
  await demo.release();
  return plans.map(({ configFile }) => loadReplicaConfig(configFile));
}
const newGroup = 'g1' as GroupId;

describe('a demo with its logs in ZooKeeper', () => {
  it('finds them again where they are, and refuses a ZooKeeper that has none of them', async () => {
    const dir = join(zookeeper.directory, 'found-again');
    const [first] = await configsIn(dir);
    await (await createLog(first!, newLogOf())).close();
    const again = await openDemoDir(dir, null);
    expect(again.cluster.logStore).toMatchObject({ kind: 'zookeeper', servers: [zookeeper.server] });
    await again.release();
    const elsewhere = openDemoDir(dir, null, { kind: 'zookeeper', servers: [other.server] });
    await expect(elsewhere).rejects.toMatchObject({
      exitCode: exitCodes.failed,
      message: expect.stringMatching(/holds nothing of this cluster \(\/barista-[0-9a-f]{12}\)/),
    });
    // The refusal has changed nothing.
    await (await openDemoDir(dir, null)).release();
  });

  it('remembers nothing of one that does not answer', async () => {
    const dir = join(zookeeper.directory, 'in-vain');
    await expect(
      openDemoDir(dir, null, { kind: 'zookeeper', servers: ['127.0.0.1:1'] }),
    ).rejects.toMatchObject({
      exitCode: exitCodes.notRunning,
      message: expect.stringMatching(/No ZooKeeper can be used at 127.0.0.1:1: .*ECONNREFUSED.*--zookeeper/),
    });
    const demo = await openDemoDir(dir, null);
    expect(demo.cluster.logStore).toEqual({ kind: 'segment' });
    await demo.release();
  });

  it('loses the log of a replica that was killed, and nothing of the others, when its disk is wiped', async () => {
    const configs = await configsIn(join(zookeeper.directory, 'wiped'));
    const [first, second] = configs as [ReplicaConfig, ReplicaConfig];
    for (const config of configs) {
      mkdirSync(join(config.dataDir, 'postgres'), { recursive: true });
      const log = await createLog(config, newLogOf());
      await log.append([voteOf(1)]);
      await log.close();
    }
    await wipeDisk(first, 'database');
    expect(existsSync(join(first.dataDir, 'postgres'))).toBe(false);
    await (await openLog(first)).close();
    await wipeDisk(second, 'log');
    await expect(openLog(second)).rejects.toMatchObject({ code: 'logMissing' });
    expect(existsSync(join(second.dataDir, 'postgres'))).toBe(true);
    await wipeDisk(first, 'both');
    await expect(openLog(first)).rejects.toMatchObject({ code: 'logMissing' });
    const third = await openLog(configs[2]!);
    expect(third.recovered.tail).toHaveLength(1);
    await third.close();
  });
});
