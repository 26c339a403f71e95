/**
 * Throughput and latency over the last minutes, one sample a second and replica, and when leadership changed hands.
 *
 * Keeps: at most `samplesMax` samples and `changesMax` changes, in order of time; a sample that is not later than the last is dropped.
 */
import type { ReplicaRates } from './frames.ts';

export const samplesMax = 180;
export const changesMax = 32;

export interface RateSample {
  readonly at: number;
  readonly perReplica: Readonly<Record<string, ReplicaRates>>;
}

/** `leader` is null where leadership was lost. `at`: milliseconds since the epoch. */
export interface LeaderChange {
  readonly at: number;
  readonly leader: string | null;
}

export interface RateSeries {
  readonly samples: readonly RateSample[];
  readonly leaderChanges: readonly LeaderChange[];
}

export const emptyRates: RateSeries = { samples: [], leaderChanges: [] };

export function addSample(series: RateSeries, sample: RateSample): RateSeries {
  const last = series.samples.at(-1);
  if (last !== undefined && sample.at <= last.at) return series;
  return { ...series, samples: [...series.samples, sample].slice(-samplesMax) };
}

export function noteLeader(series: RateSeries, leader: string | null, at: number): RateSeries {
  const last = series.leaderChanges.at(-1);
  if (last === undefined ? leader === null : last.leader === leader) return series;
  return { ...series, leaderChanges: [...series.leaderChanges, { at, leader }].slice(-changesMax) };
}

/** Columns for a chart: times in seconds, then one column of `metric` for each replica, null where it has no sample. */
export function columnsOf(
  series: RateSeries,
  replicas: readonly string[],
  metric: keyof ReplicaRates,
): readonly [number[], ...(number | null)[][]] {
  const times = series.samples.map((sample) => sample.at / 1000);
  const columns = replicas.map((id) =>
    series.samples.map((sample) => sample.perReplica[id]?.[metric] ?? null),
  );
  return [times, ...columns];
}

/** The sum of `metric` over all replicas in the latest sample; null: there is none yet. */
export function latestTotal(series: RateSeries, metric: keyof ReplicaRates): number | null {
  const last = series.samples.at(-1);
  if (last === undefined) return null;
  return Object.values(last.perReplica).reduce((sum, rates) => sum + rates[metric], 0);
}
