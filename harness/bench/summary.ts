/**
 * From what pgbench printed to a table: minimum, median and maximum of the rounds, and each system's ratio to the first.
 *
 * Pure. Ratios are of medians: of runs on a noisy machine they say more than the figures themselves.
 */

/** @throws if pgbench reported failed transactions, or no rate at all */
export function ratePerSecond(pgbenchOutput: string): number {
  const failed = /number of failed transactions: (\d+)/.exec(pgbenchOutput)?.[1] ?? '0';
  if (failed !== '0') throw new Error(`pgbench reports ${failed} failed transactions:\n${pgbenchOutput}`);
  const rate = /^tps = ([\d.]+) \(without initial connection time\)/m.exec(pgbenchOutput)?.[1];
  if (rate === undefined) throw new Error(`pgbench reported no rate:\n${pgbenchOutput}`);
  return Number(rate);
}

export interface Spread {
  readonly min: number;
  readonly median: number;
  readonly max: number;
}

/** @throws RangeError if there are no values */
export function spread(values: readonly number[]): Spread {
  const sorted = values.toSorted((a, b) => a - b);
  const [min] = sorted;
  const max = sorted.at(-1);
  if (min === undefined || max === undefined) throw new RangeError('no values');
  const upper = sorted[Math.floor(sorted.length / 2)] ?? max;
  const lower = sorted[Math.ceil(sorted.length / 2) - 1] ?? min;
  return { min, median: (lower + upper) / 2, max };
}

/** The smallest value that at least this share of all does not exceed. @throws RangeError if there are no values */
export function shareBelow(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  const value = sorted[Math.max(0, Math.ceil(sorted.length * share) - 1)];
  if (value === undefined) throw new RangeError('no values');
  return value;
}

export interface Row {
  readonly workload: string;
  readonly clients: number;
  readonly system: string;
  readonly ratesPerSecond: readonly number[];
}

/** One line per row; a workload's first system is what the others are compared with. */
export function table(rows: readonly Row[]): string {
  const lines = [line('workload', 'clients', 'system', 'min', 'median', 'max', 'ratio')];
  let base = 0;
  let heading = '';
  for (const { workload, clients, system, ratesPerSecond } of rows) {
    const { min, median, max } = spread(ratesPerSecond);
    if (`${workload} ${clients}` !== heading) {
      heading = `${workload} ${clients}`;
      base = median;
      lines.push('');
    }
    const rates = [min, median, max].map((rate) => rate.toFixed(0));
    lines.push(line(workload, String(clients), system, ...rates, (median / base).toFixed(2)));
  }
  return lines.join('\n');
}

function line(workload: string, clients: string, system: string, ...figures: readonly string[]): string {
  const right = figures.map((text) => text.padStart(9)).join('');
  return `${workload.padEnd(14)}${clients.padStart(8)}  ${system.padEnd(32)}${right}`;
}

/** Medians of the four quarters of the time, in which they were taken evenly. @throws RangeError if there are fewer than four values */
export function quarterMedians(values: readonly number[]): readonly number[] {
  if (values.length < 4) throw new RangeError('too few values for quarters');
  return [0, 1, 2, 3].map((quarter) => {
    const part = values.slice((values.length * quarter) / 4, (values.length * (quarter + 1)) / 4);
    return spread(part).median;
  });
}
