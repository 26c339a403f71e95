/**
 * pgbench against one plain PostgreSQL and against three replicas on the same machine, in rounds: A B C D, A B C D, ...
 *
 * Responsible for: what is run in which order, and that each figure is of a run without errors. All systems are up all the time, so an
 * idle cluster's heartbeats weigh on the plain PostgreSQL's runs too. Three replicas share the machine's cores and disk here, which hosts of their own would not.
 */
import { startCluster, type LocalCluster } from '../cluster/local-cluster.ts';
import { pgbench } from '../cluster/pg-tools.ts';
import { startPlainPostgres, type PlainPostgres } from './plain-postgres.ts';
import { ratePerSecond, type Row } from './summary.ts';

export const workloadNames = ['tpcb', 'simple-update', 'select'] as const;
export type WorkloadName = (typeof workloadNames)[number];

const scripts: Readonly<Record<WorkloadName, readonly string[]>> = {
  tpcb: ['--builtin=tpcb-like'],
  'simple-update': ['--builtin=simple-update'],
  select: ['--builtin=select-only'],
};

export interface ClusterBenchOptions {
  readonly seconds: number;
  readonly rounds: number;
  readonly scale: number;
  readonly clients: readonly number[];
  readonly workloads: readonly WorkloadName[];
}

export interface ClusterBenchResult {
  readonly postgres: string;
  readonly rows: readonly Row[];
}

interface System {
  readonly name: string;
  /** Connection string; asked for before each run, for leadership may have moved. */
  readonly address: () => Promise<string>;
}

export async function runClusterBench(
  options: ClusterBenchOptions,
  progress: (line: string) => void,
): Promise<ClusterBenchResult> {
  progress('starting one plain PostgreSQL and three replicas');
  const plain = await startPlainPostgres();
  try {
    const cluster = await startCluster();
    try {
      const systems = systemsOf(plain, cluster);
      for (const system of [systems[0], systems[2]]) {
        progress(`loading scale ${options.scale} into: ${system.name}`);
        await bench(system, ['--initialize', '--quiet', `--scale=${options.scale}`]);
      }
      await cluster.settled();
      return { postgres: plain.version, rows: await runRounds(systems, options, progress) };
    } finally {
      await cluster.stop();
    }
  } finally {
    await plain.stop();
  }
}

function systemsOf(plain: PlainPostgres, cluster: LocalCluster): readonly [System, System, System, System] {
  const replica = (port: number): string => `host=127.0.0.1 port=${port} dbname=barista`;
  return [
    { name: 'PostgreSQL, synchronous_commit=on', address: async () => plain.address('on') },
    { name: 'PostgreSQL, synchronous_commit=off', address: async () => plain.address('off') },
    { name: 'Barista x3, at the leader', address: async () => replica((await cluster.leader()).pgwire.port) },
    {
      name: 'Barista x3, through a follower',
      address: async () => {
        const leader = (await cluster.leader()).pgwire.port;
        const follower = cluster.pgwirePorts.find((port) => port !== leader);
        if (follower === undefined) throw new Error('there is no follower');
        return replica(follower);
      },
    },
  ];
}

async function runRounds(
  systems: readonly System[],
  options: ClusterBenchOptions,
  progress: (line: string) => void,
): Promise<Row[]> {
  const { workloads, clients, rounds, seconds } = options;
  const runs = workloads.length * clients.length * rounds * systems.length;
  const rows: Row[] = [];
  let done = 0;
  for (const workload of workloads) {
    for (const count of clients) {
      const rates: number[][] = systems.map(() => []);
      for (let round = 1; round <= rounds; round++) {
        for (const [index, system] of systems.entries()) {
          const load = [
            `--client=${count}`,
            `--jobs=${Math.min(count, 2)}`,
            `--time=${seconds}`,
            '--no-vacuum',
          ];
          const rate = ratePerSecond(await bench(system, [...scripts[workload], ...load]));
          rates[index]?.push(rate);
          const where = `${workload}, ${count} clients, round ${round}, ${system.name}`;
          progress(`${++done}/${runs}  ${where}: ${rate.toFixed(0)}/s`);
        }
      }
      for (const [index, { name }] of systems.entries()) {
        rows.push({ workload, clients: count, system: name, ratesPerSecond: rates[index] ?? [] });
      }
    }
  }
  return rows;
}

async function bench(system: System, args: readonly string[]): Promise<string> {
  // The port in the connection string has the last word.
  const { code, stdout, stderr } = await pgbench(0, [...args, await system.address()]);
  if (code !== 0) throw new Error(`pgbench failed (${system.name}, exit code ${code}):\n${stderr}`);
  return stdout;
}
