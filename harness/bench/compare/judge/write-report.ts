/**
 * A report as a directory: README.md, its charts as SVG, and all figures as JSON; and beside such directories the history of all of them.
 *
 * Responsible for: files. What is in them is written elsewhere.
 */
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import type { Comparison } from '../comparison.ts';
import { chartsOf } from './charts.ts';
import { historyText, type PastReport } from './history.ts';
import { markdownReport } from './markdown.ts';

const figuresFile = 'figures.json';

/** Replaces what an earlier report left in that directory. */
export function writeReport(directory: string, comparison: Comparison, before: Comparison | null): void {
  mkdirSync(directory, { recursive: true });
  const charts = chartsOf(comparison);
  for (const { file, svg } of charts) writeFileSync(join(directory, file), svg);
  writeFileSync(join(directory, 'README.md'), markdownReport(comparison, before, charts));
  writeFileSync(join(directory, figuresFile), `${JSON.stringify(comparison)}\n`);
  const all = dirname(resolve(directory));
  writeFileSync(join(all, 'README.md'), historyText(pastReports(all)));
}

/** The newest first. Reports of other benchmarks may stand beside them. */
function pastReports(directory: string): readonly PastReport[] {
  return readdirSync(directory)
    .filter((name) => existsSync(join(directory, name, figuresFile)))
    .map((name) => ({
      name,
      comparison: JSON.parse(readFileSync(join(directory, name, figuresFile), 'utf8')) as Partial<Comparison>,
    }))
    .filter((report): report is PastReport => report.comparison.judged !== undefined)
    .toSorted((a, b) => b.comparison.startedAt.localeCompare(a.comparison.startedAt));
}
