/** The sample clients of the Thrift API against one cluster of three replicas, whose leader is killed in the middle of each. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type LocalCluster, startCluster } from '../cluster/local-cluster.ts';
import { buildSample, missingFor, runSample, type SampleCluster } from './run-sample.ts';
import { type SampleClient, sampleClients } from './sample-client.ts';

const account = { host: '127.0.0.1', user: 'barista', password: 'barista', database: 'barista' } as const;

let cluster: LocalCluster;
beforeAll(async () => {
  cluster = await startCluster({ thrift: true });
});
afterAll(async () => {
  await cluster?.stop();
});

async function sampleCluster(): Promise<SampleCluster> {
  const leader = await cluster.leader();
  const at = cluster.pgwirePorts.indexOf(leader.pgwire.port);
  const order = [at, ...cluster.pgwirePorts.keys()].filter((each, index, all) => all.indexOf(each) === index);
  return {
    places: order.map((index) => `127.0.0.1:${cluster.thriftPorts[index]}`),
    sql: { ...account, port: cluster.pgwirePorts[order[1] ?? 0] ?? 0 },
    killLeader: () => cluster.fault({ action: 'crash', replica: leader.id }),
  };
}

async function reviveAll(): Promise<void> {
  for (const { id, process } of (await cluster.status()).replicas)
    if (process !== 'running') await cluster.fault({ action: 'restart', replica: id });
  await cluster.settled();
}

/** Outside of CI what is not installed is not tried; there it is. */
function isSkipped(client: SampleClient): boolean {
  const missing = missingFor(client);
  if (missing.length === 0) return false;
  const isCi = process.env['CI'] !== undefined;
  console.warn(`The ${client.name} client is not tried: ${missing.join(', ')} fails (${client.how})`);
  return !(isCi && client.isAlways);
}

describe('a sample client goes on when the leader that it is connected to is killed', () => {
  it.for(sampleClients)('$name', async (client, { skip }) => {
    skip(isSkipped(client), client.how);
    const { signal } = new AbortController();
    const built = await buildSample(client, signal);
    try {
      const report = await runSample(client, built, await sampleCluster(), signal);
      console.log(`${client.name}: ${report.retries} retries, ${report.seconds.toFixed(1)} s`);
      expect(report.complaints.join('\n')).toBe('');
      expect(report.retries).toBeGreaterThan(0);
    } finally {
      await built.remove();
      await reviveAll();
    }
  });
});
