/** What tests of sample clients need of a cluster: its places, the leader's first, and all replicas back afterwards. */
import type { LocalCluster } from '../cluster/local-cluster.ts';
import { missingFor, type SampleCluster } from './run-sample.ts';
import type { SampleClient } from './sample-client.ts';

const account = { host: '127.0.0.1', user: 'barista', password: 'barista', database: 'barista' } as const;

export async function sampleCluster(cluster: LocalCluster): Promise<SampleCluster> {
  const leader = await cluster.leader();
  const at = cluster.pgwirePorts.indexOf(leader.pgwire.port);
  const order = [at, ...cluster.pgwirePorts.keys()].filter((each, index, all) => all.indexOf(each) === index);
  return {
    places: order.map((index) => `127.0.0.1:${cluster.thriftPorts[index]}`),
    sql: { ...account, port: cluster.pgwirePorts[order[1] ?? 0] ?? 0 },
    killLeader: () => cluster.fault({ action: 'crash', replica: leader.id }),
  };
}

export async function reviveAll(cluster: LocalCluster): Promise<void> {
  for (const { id, process } of (await cluster.status()).replicas)
    if (process !== 'running') await cluster.fault({ action: 'restart', replica: id });
  await cluster.settled();
}

/** Outside of CI what is not installed is not tried; there it is. */
export function isSkipped(client: SampleClient): boolean {
  const missing = missingFor(client);
  if (missing.length === 0) return false;
  const isCi = process.env['CI'] !== undefined;
  console.warn(`The ${client.name} client is not tried: ${missing.join(', ')} fails (${client.how})`);
  return !(isCi && client.isAlways);
}
