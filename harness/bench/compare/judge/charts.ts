/** The charts of a report, as SVG. Pure, but for numbers that the drawing counts up. */
import { axis, frame, render, type Chart, type Option } from '../../charts.ts';
import { spread } from '../../summary.ts';
import type { Comparison, WorkloadSummary } from '../comparison.ts';
import { labelOfLoss, lossNames } from '../failover.ts';
import { systemIds, systemLabels, type SystemId } from '../systems/system.ts';

const colors: Readonly<Record<SystemId, string>> = {
  plain: '#b9bec7',
  native: '#5d6673',
  remoteApply: '#8d97a5',
  barista: '#8a4b2a',
  direct: '#c98d5e',
  follower: '#b8744a',
  readers: '#d9a441',
  pgpool: '#4f7fb5',
  galera: '#4e9a77',
};
const readWorkloads = new Set(['select', 'ycsb-b', 'ycsb-c', 'ycsb-d', 'ycsb-e']);

export function chartsOf(comparison: Comparison): readonly Chart[] {
  const { summaries, failovers } = comparison;
  const other = summaries.filter(({ workload }) => workload === 'sysbench');
  const writing = summaries.filter((each) => !readWorkloads.has(each.workload) && !other.includes(each));
  const reading = summaries.filter(({ workload }) => readWorkloads.has(workload));
  const charts: Chart[] = [];
  if (writing.length > 0) charts.push(ratesChart('writes.svg', 'Speed where rows are written', writing));
  if (reading.length > 0) charts.push(ratesChart('reads.svg', 'Speed where rows are read, mostly', reading));
  if (other.length > 0) charts.push(ratesChart('sysbench.svg', 'Speed beside MariaDB Galera', other));
  if (summaries.length > 0) charts.push(latencyChart(summaries), cpuChart(summaries));
  if (failovers.length > 0) charts.push(failoverChart(comparison));
  return charts;
}

function ratesChart(file: string, title: string, summaries: readonly WorkloadSummary[]): Chart {
  const present = presentIn(summaries).filter((id) => id !== 'native');
  const categories = summaries.map(({ label }) => label);
  const figures = (system: SystemId): readonly (number | null)[] =>
    summaries.map(({ systems }) => systems.find((each) => each.system === system)?.ofNative ?? null);
  const option: Option = {
    ...frame(
      present.map((system) => systemLabels[system]),
      categories,
    ),
    xAxis: { type: 'value', min: 0, name: 'of what the standbys did', ...axis },
    yAxis: { type: 'category', data: categories, inverse: true, ...axis },
    series: present.map((system, index) => ({
      type: 'bar',
      name: systemLabels[system],
      data: figures(system).map((value) => (value === null ? null : Math.round(value * 1000) / 1000)),
      itemStyle: { color: colors[system] },
      barGap: '10%',
      label: {
        show: true,
        position: 'right',
        fontSize: 10,
        formatter: ({ value }: { value: unknown }) => (typeof value === 'number' ? value.toFixed(2) : ''),
      },
      markLine: index === 0 ? lineOfStandbys : {},
    })),
  };
  const rows = summaries.reduce((sum, { systems }) => sum + systems.length, 0);
  return {
    file,
    title,
    says: 'Transactions per second, as a share of what PostgreSQL with synchronous standbys did in the same rounds: the dashed line. Longer is faster.',
    svg: render(option, 120 + 17 * rows + 14 * summaries.length),
  };
}

const lineOfStandbys = {
  silent: true,
  symbol: 'none',
  label: { show: false },
  lineStyle: { color: colors.native, type: 'dashed' },
  data: [{ xAxis: 1 }],
} as const;

const shares = [
  ['p50', '#d9b38c'],
  ['p95', '#b8744a'],
  ['p99', '#8a4b2a'],
] as const;

function latencyChart(summaries: readonly WorkloadSummary[]): Chart {
  const bars = summaries.flatMap(({ label, systems }) =>
    systems
      .filter(({ system }) => system === 'native' || system === 'barista')
      .map((each) => ({ label: `${label}: ${systemLabels[each.system]}`, times: each.percentilesMs })),
  );
  const option: Option = {
    ...frame(
      shares.map(([name]) => name),
      bars.map(({ label }) => label),
    ),
    xAxis: { type: 'log', name: 'ms', ...axis },
    yAxis: { type: 'category', inverse: true, data: bars.map(({ label }) => label), ...axis },
    series: shares.map(([name, color]) => ({
      type: 'scatter',
      name,
      symbolSize: 9,
      itemStyle: { color },
      data: bars.map((each) => Math.round(each.times[name] * 1000) / 1000),
    })),
  };
  return {
    file: 'latency.svg',
    title: 'How long a transaction takes',
    says: 'Half of all transactions, 95 % and 99 % of them were done within this time; medians of the rounds.',
    svg: render(option, 100 + 20 * bars.length),
  };
}

