/** What grows with the size of a database, as a table. Pure. */
import { machineLines } from '../machine.ts';
import type { SizeRun } from './size.ts';

const columns = [
  'asked MB',
  'MB',
  'tps',
  'CPU ms',
  'database lost',
  'disk lost',
  'leader killed',
  'restart of all',
];

export function sizeText({ machine, commit, options, results }: SizeRun): string {
  const rows = results.map((each) => [
    String(each.megabytes),
    (each.bytes / 1e6).toFixed(0),
    each.tps.toFixed(0),
    each.cpuMsPerTransaction.toFixed(3),
    ...[each.databaseLostSeconds, each.diskLostSeconds, each.leaderKilledSeconds, each.restartSeconds].map(
      (seconds) => `${seconds.toFixed(1)} s`,
    ),
  ]);
  const line = (cells: readonly string[]): string => cells.map((cell) => cell.padStart(15)).join('');
  return [
    machineLines(machine),
    `commit      ${commit ?? 'unknown'}`,
    `load        UPDATE by key, 16 clients, ${options.secondsPerRun} s; times until every replica has everything again`,
    '',
    line(columns),
    ...rows.map(line),
  ].join('\n');
}
