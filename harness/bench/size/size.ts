/**
 * `npm run bench -- size`: what grows with the size of the database, and what must not.
 *
 * For each size, in a group of its own: the cost of a transaction; the time from the loss of a follower's database, of its whole disk, and of the leader's process, until every replica has everything again; and a
 * restart of all replicas at once. The databases are pgbench's, and nobody writes while something is mended.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ownCheckout } from '../build-server.ts';
import { untilSettled } from '../compare/arrival.ts';
import { loadAccounts, runLoad, workload, writeScripts, type LoadRun } from '../compare/loads/workloads.ts';
import { cpuMsByPart, lookAtProcesses } from '../compare/processes.ts';
import { requireBuilt, startBarista, versionOf, type BaristaSystems } from '../compare/systems/barista.ts';
import type { FaultRequest } from '../../../server/src/api/status.ts';
import type { Shell } from '../interruptible.ts';
import { describeMachine, type Machine } from '../machine.ts';
import { querySql } from '../sql.ts';

const clients = 16;
/** pgbench's accounts and their key, of scale 1. */
const mebibytesOfScale = 15;
const wholeMsMax = 3_600_000;

export interface SizeOptions {
  readonly megabytes: readonly number[];
  readonly secondsPerRun: number;
}

export interface SizeResult {
  readonly megabytes: number;
  /** Of all databases of the leader's PostgreSQL, as it says itself. */
  readonly bytes: number;
  readonly tps: number;
  readonly cpuMsPerTransaction: number;
  /** Seconds until every replica has everything. */
  readonly databaseLostSeconds: number;
  readonly diskLostSeconds: number;
  readonly leaderKilledSeconds: number;
  /** Until every replica has everything, from the start of all of them. */
  readonly restartSeconds: number;
}

export interface SizeRun {
  readonly machine: Machine;
  readonly commit: string | null;
  readonly options: SizeOptions;
  readonly results: readonly SizeResult[];
}

export async function measureSizes(options: SizeOptions, shell: Shell): Promise<SizeRun> {
  const machine = describeMachine();
  const { commit } = await versionOf(ownCheckout);
  const results: SizeResult[] = [];
  for (const megabytes of options.megabytes) {
    const result = await measureSize(megabytes, options.secondsPerRun, shell);
    results.push(result);
    shell.progress(`${megabytes} MB: ${JSON.stringify(result)}`);
  }
  return { machine, commit, options, results };
}

async function measureSize(
  megabytes: number,
  seconds: number,
  { signal, progress }: Shell,
): Promise<SizeResult> {
  const scale = Math.max(1, Math.round(megabytes / mebibytesOfScale));
  const root = await mkdtemp(join(tmpdir(), 'barista-size-'));
  try {
    const scripts = await writeScripts(root);
    const bin = requireBuilt(ownCheckout);
    progress(`${megabytes} MB: starting three replicas`);
    let systems = await startBarista(bin, join(root, 'cluster'));
    try {
      progress(`${megabytes} MB: loading scale ${scale}`);
      await loadAccounts(systems.barista, scale, signal);
      await untilSettled(systems.barista, signal);
      const cost = await measureCost(systems, {
        workload: workload('update', clients),
        scale,
        seconds,
        scripts,
      });
      const [row] = await querySql(
        await systems.barista.client(),
        'SELECT sum(pg_database_size(oid))::float8 AS bytes FROM pg_database',
      );
      progress(`${megabytes} MB: a follower loses its database, its disk; the leader is killed`);
      const databaseLostSeconds = await mended(systems, async () => ({
        action: 'wipe',
        replica: await followerOf(systems),
        what: 'database',
      }));
      const diskLostSeconds = await mended(systems, async () => ({
        action: 'wipe',
        replica: await followerOf(systems),
        what: 'both',
      }));
      const { id: killed } = await systems.cluster.leader();
      await systems.cluster.fault({ action: 'crash', replica: killed });
      const leaderKilledSeconds = await mended(systems, async () => ({
        action: 'restart',
        replica: killed,
      }));
      signal.throwIfAborted();
      await systems.stop();
      const stoppedMs = performance.now();
      // Replicas know each other by their ports.
      systems = await startBarista(bin, join(root, 'cluster'), {
        basePort: systems.cluster.pgwirePorts[0]!,
      });
      const restartSeconds = secondsSince(stoppedMs);
      return {
        megabytes,
        bytes: Number(row?.['bytes']),
        ...cost,
        databaseLostSeconds,
        diskLostSeconds,
        leaderKilledSeconds,
        restartSeconds,
      };
    } finally {
      await systems.stop();
    }
  } finally {
    await rm(root, { recursive: true, force: true, maxRetries: 5 });
  }

  async function measureCost(
    { barista }: BaristaSystems,
    load: LoadRun,
  ): Promise<Pick<SizeResult, 'tps' | 'cpuMsPerTransaction'>> {
    await runLoad(await barista.doors(), load, signal);
    const parts = await barista.parts();
    const spent = (): number =>
      [...cpuMsByPart(lookAtProcesses(), parts).values()].reduce((sum, ms) => sum + ms, 0);
    const beforeMs = spent();
    const { tps, transactions } = await runLoad(await barista.doors(), load, signal);
    const cpuMs = spent() - beforeMs;
    await untilSettled(barista, signal);
    return { tps, cpuMsPerTransaction: cpuMs / transactions };
  }
}

async function followerOf({ cluster }: BaristaSystems) {
  const { id: leader } = await cluster.leader();
  const { replicas } = await cluster.status();
  const follower = replicas.find(({ id }) => id !== leader);
  if (follower === undefined) throw new Error('there is no follower');
  return follower.id;
}

async function mended({ cluster }: BaristaSystems, fault: () => Promise<FaultRequest>): Promise<number> {
  const request = await fault();
  const beganMs = performance.now();
  await cluster.fault(request);
  await cluster.settled(wholeMsMax);
  return secondsSince(beganMs);
}

function secondsSince(beganMs: number): number {
  return (performance.now() - beganMs) / 1000;
}
