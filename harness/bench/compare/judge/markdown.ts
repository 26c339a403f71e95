/** The report as a page: what falls short first, then charts, then every figure. Pure. */
import { spread } from '../../summary.ts';
import type { Comparison, WorkloadSummary } from '../comparison.ts';
import { labelOfLoss, lossNames } from '../failover.ts';
import { systemIds, systemLabels, type SystemId } from '../systems/system.ts';
import type { Chart } from '../../charts.ts';
import { of, type Judged } from './goals.ts';
import { tableRow } from './history.ts';
import { format } from './report.ts';

export function markdownReport(
  comparison: Comparison,
  before: Comparison | null,
  charts: readonly Chart[],
): string {
  const { startedAt, versions } = comparison;
  return `${[
    `# Barista ${versions.barista.commit ?? versions.barista.version}, ${startedAt.slice(0, 10)}`,
    '',
    ...conditions(comparison),
    '',
    '## Goals',
    '',
    ...shortfalls(comparison.judged),
    '',
    ...goals(comparison.judged, before),
    '',
    ...charts.flatMap(({ title, file, says }) => [`## ${title}`, '', says, '', `![${title}](${file})`, '']),
    '## All figures',
    '',
    'Medians of the rounds, in brackets the least and the most. CPU is of all processes of the system, for one transaction. Traffic and writes are those of the whole machine: what the clients and the replicas send over its loopback interface, and what reaches its disk.',
    '',
    ...comparison.summaries.flatMap(workloadTable),
    ...copies(comparison),
    ...failovers(comparison),
  ].join('\n')}\n`;
}

function conditions({
  machine,
  versions,
  method,
  command,
  coresOfOthers,
  tookSeconds,
}: Comparison): readonly string[] {
  const { barista, postgres, pgbench, peers } = versions;
  const others =
    coresOfOthers === null
      ? ''
      : ` Others kept ${coresOfOthers.median.toFixed(2)} cores busy, at most ${coresOfOthers.max.toFixed(2)}.`;
  const named = Object.entries(peers).map(([id, version]) => `${systemLabels[id as SystemId]} ${version}`);
  const delay = method.delayMs === 0 ? '' : ` ${method.delayMs} ms between each two of them, one way.`;
  return [
    `One machine of ${machine.cores} cores (${machine.cpu}, ${machine.memoryGiB} GiB, ${machine.kernel}) for all systems and their clients.${others}`,
    `Barista ${barista.version} at ${barista.commit ?? 'an unknown commit'}, PostgreSQL ${postgres}, pgbench ${pgbench}, Node.js ${machine.node}${named.length === 0 ? '' : `, ${named.join(', ')}`}.`,
    `${method.replicas} replicas;${delay} standbys: \`${method.standbys}\`. ${method.rounds} interleaved rounds of ${method.secondsPerRun} s, scale ${method.scale}, after ${method.warmUpSeconds} s of warming up; ${(tookSeconds / 60).toFixed(0)} minutes in all.`,
    '',
    '```',
    command,
    '```',
  ];
}

function shortfalls(judged: readonly Judged[]): readonly string[] {
  const short = judged.filter(({ verdict }) => verdict === 'short');
  if (judged.length === 0) return ['None of the goals was measured.'];
  if (short.length === 0) return [`All ${judged.length} that were measured reach what they must.`];
  return [
    `${short.length} of ${judged.length} fall short of what they must reach:`,
    '',
    ...short.map(
      ({ label, figure, must, unit }) =>
        `- ${label}: ${format(figure.value, unit)}, and must be ${format(must, unit)}`,
    ),
  ];
}

function goals(judged: readonly Judged[], before: Comparison | null): readonly string[] {
  const heading = ['goal', 'is', 'least to most', 'must', 'aim', ''];
  if (before !== null) heading.push(`at ${before.versions.barista.commit ?? 'before'}`);
  const rows = judged.map(({ id, label, figure, must, aim, unit, verdict }) => {
    const cells = [
      label,
      format(figure.value, unit),
      `${format(figure.min, unit)} to ${format(figure.max, unit)}`,
      format(must, unit),
      aim === null ? '–' : format(aim, unit),
      { aim: 'aim met', must: 'met', short: '**short**' }[verdict],
    ];
    if (before === null) return cells;
    const earlier = before.judged.find((each) => each.id === id);
    return [...cells, earlier === undefined ? '–' : format(earlier.figure.value, unit)];
  });
  return [
    tableRow(heading),
    tableRow(heading.map((_, at) => (at === 0 ? '---' : '--:'))),
    ...rows.map(tableRow),
  ];
}

