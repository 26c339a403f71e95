/**
 * `npm run bench -- failover`: how long nobody can write when the leader is lost, as a function of the election time-out.
 *
 * Responsible for: a cluster for each time-out, under load, whose leader is killed, frozen and cut off in turn. What is measured of each loss is what a comparison measures, too.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownCheckout } from '../build-server.ts';
import { runFailovers, type Failover } from '../compare/failover.ts';
import { loadAccounts, workload, writeScripts } from '../compare/loads/workloads.ts';
import { requireBuilt, startBarista, versionOf } from '../compare/systems/barista.ts';
import type { Shell } from '../interruptible.ts';
import { describeMachine, type Machine } from '../machine.ts';

const clients = 4;
const scale = 10;

export interface FailoverTimesOptions {
  readonly timeoutsMs: readonly number[];
  /** Of each kind, at each time-out. */
  readonly failovers: number;
  /** Losses during which others kept the machine busy are repeated. */
  readonly patient: boolean;
}

export interface FailoverTimes {
  readonly machine: Machine;
  readonly commit: string | null;
  readonly options: FailoverTimesOptions;
  readonly results: readonly { readonly timeoutMs: number; readonly failovers: readonly Failover[] }[];
}

export async function measureFailovers(
  options: FailoverTimesOptions,
  { signal, progress }: Shell,
): Promise<FailoverTimes> {
  const machine = describeMachine();
  const { commit } = await versionOf(ownCheckout);
  const root = await mkdtemp(join(tmpdir(), 'barista-failover-'));
  try {
    const scripts = await writeScripts(root);
    const load = { workload: workload('update', clients), scale, seconds: 60, scripts };
    const results: { timeoutMs: number; failovers: readonly Failover[] }[] = [];
    for (const timeoutMs of options.timeoutsMs) {
      progress(`three replicas with an election time-out of ${timeoutMs} ms`);
      const systems = await startBarista(requireBuilt(ownCheckout), join(root, `cluster-${timeoutMs}`), {
        electionTimeoutMs: timeoutMs,
      });
      try {
        await loadAccounts(systems.barista, scale, signal);
        await systems.cluster.settled();
        const patience = { repeats: options.patient, signal, progress };
        const failovers = await runFailovers({ systems, count: options.failovers, load, patience });
        results.push({ timeoutMs, failovers });
      } finally {
        await systems.stop();
      }
    }
    return { machine, commit, options, results };
  } finally {
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }
}
