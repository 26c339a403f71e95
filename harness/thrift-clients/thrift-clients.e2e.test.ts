/** The sample clients of the Thrift API against one cluster of three replicas, whose leader is killed, or frozen, in the middle of each. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { runSample } from './run-sample.ts';
import { sampleClients } from './sample-client.ts';
import { BuiltSamples, impatient, isSkipped, reviveAll, sampleCluster } from './sample-clusters.ts';

let cluster: LocalCluster;
const samples = new BuiltSamples();
beforeAll(async () => {
  cluster = await startCluster({ thrift: true });
});
afterAll(async () => {
  await cluster?.stop();
  await samples.remove();
});

describe.for([
  ['killed', 'crash', {}],
  ['frozen', 'pause', impatient],
] as const)(
  'a sample client goes on when the leader that it is connected to is %s',
  ([word, action, patience]) => {
    it.for(sampleClients)('$name', async (client, { skip }) => {
      skip(isSkipped(client), client.how);
      const { signal } = new AbortController();
      const built = await samples.of(client, signal);
      const settings = { ...patience, BARISTA_TABLE: `sample_${client.name}_${word}` };
      try {
        const report = await runSample(client, built, await sampleCluster(cluster, action), signal, settings);
        console.log(`${client.name}, ${word}: ${report.retries} retries, ${report.seconds.toFixed(1)} s`);
        expect(report.complaints.join('\n')).toBe('');
        expect(report.retries).toBeGreaterThan(0);
      } finally {
        await reviveAll(cluster);
      }
    });
  },
);
