/** The papers' experiments as a page: our figures, the paper's own ratio beside ours, and why they differ. Pure, but for numbers that the drawing counts up. */
import { barChart, type Chart } from '../charts.ts';
import { appliance, baristaTables, piggybackGain } from './published.ts';
import {
  type PapersRun,
  type Subject,
  subjectLabel,
  type TpccResult,
  tpccTimesAsLong,
  type YcsbResult,
} from './papers.ts';
import type { TransactionTimes } from './tpcc-times.ts';

export interface PapersReport {
  readonly markdown: string;
  readonly charts: readonly Chart[];
}

type Cells = readonly string[];

export function papersReport(run: PapersRun, command: string): PapersReport {
  const { machine, commit, startedAt, tookSeconds, options } = run;
  const charts = [
    ...tpccCharts(run.tpcc),
    ...rateCharts('commit-point.svg', 'Updates a second, by how the commit point is told', run.commitPoint),
    ...rateCharts('overhead.svg', 'Half reads, half updates: operations a second', run.overhead),
    ...levelCharts(run.levels),
  ];
  const picture = (file: string): readonly string[] =>
    charts
      .filter((chart) => chart.file === file)
      .flatMap(({ title, says }) => [says, '', `![${title}](${file})`, '']);
  const markdown = [
    `# The papers' experiments, ${startedAt.slice(0, 10)}`,
    '',
    `One machine of ${machine.cores} cores (${machine.cpu}, ${machine.memoryGiB} GiB, ${machine.kernel}), load ${machine.loadBefore} before, for all replicas and their clients; at ${commit ?? 'an unknown commit'}, ${(tookSeconds / 60).toFixed(0)} minutes, each run ${options.seconds} s, one after the other and once. Only ratios within this page say anything.`,
    '',
    '```',
    command,
    '```',
    '',
    ...(run.tpcc.length === 0 ? [] : [...tpccText(run), ...picture('tpcc.svg')]),
    ...(run.commitPoint.length === 0
      ? []
      : [...commitPointText(run.commitPoint), ...picture('commit-point.svg')]),
    ...(run.overhead.length === 0 ? [] : [...overheadText(run.overhead), ...picture('overhead.svg')]),
    ...(run.levels.length === 0
      ? []
      : [...levelsText(run.levels), ...copiesOf(run.levels).flatMap((copies) => picture(levelFile(copies)))]),
  ].join('\n');
  return { markdown: `${markdown}\n`, charts };
}

// ------------------------------------------------------------------------------------------------- barista.txt

function tpccText({ tpcc, scale }: PapersRun): readonly string[] {
  const plain = tpcc.find(({ subject }) => subject === null);
  return [
    '## TPC-C: barista.txt, tables 1 to 3',
    '',
    `Five replicas, one warehouse of ${scale.items} items and ${scale.customers} customers a district, ten terminals without think times, for ${tpccTimesAsLong} times as long as each other run; the consistency conditions held behind each run. Averages and 90th percentiles in milliseconds. The last column of each row is its average as a multiple of one PostgreSQL's; the paper's is that of its own tables.`,
    '',
    ...tpcc.flatMap(({ subject, delayMs, figures }) => [
      `### ${place(subject, delayMs)}`,
      '',
      `${figures.transactions} transactions, ${(figures.transactions / figures.seconds).toFixed(1)} a second.`,
      '',
      ...table(
        ['transaction', '%', 'average', '90th %', 'total', 'rollbacks', 'of one PostgreSQL', "paper's"],
        figures.times.map((each) => [
          each.name,
          ((100 * each.count) / figures.transactions).toFixed(2),
          each.averageMs.toFixed(1),
          each.p90Ms.toFixed(1),
          String(each.count),
          String(each.rolledBack),
          ratio(each.averageMs, timesOf(plain?.figures.times, each.name)),
          papersTimes(subject, each.name),
        ]),
      ),
      '',
    ]),
    "The paper's clients did five transactions a second on one PostgreSQL, so they waited between them, and replicating cost them latency and hardly any throughput; these do not wait. All replicas and clients share the machine here, and each statement is executed by all of them, one at a time. The terminals meet at one warehouse's rows: who waits for one is cancelled, parked and run again, in a savepoint for each statement. Over WAL only COMMIT waits for others.",
    '',
  ];
}

function timesOf(times: readonly TransactionTimes[] | undefined, name: string): number | null {
  return times?.find((each) => each.name === name)?.averageMs ?? null;
}

function papersTimes(subject: Subject, name: string): string {
  if (subject === null) return '1.00';
  if (subject.payload === 'wal') return '–';
  const printed = subject.protocol === 'paxos' ? baristaTables.paxos : baristaTables.multiPaxos;
  return ratio(timesOf(printed, name) ?? Number.NaN, timesOf(baristaTables.plain, name));
}

