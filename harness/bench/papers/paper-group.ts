/**
 * One group of replicas as a paper's experiment wants it: which protocol, what travels, how the commit point is told, how many replicas, how far apart.
 *
 * Responsible for: where its clients connect, and what its replicas have written and sent so far. Measures no time.
 */
import { startCluster, type LocalCluster } from '../../cluster/local-cluster.ts';
import { ownCheckout } from '../build-server.ts';
import { account } from '../compare/systems/system.ts';
import { requireBuilt } from '../compare/systems/barista.ts';
import type { SqlTarget } from '../sql.ts';
import type { Level } from '../../../server/src/primary/types/effects.ts';
import { readCosts, sumOf, type Costs } from './costs.ts';

export interface GroupKind {
  readonly protocol: 'multi-paxos' | 'paxos' | 'primary';
  readonly payload: 'wal' | 'statements';
  readonly commitPoint: 'piggyback' | 'synchronous' | 'asynchronous';
  readonly groupCommit: 'gather' | 'adaptive';
  /** When a primary answers; of other protocols null. */
  readonly level: Level | null;
  readonly replicas: number;
  /** Between each two replicas, one way. */
  readonly delayMs: number;
}

export interface PaperGroup {
  /** Where tables are made. */
  client(): Promise<SqlTarget>;
  /** Where the clients of a load connect: all replicas where all propose, else the leader. */
  doors(): Promise<readonly SqlTarget[]>;
  /** Of all replicas together, since they were started. */
  costs(): Promise<Costs>;
  settled(): Promise<void>;
  stop(): Promise<void>;
}

const settleMs = 600_000;

/** In `root`, which it leaves behind. @throws Error that says why it did not start */
export async function startPaperGroup(kind: GroupKind, root: string): Promise<PaperGroup> {
  const { protocol, payload, commitPoint, groupCommit, level, replicas, delayMs } = kind;
  const cluster = await startCluster({
    bin: requireBuilt(ownCheckout),
    replicas,
    dataDir: root,
    logStore: 'segment',
    untilOneServes: isAlone(kind),
    args: [
      '--no-dashboard',
      `--payload=${payload}`,
      `--protocol=${protocol}`,
      ...(level === null ? [] : [`--replication=${level}`]),
      ...(commitPoint === 'piggyback' ? [] : [`--commit-point=${commitPoint}`]),
      ...(groupCommit === 'gather' ? [] : [`--group-commit=${groupCommit}`]),
    ],
  });
  try {
    await delayAll(cluster, delayMs);
  } catch (error) {
    await cluster.interrupt();
    throw error;
  }
  const all = cluster.pgwirePorts.map((port) => ({ host: '127.0.0.1', port, ...account }));
  const leader = async (): Promise<SqlTarget> => {
    const { pgwire } = await cluster.leader();
    return { ...pgwire, ...account };
  };
  return {
    client: () => (protocol === 'paxos' ? Promise.resolve(all[0]!) : leader()),
    doors: async () => (protocol === 'paxos' ? all : [await leader()]),
    costs: async () => sumOf(await Promise.all(httpUrls(cluster).map(readCosts))),
    settled: async () => {
      if (!isAlone(kind)) await cluster.settled(settleMs);
    },
    stop: async () => void (await cluster.interrupt()),
  };
}

/** Its copies are told nothing, and never serve. */
function isAlone({ level }: GroupKind): boolean {
  return level === 'none';
}

/** Each replica's HTTP is at the ports behind the demo's own. */
function httpUrls({ dashboardUrl, pgwirePorts }: LocalCluster): readonly string[] {
  const { hostname, port } = new URL(dashboardUrl);
  return pgwirePorts.map((_, index) => `http://${hostname}:${Number(port) + 1 + index}`);
}

async function delayAll(cluster: LocalCluster, delayMs: number): Promise<void> {
  if (delayMs === 0) return;
  const { replicas } = await cluster.status();
  for (const { id: from } of replicas)
    for (const { id: to } of replicas)
      if (from !== to) await cluster.fault({ action: 'delay', from, to, amount: delayMs });
}