function cpuChart(summaries: readonly WorkloadSummary[]): Chart {
  const chosen = summaries.filter(({ clients }) => clients === 16);
  const shown = chosen.length > 0 ? chosen : summaries;
  const bars = shown.flatMap(({ label, systems }) =>
    systems
      .filter(({ system }) => ['plain', 'native', 'barista', 'pgpool', 'galera'].includes(system))
      .map((each) => ({
        label: `${label}: ${systemLabels[each.system]}`,
        parts: each.cpuMsByPart,
        standbysMs: standbysMs(systems),
      })),
  );
  const programs = [
    ['node', "Barista's Node.js", '#8a4b2a'],
    ['postgres', 'PostgreSQL', '#5d6673'],
    ['other', 'else', '#4f7fb5'],
  ] as const;
  const sums = bars.map(({ parts, standbysMs: unit }) => {
    const sum = { node: 0, postgres: 0, other: 0 };
    for (const [part, ms] of Object.entries(parts)) {
      const program = part.slice(part.indexOf(' ') + 1);
      sum[program === 'node' || program === 'postgres' ? program : 'other'] += ms / unit;
    }
    return sum;
  });
  const option: Option = {
    ...frame(
      programs.map(([, name]) => name),
      bars.map(({ label }) => label),
    ),
    xAxis: { type: 'value', name: 'of what the standbys took', ...axis },
    yAxis: { type: 'category', inverse: true, data: bars.map(({ label }) => label), ...axis },
    series: programs.map(([program, name, color]) => ({
      type: 'bar',
      stack: 'cpu',
      name,
      itemStyle: { color },
      data: sums.map((sum) => Math.round(sum[program] * 1000) / 1000),
    })),
  };
  return {
    file: 'cpu.svg',
    title: 'Processor time of a transaction',
    says: 'User and system time of all processes of a system, all replicas together, for one transaction, as a multiple of what PostgreSQL with synchronous standbys took. Shorter is cheaper.',
    svg: render(option, 100 + 20 * bars.length),
  };
}

function standbysMs(systems: WorkloadSummary['systems']): number {
  return systems.find(({ system }) => system === 'native')?.cpuMsPerTransaction.median ?? Number.NaN;
}

function failoverChart({ failovers }: Comparison): Chart {
  const kinds = lossNames.filter((loss) => failovers.some((each) => each.loss === loss));
  const palette = { kill: '#8a4b2a', freeze: '#4f7fb5', cut: '#4e9a77' } as const;
  const option: Option = {
    ...frame(kinds.map(labelOfLoss), ['100']),
    xAxis: { type: 'value', min: 0, name: 'ms', ...axis },
    yAxis: { type: 'value', min: 0, max: 100, name: '%', ...axis },
    series: kinds.map((loss) => {
      const times = failovers
        .filter((each) => each.loss === loss)
        .map(({ withoutServiceMs }) => withoutServiceMs)
        .toSorted((a, b) => a - b);
      return {
        type: 'line',
        name: labelOfLoss(loss),
        step: 'end',
        symbol: 'none',
        lineStyle: { color: palette[loss], width: 2 },
        itemStyle: { color: palette[loss] },
        data: [[0, 0], ...times.map((ms, at) => [Math.round(ms), (100 * (at + 1)) / times.length])],
      };
    }),
  };
  const { median } = spread(failovers.map(({ withoutServiceMs }) => withoutServiceMs));
  return {
    file: 'failover.svg',
    title: 'Without service when the leader is lost',
    says: `How many of the losses were over within how long, until a new connection had written again. Median of all ${failovers.length}: ${median.toFixed(0)} ms.`,
    svg: render(option, 380),
  };
}

function presentIn(summaries: readonly WorkloadSummary[]): readonly SystemId[] {
  return systemIds.filter((id) =>
    summaries.some(({ systems }) => systems.some(({ system }) => system === id)),
  );
}