function tpccCharts(tpcc: readonly TpccResult[]): readonly Chart[] {
  if (tpcc.length === 0) return [];
  return [
    barChart({
      file: 'tpcc.svg',
      title: 'TPC-C: New-Order',
      says: 'How long a New-Order takes: the average, and what nine in ten do not exceed. Shorter is faster.',
      unit: 'ms',
      labels: tpcc.map(({ subject, delayMs }) => place(subject, delayMs)),
      series: [
        { name: 'average', values: tpcc.map((each) => newOrder(each)?.averageMs ?? null) },
        { name: '90th percentile', values: tpcc.map((each) => newOrder(each)?.p90Ms ?? null) },
      ],
    }),
  ];
}

function newOrder({ figures }: TpccResult): TransactionTimes | undefined {
  return figures.times.find(({ name }) => name === 'New-Order');
}

// --------------------------------------------------------------------------- low-overhead-paxos-replication.txt

function commitPointText(results: readonly YcsbResult[]): readonly string[] {
  return [
    '## The commit point: low-overhead-paxos-replication.txt, figures 4 to 7',
    '',
    'Three replicas over WAL, YCSB with updates only. Flushes of logs (one write each), messages and bytes are those of all replicas together, for one transaction. A group is what comes while the log is written to; or, adaptive, what comes within an interval by the paper’s formula (1), as the paper’s own figures have it.',
    '',
    ...table(
      [
        '',
        'clients',
        'tps',
        'of piggyback',
        'p50 ms',
        'p99 ms',
        'flushes',
        'flushes/s',
        'logged bytes',
        'messages',
        'sent bytes',
      ],
      results.map((each) => [
        place(each.subject, each.delayMs),
        String(each.clients),
        each.figures.tps.toFixed(0),
        ratio(each.figures.tps, piggybackOf(results, each)),
        each.figures.percentilesMs.p50.toFixed(1),
        each.figures.percentilesMs.p99.toFixed(1),
        each.costs?.flushes.toFixed(2) ?? '–',
        each.costs === null ? '–' : (each.costs.flushes * each.figures.tps).toFixed(0),
        each.costs?.loggedBytes.toFixed(0) ?? '–',
        each.costs?.messages.toFixed(2) ?? '–',
        each.costs?.sentBytes.toFixed(0) ?? '–',
      ]),
    ),
    '',
    `The paper's: with piggyback at least ${piggybackGain} times the updates of either other way, at 1,400 clients. There the other ways write the commit point to the same disk as the log; whether it is so here the flushes tell.`,
    '',
  ];
}

function piggybackOf(
  results: readonly YcsbResult[],
  { subject, delayMs, clients }: YcsbResult,
): number | null {
  const base = results.find(
    (each) =>
      each.subject?.commitPoint === 'piggyback' &&
      each.subject.groupCommit === subject?.groupCommit &&
      each.delayMs === delayMs &&
      each.clients === clients,
  );
  return base?.figures.tps ?? null;
}

// --------------------------------------------------------------------------------------- clouddbappliance.txt

function overheadText(results: readonly YcsbResult[]): readonly string[] {
  return [
    '## What the middleware costs: clouddbappliance.txt, figures 6 and 7',
    '',
    'YCSB, half reads and half updates. Two copies are three replicas here: two are not safe against a cut link without a third vote.',
    '',
    ...table(
      [
        '',
        'clients',
        'operations/s',
        'of one PostgreSQL',
        'of one replica',
        "paper's",
        'p50 ms',
        'p99 ms',
        'messages',
      ],
      results.map((each) => [
        place(each.subject, each.delayMs),
        String(each.clients),
        each.figures.tps.toFixed(0),
        ratio(each.figures.tps, plainOf(results, each)),
        ratio(each.figures.tps, aloneOf(results, each)),
        isTwoCopies(each) ? (appliance.two / appliance.one).toFixed(2) : '–',
        each.figures.percentilesMs.p50.toFixed(1),
        each.figures.percentilesMs.p99.toFixed(1),
        each.costs?.messages.toFixed(2) ?? '–',
      ]),
    ),
    '',
    "The paper's: about 250 operations a second with one instance behind its middleware, and about 100 with two. There as here each instance executes every statement, reads among them, and a client hears of it when all of those that it waits for have.",
    '',
  ];
}

/** The paper's replicas execute what they are told, as these do. */
function isTwoCopies({ subject }: YcsbResult): boolean {
  return subject?.payload === 'statements' && subject.replicas > 1;
}

/** The same, with nobody to agree with. */
function aloneOf(results: readonly YcsbResult[], { subject, delayMs, clients }: YcsbResult): number | null {
  const alone = results.find(
    (each) =>
      each.subject?.replicas === 1 &&
      each.subject.payload === subject?.payload &&
      each.delayMs === delayMs &&
      each.clients === clients,
  );
  return alone?.figures.tps ?? null;
}

