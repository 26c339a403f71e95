/** How long nobody could write, by election time-out and by what became of the leader. Pure. */
import { labelOfLoss, lossNames } from '../compare/failover.ts';
import { machineLines } from '../machine.ts';
import { shareBelow } from '../summary.ts';
import type { FailoverTimes } from './failover-times.ts';

const columns = ['time-out', 'least', 'median', '90 %', 'most'];

/** Milliseconds; the time-out is the shortest, followers wait for up to two thirds more. */
export function failoverText({ machine, commit, options, results }: FailoverTimes): string {
  const line = (label: string, cells: readonly string[]): string =>
    label.padEnd(24) + cells.map((cell) => cell.padStart(10)).join('');
  const rows = lossNames.flatMap((loss) =>
    results.map(({ timeoutMs, failovers }) => {
      const gaps = failovers.filter((each) => each.loss === loss).map((each) => each.withoutServiceMs);
      const shares = [0, 0.5, 0.9, 1].map((share) => shareBelow(gaps, share).toFixed(0));
      return line(labelOfLoss(loss), [String(timeoutMs), ...shares]);
    }),
  );
  return [
    machineLines(machine),
    `commit      ${commit ?? 'unknown'}`,
    `losses      ${options.failovers} of each kind at each time-out, under UPDATE by key of 4 clients`,
    '',
    line('ms without service', columns),
    ...rows,
  ].join('\n');
}
