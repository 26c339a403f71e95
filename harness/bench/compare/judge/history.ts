/** All reports side by side: each goal's figure, report by report. Pure. */
import type { Comparison } from '../comparison.ts';
import { format } from './report.ts';

export interface PastReport {
  /** Of its directory. */
  readonly name: string;
  readonly comparison: Comparison;
}

/** Markdown. `reports`: the newest first. */
export function historyText(reports: readonly PastReport[]): string {
  const goals = new Map(
    reports
      .flatMap(({ comparison }) => comparison.judged)
      .map(({ id, label, unit, must, aim }) => [id, { label, unit, must, aim }] as const),
  );
  const heading = ['goal', 'must', 'aim', ...reports.map(headingOf)];
  const rows = [...goals].map(([id, { label, unit, must, aim }]) => {
    const figures = reports.map(({ comparison }) => {
      const judged = comparison.judged.find((each) => each.id === id);
      return judged === undefined ? '–' : format(judged.figure.value, unit);
    });
    return [label, format(must, unit), aim === null ? '–' : format(aim, unit)].concat(figures);
  });
  return `${[
    '# Benchmarks',
    '',
    'Each report is one run of `npm run bench -- compare --report DIR`; this page is written with it. Ratios are speed: 0.5 is half as fast as what the goal names. Absolute figures of two reports differ with the machine; ratios are what may be compared ([how it is measured](../performance.md)).',
    '',
    tableRow(heading),
    tableRow(heading.map((_, at) => (at === 0 ? '---' : '--:'))),
    ...rows.map(tableRow),
  ].join('\n')}\n`;
}

function headingOf({ name, comparison }: PastReport): string {
  const { replicas, delayMs } = comparison.method;
  const special = [
    replicas === 3 ? null : `${replicas} replicas`,
    delayMs === 0 ? null : `${delayMs} ms apart`,
  ];
  const told = special.filter((one) => one !== null).join(', ');
  return `[${name}](${name}/README.md)${told === '' ? '' : `, ${told}`}`;
}

export function tableRow(cells: readonly string[]): string {
  return `| ${cells.join(' | ')} |`;
}