function plainOf(results: readonly YcsbResult[], { clients }: YcsbResult): number | null {
  return results.find((each) => each.subject === null && each.clients === clients)?.figures.tps ?? null;
}

// -------------------------------------------------------------------------------------- h-store-replication.txt

function levelsText(results: readonly YcsbResult[]): readonly string[] {
  return [
    '## When a primary answers: h-store-replication.txt, figures 1 to 4',
    '',
    `YCSB, ${results[0]?.clients} clients, a primary with one copy and with two that execute statements. \`none\`: it is executed; \`async\`: it is on the primary's disk; \`semi\`: on all disks; \`sync\`: executed by all; \`majority\`: on most disks, which the paper does not have.`,
    '',
    ...table(
      ['', '% updates', 'operations/s', 'of none', 'p50 ms', 'p50 of none', 'p99 ms', 'messages'],
      results.map((each) => {
        const base = noneOf(results, each);
        const { tps, percentilesMs } = each.figures;
        return [
          subjectLabel(each.subject),
          String(each.updates),
          tps.toFixed(0),
          ratio(tps, base?.tps ?? null),
          percentilesMs.p50.toFixed(1),
          ratio(percentilesMs.p50, base?.percentilesMs.p50 ?? null),
          percentilesMs.p99.toFixed(1),
          each.costs?.messages.toFixed(2) ?? '–',
        ];
      }),
    ),
    '',
    "The paper's, of no replication: at 100 % updates and one copy synchronous answers take nearly five times as long, semi-synchronous and asynchronous ones at most about 1.3 times; with two copies both halve the operations. There reads are not replicated. Here they are statements like any other, and go through the log, so a run of reads alone costs as much as one of updates.",
    '',
  ];
}

const copiesOf = (results: readonly YcsbResult[]): readonly number[] => [
  ...new Set(results.map(({ subject }) => (subject?.replicas ?? 1) - 1)),
];
const levelFile = (copies: number): string => `levels-${copies}.svg`;

function noneOf(
  results: readonly YcsbResult[],
  { subject, updates }: YcsbResult,
): YcsbResult['figures'] | null {
  const base = results.find(
    (each) =>
      each.subject?.level === 'none' &&
      each.subject.replicas === subject?.replicas &&
      each.updates === updates,
  );
  return base?.figures ?? null;
}

function levelCharts(results: readonly YcsbResult[]): readonly Chart[] {
  return copiesOf(results).map((copies) => {
    const own = results.filter(({ subject }) => subject?.replicas === copies + 1);
    const shares = [...new Set(own.map(({ updates }) => updates))];
    const ofLevel = [...new Set(own.map(({ subject }) => subject?.level ?? ''))];
    const title = `Operations a second by when a primary answers, ${copies === 1 ? 'one copy' : `${copies} copies`}`;
    return barChart({
      file: levelFile(copies),
      title,
      says: `${title}. Longer is faster.`,
      unit: 'a second',
      labels: shares.map((updates) => `${updates} % updates`),
      series: ofLevel.map((level) => ({
        name: level,
        values: shares.map(
          (updates) =>
            own.find((each) => each.subject?.level === level && each.updates === updates)?.figures.tps ??
            null,
        ),
      })),
    });
  });
}

// ------------------------------------------------------------------------------------------------------- common

function rateCharts(file: string, title: string, results: readonly YcsbResult[]): readonly Chart[] {
  if (results.length === 0) return [];
  const places = [...new Set(results.map(({ subject, delayMs }) => place(subject, delayMs)))];
  const clients = [...new Set(results.map((each) => each.clients))];
  const rate = (at: string, count: number): number | null =>
    results.find((each) => place(each.subject, each.delayMs) === at && each.clients === count)?.figures.tps ??
    null;
  return [
    barChart({
      file,
      title,
      says: `${title}. Longer is faster.`,
      unit: 'a second',
      labels: places,
      series: clients.map((count) => ({
        name: `${count} client${count === 1 ? '' : 's'}`,
        values: places.map((at) => rate(at, count)),
      })),
    }),
  ];
}

function place(subject: Subject, delayMs: number): string {
  return `${subjectLabel(subject)}${delayMs === 0 ? '' : `, ${delayMs} ms apart`}`;
}

function ratio(value: number, base: number | null): string {
  return base === null || Number.isNaN(value) ? '–' : (value / base).toFixed(2);
}

function table(heading: Cells, rows: readonly Cells[]): readonly string[] {
  const line = (cells: Cells): string => `| ${cells.join(' | ')} |`;
  return [line(heading), line(heading.map((_, at) => (at === 0 ? '---' : '--:'))), ...rows.map(line)];
}
