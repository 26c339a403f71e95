/** How long single transactions took, as percentiles. */
import { BenchError } from '../../bench-error.ts';

export interface Percentiles {
  readonly p50: number;
  readonly p95: number;
  readonly p99: number;
}

/** The smallest time that this share of all transactions did not exceed; and the mean. @throws Error if there was none */
export function percentilesOf(timesMs: readonly number[]): Percentiles & { readonly meanMs: number } {
  if (timesMs.length === 0)
    throw new BenchError('not one transaction was done: the machine is too busy, or the runs are too short');
  const sorted = Float64Array.from(timesMs).sort();
  const at = (share: number): number => sorted[Math.ceil(sorted.length * share) - 1] ?? 0;
  const meanMs = sorted.reduce((sum, each) => sum + each, 0) / sorted.length;
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99), meanMs };
}

/** The same of a histogram: values in ascending order, with how many transactions each stands for. */
export function percentilesOfHistogram(
  buckets: readonly (readonly [valueMs: number, count: number])[],
): Percentiles {
  const total = buckets.reduce((sum, [, count]) => sum + count, 0);
  if (total === 0) throw new BenchError('not one transaction was done');
  const at = (share: number): number => {
    let seen = 0;
    for (const [valueMs, count] of buckets) {
      seen += count;
      if (seen >= total * share) return valueMs;
    }
    return buckets.at(-1)?.[0] ?? 0;
  };
  return { p50: at(0.5), p95: at(0.95), p99: at(0.99) };
}

/** pgbench's log of transactions: client, number, microseconds, and what does not matter here. Added to `timesMs`. */
export function readTransactionLog(text: string, timesMs: number[]): void {
  for (const line of text.split('\n')) {
    if (line === '') continue;
    const us = Number(line.split(' ', 3)[2]);
    if (!Number.isFinite(us)) throw new Error(`pgbench's log has a line that is none: ${line}`);
    timesMs.push(us / 1000);
  }
}

/** pgbench does not say when its log finds no room on the disk. @throws BenchError if times are missing */
export function requireWhole(timesMs: readonly number[], transactions: number): void {
  if (timesMs.length === transactions) return;
  throw new BenchError(
    `pgbench's log tells of ${timesMs.length} transactions, of ${transactions}: is there room in the temporary directory?`,
  );
}
