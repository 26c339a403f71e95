/** A report of the papers' experiments as a directory: README.md, its charts, and all figures as JSON. */
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { papersReport } from './papers-report.ts';
import type { PapersRun } from './papers.ts';

/** Replaces what an earlier one left there. */
export function writePapers(directory: string, run: PapersRun, command: string): void {
  mkdirSync(directory, { recursive: true });
  const { markdown, charts } = papersReport(run, command);
  for (const { file, svg } of charts) writeFileSync(join(directory, file), svg);
  writeFileSync(join(directory, 'README.md'), markdown);
  writeFileSync(join(directory, 'figures.json'), `${JSON.stringify(run)}\n`);
}
