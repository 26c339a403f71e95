/** Tests that pytest runs: its report, read. */
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { commandOutput } from './command-output.ts';
import type { Outcome, SuiteRun } from './outcome.ts';
import { parseJunit } from './test-output.ts';

export interface PytestRun {
  readonly python: string;
  /** The suite's source tree. */
  readonly cwd: string;
  /** What to run, and which of it. */
  readonly args: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** The order is fixed: the same on every side. */
export async function runPytest(
  { python, cwd, args, env }: PytestRun,
  { directory, signal }: SuiteRun,
): Promise<readonly Outcome[]> {
  const report = join(directory, 'report.xml');
  const reporting = [`--junitxml=${report}`, '-o', 'junit_family=xunit1'];
  const cache = ['-o', `cache_dir=${join(directory, 'cache')}`];
  const { code, text } = await commandOutput(
    python,
    ['-m', 'pytest', ...args, '-q', '-p', 'no:randomly', ...reporting, ...cache],
    { cwd, env: { ...process.env, ...env }, signal },
  );
  const xml = await readFile(report, 'utf8').catch(() => null);
  if (xml === null) throw new Error(`pytest ended with ${code} and wrote no report:\n${text.slice(-3000)}`);
  return parseJunit(xml);
}