const columns = [
  'system',
  'per second',
  'of one PostgreSQL',
  'of standbys',
  'p50 ms',
  'p95 ms',
  'p99 ms',
  'CPU ms',
  'kB sent',
  'packets',
  'disk kB',
  'flushes',
];

function workloadTable({ label, systems, failures }: WorkloadSummary): readonly string[] {
  const rows = systems.map((each) => {
    const { tps, ofPlain, ofNative, percentilesMs, cpuMsPerTransaction, costs } = each;
    const ratio = (value: number | null): string => (value === null ? '–' : value.toFixed(2));
    const cost = (value: number | undefined, digits: number): string =>
      value === undefined ? '–' : value.toFixed(digits);
    return tableRow([
      systemLabels[each.system],
      `${whole(tps.median)} (${whole(tps.min)} to ${whole(tps.max)})`,
      ratio(ofPlain),
      ratio(ofNative),
      ...[percentilesMs.p50, percentilesMs.p95, percentilesMs.p99].map((ms) => ms.toFixed(2)),
      cpuMsPerTransaction.median.toFixed(3),
      cost(costs === null ? undefined : costs.loopbackBytes / 1000, 1),
      cost(costs?.loopbackPackets, 1),
      cost(costs === null ? undefined : costs.diskBytes / 1000, 1),
      cost(costs?.diskFlushes, 2),
    ]);
  });
  const left = failures.map(
    ({ system, reason }) => `- ${systemLabels[system]} could not run it: ${reason.split('\n', 1)[0] ?? ''}`,
  );
  const table = [tableRow(columns), tableRow(columns.map((_, at) => (at === 0 ? '---' : '--:'))), ...rows];
  return [`### ${label}`, '', ...table, '', ...(left.length === 0 ? [] : [...left, ''])];
}

function whole(value: number): string {
  return Math.round(value).toLocaleString('en-US');
}

function copies({ copies: runs }: Comparison): readonly string[] {
  if (runs.length === 0) return [];
  const lines = systemIds.flatMap((system) => {
    const own = of(runs, system);
    if (own.length === 0) return [];
    const seconds = (figure: (run: (typeof own)[number]) => number): string => {
      const { median, min, max } = spread(own.map((run) => figure(run) / 1000));
      return `${median.toFixed(2)} (${min.toFixed(2)} to ${max.toFixed(2)})`;
    };
    return [
      tableRow([
        systemLabels[system],
        seconds(({ acknowledgedMs }) => acknowledgedMs),
        seconds(({ everywhereMs }) => everywhereMs),
      ]),
    ];
  });
  return [
    '### COPY of a million rows',
    '',
    '| system | acknowledged after, s | readable everywhere after, s |',
    '| --- | --: | --: |',
    ...lines,
    '',
  ];
}

function failovers({ failovers: runs }: Comparison): readonly string[] {
  if (runs.length === 0) return [];
  const lines = lossNames.flatMap((loss) => {
    const own = runs.filter((each) => each.loss === loss);
    if (own.length === 0) return [];
    const gap = spread(own.map(({ withoutServiceMs }) => withoutServiceMs));
    const back = spread(own.map(({ wholeAgainMs }) => wholeAgainMs / 1000));
    return [
      tableRow([
        labelOfLoss(loss),
        String(own.length),
        `${whole(gap.median)} (${whole(gap.min)} to ${whole(gap.max)})`,
        `${back.median.toFixed(1)} (${back.min.toFixed(1)} to ${back.max.toFixed(1)})`,
      ]),
    ];
  });
  return [
    '### A leader that is lost',
    '',
    'Without service: from the loss until a new connection at another replica has written again. Whole again: from the end of the loss until every replica has everything.',
    '',
    '| loss | times | without service, ms | whole again, s |',
    '| --- | --: | --: | --: |',
    ...lines,
    '',
  ];
}
