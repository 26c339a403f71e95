/** The sample clients of the Thrift API against one cluster of three replicas, whose leader is killed in the middle of each. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { buildSample, runSample } from './run-sample.ts';
import { sampleClients } from './sample-client.ts';
import { isSkipped, reviveAll, sampleCluster } from './sample-clusters.ts';

let cluster: LocalCluster;
beforeAll(async () => {
  cluster = await startCluster({ thrift: true });
});
afterAll(async () => {
  await cluster?.stop();
});

describe('a sample client goes on when the leader that it is connected to is killed', () => {
  it.for(sampleClients)('$name', async (client, { skip }) => {
    skip(isSkipped(client), client.how);
    const { signal } = new AbortController();
    const built = await buildSample(client, signal);
    try {
      const report = await runSample(client, built, await sampleCluster(cluster), signal);
      console.log(`${client.name}: ${report.retries} retries, ${report.seconds.toFixed(1)} s`);
      expect(report.complaints.join('\n')).toBe('');
      expect(report.retries).toBeGreaterThan(0);
    } finally {
      await built.remove();
      await reviveAll(cluster);
    }
  });
});
