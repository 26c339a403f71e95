/** All that one run of `compare` found out: what it writes as JSON. Every single run is in it, so that whoever doubts a median can look. */
import type { Machine } from '../machine.ts';
import type { Percentiles } from './loads/latencies.ts';
import type { MachineCosts } from './machine-costs.ts';
import type { BaristaVersion } from './systems/barista.ts';
import type { CopyRun } from './copy.ts';
import type { Failover } from './failover.ts';
import type { Judged } from './judge/goals.ts';
import type { IdleResult } from './idle.ts';
import type { WorkloadResult } from './rounds.ts';
import type { SystemId } from './systems/system.ts';
import type { Spread } from '../summary.ts';

export interface Comparison {
  /** Of this format. */
  readonly version: 2;
  readonly command: string;
  readonly startedAt: string;
  readonly tookSeconds: number;
  readonly machine: Machine;
  readonly versions: {
    readonly barista: BaristaVersion;
    readonly postgres: string;
    readonly psql: string;
    readonly pgbench: string;
    /** Of what others have written, where it is installed. */
    readonly peers: Readonly<Partial<Record<SystemId, string>>>;
  };
  readonly method: {
    readonly protocol: 'simple';
    readonly scale: number;
    readonly rounds: number;
    readonly secondsPerRun: number;
    readonly warmUpSeconds: number;
    readonly replicas: number;
    readonly delayMs: number;
    /** Of every PostgreSQL, Barista's included. */
    readonly settings: Readonly<Record<string, string>>;
    readonly standbys: string;
  };
  /** Cores busy with what was not part of the benchmark, over all runs. */
  readonly coresOfOthers: Spread | null;
  readonly workloads: readonly WorkloadResult[];
  readonly summaries: readonly WorkloadSummary[];
  readonly copies: readonly CopyRun[];
  readonly idle: IdleResult | null;
  readonly failovers: readonly Failover[];
  readonly judged: readonly Judged[];
}

export interface WorkloadSummary {
  readonly workload: string;
  readonly label: string;
  readonly clients: number;
  readonly failures: WorkloadResult['failures'];
  readonly systems: readonly {
    readonly system: SystemId;
    readonly tps: Spread;
    readonly latencyMs: Spread;
    /** Medians of the rounds. */
    readonly percentilesMs: Percentiles;
    readonly cpuMsPerTransaction: Spread;
    readonly cpuMsByPart: Readonly<Record<string, number>>;
    readonly costs: MachineCosts | null;
    /** Of the medians of transactions per second; null: that system was not measured here. */
    readonly ofPlain: number | null;
    readonly ofNative: number | null;
  }[];
}
