/** What vitest reported of each test, and which tests took longest. */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { z } from 'zod';
import { root } from './rests-on.ts';

/** One of each kind of test and part. */
export const REPORTS = join(root, 'node_modules/.cache/barista-tests');
const EXPENSIVE_MAX = 10;

const reportSchema = z.object({
  testResults: z.array(
    z.object({
      name: z.string(),
      status: z.string(),
      assertionResults: z.array(
        z.object({ status: z.string(), fullName: z.string(), duration: z.number().nullish() }),
      ),
    }),
  ),
});
export type Report = z.infer<typeof reportSchema>;

export function readReport(file: string): Report {
  return reportSchema.parse(JSON.parse(readFileSync(file, 'utf8')));
}

interface TestOutcome {
  /** File and name. */
  readonly title: string;
  readonly isSkipped: boolean;
  readonly ms: number;
}

/** Of reports written since `sinceMs`. */
export function testOutcomes(sinceMs: number, folder = REPORTS): readonly TestOutcome[] {
  const files = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  return files
    .filter((file) => statSync(file).mtimeMs >= sinceMs)
    .flatMap((file) => readReport(file).testResults)
    .flatMap(({ name, assertionResults }) =>
      assertionResults.map(({ fullName, duration, status }) => ({
        title: `${relative(root, name)}: ${fullName.trim()}`,
        isSkipped: status !== 'passed' && status !== 'failed',
        ms: duration ?? 0,
      })),
    );
}

/** One line for each, the longest first. */
export function expensiveTests(outcomes: readonly TestOutcome[]): readonly string[] {
  return outcomes
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, EXPENSIVE_MAX)
    .map(({ title, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${title}`);
}
