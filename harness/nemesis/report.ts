/** The verdict, as lines for people. Pure. */
import { anomaliesShownMax, type Anomaly } from '../checkers/anomaly.ts';
import type { CheckedHistory } from '../checkers/check-history.ts';
import { sumReads } from '../checkers/reads-tally.ts';
import { isClean, type RunResult, untriedModes } from './run.ts';

const detailLinesMax = 30;
const lineCharsMax = 600;

export function describeResult(result: RunResult): readonly string[] {
  const { silence } = result;
  return [
    '',
    'Operations',
    ...result.checked.map(describeWorkload),
    '',
    ...describeReads(result.checked),
    ...describeFaults(result),
    `Longest time without any acknowledgement: ${(silence.lengthUs / 1e6).toFixed(2)} s, from ${(silence.fromUs / 1e6).toFixed(1)} s on`,
    `What clients were told instead: ${describeCounts(result.errors)}`,
    ...(result.traces.length === 0 ? [] : ['', 'Traces', ...result.traces.map((line) => `  ${line}`)]),
    ...describeFindings(result.checked, result.anomalies),
    '',
    'Histories (check again with: npm run nemesis -- --check FILE...)',
    ...result.historyFiles.map((path) => `  ${path}`),
    '',
    verdictOf(result),
  ];
}

/** A run that says nothing of a mode is not green. */
export function verdictOf(result: Pick<RunResult, 'checked' | 'anomalies'>): string {
  if (!isClean(result)) return 'VERDICT: FAILED';
  const untried = untriedModes(result.checked);
  if (untried.length === 0) return noAnomaly;
  return `VERDICT: INCOMPLETE, at no follower was anybody answered a read that is ${untried.join(', or ')}`;
}

export const noAnomaly = 'VERDICT: no anomaly';

function describeReads(checked: readonly CheckedHistory[]): readonly string[] {
  const sums = sumReads(checked.flatMap(({ reads }) => reads));
  if (sums.length === 0) return [];
  const rows = sums.map(
    ({ mode, atFollowers, atLeader, refused }) =>
      `  ${mode.padEnd(12)} ${cell(atFollowers)} at followers ${cell(atLeader)} at the leader ${cell(refused)} refused`,
  );
  return ['Reads in a mode, at all replicas', ...rows, ''];
}

export function describeWorkload({ workload, counts, checkMs }: CheckedHistory): string {
  const { ok, fail, info } = counts;
  const name = workload.padEnd(12);
  return `  ${name} ${cell(ok)} ok ${cell(fail)} failed ${cell(info)} unknown   (checked in ${(checkMs / 1000).toFixed(1)} s)`;
}

function cell(count: number): string {
  return String(count).padStart(6);
}

function describeFaults({ nemesis }: RunResult): readonly string[] {
  if (nemesis === null) return [];
  const rows = [...nemesis.tally].map(([kind, { planned, tookEffect, withoutEffect, skipped }]) => {
    const others = [
      withoutEffect > 0 ? `${withoutEffect} without effect` : '',
      skipped > 0 ? `${skipped} skipped` : '',
    ].filter((text) => text !== '');
    return `  ${kind.padEnd(14)} ${String(tookEffect).padStart(3)} of ${planned} took effect${others.length > 0 ? ` (${others.join(', ')})` : ''}`;
  });
  const skips = [...nemesis.skips].map(([reason, count]) => `  skipped ${count} x ${reason}`);
  return ['Faults', ...rows, ...skips, ''];
}

function describeCounts(counts: ReadonlyMap<string, number>): string {
  const sorted = [...counts].sort((a, b) => b[1] - a[1]);
  return sorted.length === 0 ? 'nothing' : sorted.map(([code, count]) => `${code} ${count}`).join(', ');
}

export function describeFindings(
  checked: readonly CheckedHistory[],
  anomalies: readonly Anomaly[],
): readonly string[] {
  const all = [
    ...anomalies.map((anomaly) => ({ where: 'cluster', anomaly })),
    ...checked.flatMap(({ workload, anomalies }) =>
      anomalies.map((anomaly) => ({ where: workload, anomaly })),
    ),
  ];
  const undecided = checked.flatMap(({ workload, gaveUp }) =>
    gaveUp === null ? [] : [`UNDECIDED ${workload}: ${gaveUp}`],
  );
  const shown = checked.length === 0 ? all : limited(all);
  const left = all.length - shown.length;
  return [
    ...undecided,
    ...shown.flatMap(describeFinding),
    ...(left > 0 ? ['', `... and ${left} more anomalies`] : []),
  ];
}

interface Finding {
  readonly where: string;
  readonly anomaly: Anomaly;
}

function describeFinding({ where, anomaly }: Finding): readonly string[] {
  const { kind, summary, detail } = anomaly;
  const lines = detail.slice(0, detailLinesMax).map((line) => `  ${clip(line)}`);
  return ['', `ANOMALY ${where} ${kind}: ${clip(summary)}`].concat(lines);
}

/** A few of each place, for one cause often shows a hundred times. */
function limited(findings: readonly Finding[]): readonly Finding[] {
  const count = new Map<string, number>();
  return findings.filter(({ where }) => {
    const before = count.get(where) ?? 0;
    count.set(where, before + 1);
    return before < anomaliesShownMax;
  });
}

function clip(text: string): string {
  return text.length <= lineCharsMax ? text : `${text.slice(0, lineCharsMax)}...`;
}
