/** The report that people read, from what was measured. Pure. */
import { spread } from '../../summary.ts';
import { machineLines } from '../../machine.ts';
import type { Comparison } from '../comparison.ts';
import { labelOfLoss, lossNames } from '../failover.ts';
import { of, type Judged } from './goals.ts';
import { systemIds, systemLabels, type SystemId } from '../systems/system.ts';

/** Above this the figures are worth little. */
const othersMax = 0.15;

export function reportText(comparison: Comparison, before: Comparison | null): string {
  const { machine, versions, method } = comparison;
  const { barista } = versions;
  const at = barista.commit === null ? '' : ` at ${barista.commit}`;
  const { warmUpSeconds } = method;
  const warmUp = warmUpSeconds === 0 ? '' : ` after ${warmUpSeconds} s of warming up`;
  return [
    machineLines(machine),
    `Barista     ${barista.version}${at} (${barista.checkout})`,
    `PostgreSQL  ${versions.postgres}; pgbench ${versions.pgbench}, simple protocol, scale ${method.scale}`,
    `replicas    ${method.replicas}${method.delayMs === 0 ? '' : `, ${method.delayMs} ms between them, one way`}; the standbys: ${method.standbys}`,
    ...Object.entries(versions.peers).map(
      ([id, version]) => `peer        ${systemLabels[id as SystemId]} ${version}`,
    ),
    `rounds      ${method.rounds} of ${method.secondsPerRun} s each${warmUp}, interleaved; medians, and the least and most of the rounds`,
    othersLine(comparison),
    '',
    ratesTable(comparison),
    ...timesLines(comparison),
    goalsTable(comparison.judged, before?.judged ?? []),
  ].join('\n');
}

function othersLine({ coresOfOthers }: Comparison): string {
  if (coresOfOthers === null) return 'others      not measured';
  const { median, max } = coresOfOthers;
  const busy = median > othersMax ? '   <- busy: do not trust what follows' : '';
  return `others      ${median.toFixed(2)} cores, at most ${max.toFixed(2)}, busy with something else during runs${busy}`;
}

function ratesTable({ summaries }: Comparison): string {
  const lines = [
    row(['', 'system', 'tps', 'least', 'most', 'p50 ms', 'p99 ms', 'CPU ms', 'of one', 'of stby']),
  ];
  for (const { label, systems, failures } of summaries) {
    lines.push(label);
    for (const { system, tps, percentilesMs, cpuMsPerTransaction, ofPlain, ofNative } of systems) {
      const figures = [tps.median, tps.min, tps.max].map((value) => value.toFixed(0));
      const ratio = (value: number | null): string => (value === null ? '-' : value.toFixed(2));
      const { p50, p99 } = percentilesMs;
      const times = [p50.toFixed(2), p99.toFixed(2), cpuMsPerTransaction.median.toFixed(3)];
      lines.push(row(['', systemLabels[system], ...figures, ...times, ratio(ofPlain), ratio(ofNative)]));
    }
    for (const { system, reason } of failures)
      lines.push(`  ${systemLabels[system]}: ${reason.split('\n', 1)[0]}`);
  }
  return `${lines.join('\n')}\n`;
}

function row([first = '', second = '', ...rest]: readonly string[]): string {
  return `${first.padEnd(2)}${second.padEnd(28)}${rest.map((text) => text.padStart(9)).join('')}`;
}

function timesLines({ copies, idle, failovers }: Comparison): string[] {
  const lines: string[] = [];
  for (const system of systemIds) {
    const own = of(copies, system);
    if (own.length === 0) continue;
    const { min, median, max } = spread(own.map(({ everywhereMs }) => everywhereMs / 1000));
    const acknowledged = spread(own.map(({ acknowledgedMs }) => acknowledgedMs / 1000)).median;
    const range = `${min.toFixed(2)} to ${max.toFixed(2)}`;
    lines.push(
      `COPY, ${systemLabels[system]}: ${median.toFixed(2)} s everywhere (${range}), acknowledged after ${acknowledged.toFixed(2)} s`,
    );
  }
  if (idle !== null) {
    const { seconds, replicasPercent, supervisorPercent } = idle;
    lines.push(
      `idle for ${seconds} s: ${replicasPercent.toFixed(1)}% of a core for the three replicas, ${supervisorPercent.toFixed(1)}% for the demo around them`,
    );
  }
  for (const loss of lossNames) {
    const own = failovers.filter((each) => each.loss === loss);
    if (own.length === 0) continue;
    const gap = spread(own.map(({ withoutServiceMs }) => withoutServiceMs));
    const whole = spread(own.map(({ wholeAgainMs }) => wholeAgainMs / 1000));
    lines.push(
      `${labelOfLoss(loss)}, ${own.length} times: ${gap.median.toFixed(0)} ms without service (${gap.min.toFixed(0)} to ${gap.max.toFixed(0)}); ` +
        `whole again ${whole.median.toFixed(1)} s after its end, at most ${whole.max.toFixed(1)} s`,
    );
  }
  return lines.length === 0 ? [] : [...lines, ''];
}

function goalsTable(judged: readonly Judged[], before: readonly Judged[]): string {
  const heading = ['goal', 'is', 'least', 'most', 'must', 'aim', '', before.length === 0 ? '' : 'before'];
  const lines = judged.map((each) => {
    const { id, label, unit, figure, must, aim, verdict } = each;
    const earlier = before.find((other) => other.id === id);
    const figures = [figure.value, figure.min, figure.max, must, aim].map((value) =>
      value === null ? '-' : format(value, unit),
    );
    const said = { aim: 'aim met', must: 'met', short: 'SHORT' }[verdict];
    return goalRow([
      label,
      ...figures,
      said,
      earlier === undefined ? '' : format(earlier.figure.value, unit),
    ]);
  });
  return [goalRow(heading), ...lines].join('\n');
}

function goalRow([label = '', ...rest]: readonly string[]): string {
  return `${label.padEnd(58)}${rest.map((text) => text.padStart(9)).join('')}`.trimEnd();
}

export function format(value: number, unit: Judged['unit']): string {
  if (unit === 'ratio') return value.toFixed(2);
  if (unit === '%') return `${value.toFixed(1)}%`;
  return value < 10 ? `${value.toFixed(2)} ms` : `${value.toFixed(0)} ms`;
}
