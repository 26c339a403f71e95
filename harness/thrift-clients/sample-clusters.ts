/** What tests of sample clients need of a cluster: its places, the leader's first, and all replicas back afterwards; and what is built once for several tests. */
import type { LocalCluster } from '../cluster/local-cluster.ts';
import { buildSample, type BuiltSample, missingFor, type SampleCluster } from './run-sample.ts';
import type { SampleClient } from './sample-client.ts';

const account = { host: '127.0.0.1', user: 'barista', password: 'barista', database: 'barista' } as const;

/** A sample that waits for a replica that is frozen is to notice soon. */
export const impatient = { BARISTA_ANSWER_TIMEOUT_MS: '3000' } as const;

/** The leader is killed, or frozen, in the middle. */
export async function sampleCluster(
  cluster: LocalCluster,
  action: 'crash' | 'pause' = 'crash',
): Promise<SampleCluster> {
  const leader = await cluster.leader();
  const at = cluster.pgwirePorts.indexOf(leader.pgwire.port);
  const order = [at, ...cluster.pgwirePorts.keys()].filter((each, index, all) => all.indexOf(each) === index);
  return {
    places: order.map((index) => `127.0.0.1:${cluster.thriftPorts[index]}`),
    sql: { ...account, port: cluster.pgwirePorts[order[1] ?? 0] ?? 0 },
    strike: () => cluster.fault({ action, replica: leader.id }),
  };
}

export async function reviveAll(cluster: LocalCluster): Promise<void> {
  for (const { id, process } of (await cluster.status()).replicas)
    if (process !== 'running')
      await cluster.fault({ action: process === 'paused' ? 'resume' : 'restart', replica: id });
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

export class BuiltSamples {
  private readonly built = new Map<string, Promise<BuiltSample>>();

  of(client: SampleClient, signal: AbortSignal): Promise<BuiltSample> {
    const built = this.built.get(client.name) ?? buildSample(client, signal);
    this.built.set(client.name, built);
    return built;
  }

  async remove(): Promise<void> {
    for (const built of this.built.values()) await built.then((each) => each.remove()).catch(() => undefined);
  }
}
