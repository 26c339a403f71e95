/** Development only: what the page cost its browser, as text and as a report that can be kept. Pure, but for the chart's drawing. */
import { type Chart, lineChart } from '../../../harness/bench/charts.ts';
import { type Machine, machineLines } from '../../../harness/bench/machine.ts';
import { quarterMedians, spread } from '../../../harness/bench/summary.ts';
import type { FrameFigures } from './page-meter.ts';
import type { ThreadTime } from './trace-summary.ts';

/** `transactions`: a second, of the wall's clock. `speed`: of the group's own time, to one of the wall's. */
export interface Round extends FrameFigures {
  readonly transactions: number;
  readonly speed: number;
}

export interface HeapLook {
  readonly minute: number;
  readonly bytes: number;
  readonly nodes: number;
  readonly transactions: number;
}

export interface PageFigures {
  readonly machine: Machine;
  readonly commit: string | null;
  readonly command: string;
  readonly browser: string;
  readonly replicas: number;
  readonly clients: number;
  readonly seconds: number;
  /** Of each view, one after the other. */
  readonly views: readonly { readonly view: string; readonly rounds: readonly Round[] }[];
  /** Of the first view. Null: none was recorded. */
  readonly trace: { readonly file: string; readonly threads: readonly ThreadTime[] } | null;
  readonly heap: readonly HeapLook[];
}

const spreadText = (values: readonly number[], digits: number): string => {
  const { min, median, max } = spread(values);
  const [low, middle, high] = [min, median, max].map((value) => value.toFixed(digits));
  return low === high ? middle! : `${middle} (${low} to ${high})`;
};
const percent = (share: number): string => `${(share * 100).toFixed(0)} %`;
const megabytes = (bytes: number): string => (bytes / 1e6).toFixed(1);

export function roundLine(view: string, round: Round): string {
  const { transactions, speed, perSecond, medianMs, p99Ms, longestMs, busy, scripting } = round;
  return `${view}: ${transactions.toFixed(0)} transactions a second (told of at ${speed.toFixed(2)} of their time), ${perSecond.toFixed(1)} frames a second, between them ${medianMs.toFixed(1)} ms, p99 ${p99Ms.toFixed(1)}, longest ${longestMs.toFixed(1)}; its thread ${percent(busy)} busy, of which scripts ${percent(scripting)}`;
}

export function heapLine({ minute, bytes, nodes, transactions }: HeapLook): string {
  return `minute ${minute}: heap ${megabytes(bytes)} MB, ${nodes} nodes, ${transactions} transactions so far`;
}

/** Null: its heap was not looked at for so long that it says anything. */
export function heapChart(heap: readonly HeapLook[]): Chart | null {
  if (heap.length < 4) return null;
  return lineChart({
    file: 'heap.svg',
    title: 'What the page holds',
    says: 'What is reachable in the page’s heap behind a collection of garbage, once a minute.',
    x: 'minutes',
    y: 'MB',
    series: [{ name: 'heap', points: heap.map(({ minute, bytes }) => [minute, bytes / 1e6] as const) }],
  });
}

/** Markdown. `title`: with the day. */
export function pageReport(figures: PageFigures, title: string): string {
  const { machine, commit, command, browser, replicas, clients, seconds, views, trace, heap } = figures;
  const row = ({ view, rounds }: PageFigures['views'][number]): string => {
    const of = (pick: (round: Round) => number, digits: number): string =>
      spreadText(rounds.map(pick), digits);
    const cells = [
      of(({ transactions }) => transactions, 0),
      of(({ perSecond }) => perSecond, 1),
      of(({ medianMs }) => medianMs, 1),
      of(({ p99Ms }) => p99Ms, 1),
      of(({ longestMs }) => longestMs, 1),
      of(({ busy }) => busy * 100, 0),
      of(({ scripting }) => scripting * 100, 0),
    ];
    return `| ${view} | ${cells.join(' | ')} |`;
  };
  const parts = [
    `# ${title}`,
    `What the page costs its browser while it shows a busy group: ${replicas} replicas in simulated time, in a process of its own on the same machine, ${clients} clients, told of by the demo’s own server. ${browser}, 1440x900, drawn without a graphics card. ${views[0]?.rounds.length ?? 0} rounds of ${seconds} s for each view: median (least to most). Transactions are those of a second of the wall’s clock.`,
    `\`\`\`\n${command}\n\n${machineLines(machine)}\ncommit      ${commit ?? 'unknown'}\n\`\`\``,
    '## Frames',
    [
      '| view | transactions/s | frames/s | between, ms | p99, ms | longest, ms | its thread busy, % | scripts, % |',
      '| --- | --: | --: | --: | --: | --: | --: | --: |',
      ...views.map(row),
    ].join('\n'),
  ];
  if (trace !== null) parts.push('## Where the time goes', traceText(trace));
  const chart = heapChart(heap);
  if (chart !== null) parts.push('## Memory', heapText(heap), `![${chart.title}](${chart.file})`);
  return `${parts.join('\n\n')}\n`;
}

function traceText({ file, threads }: NonNullable<PageFigures['trace']>): string {
  const rows = threads.map(
    ({ thread, busy, most }) =>
      `| ${thread} | ${percent(busy)} | ${most.map(({ work, share }) => `${work} ${percent(share)}`).join(', ')} |`,
  );
  return [
    `The browser’s trace of some seconds is [${file}](${file}); its own tools open it (Performance, Load profile). Of each thread, how busy it was, and with what most, without what was done within:`,
    ['| thread | busy | most of it |', '| --- | --: | --- |', ...rows].join('\n'),
  ].join('\n\n');
}

function heapText(heap: readonly HeapLook[]): string {
  const quarters = quarterMedians(heap.map(({ bytes }) => bytes)).map(megabytes);
  const { minute, transactions } = heap.at(-1)!;
  const before = heap[0]!.transactions;
  return `In ${minute} minutes with ${transactions - before} transactions, medians of the four quarters: ${quarters.join(', ')} MB; ${heap[0]!.nodes} elements at the beginning, ${heap.at(-1)!.nodes} at the end.`;
}
