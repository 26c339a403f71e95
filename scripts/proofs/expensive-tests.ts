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

/** One line for each, the longest first, of reports written since `sinceMs`. */
export function expensiveTests(sinceMs: number, folder = REPORTS): readonly string[] {
  const files = existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];
  return files
    .filter((file) => statSync(file).mtimeMs >= sinceMs)
    .flatMap((file) => readReport(file).testResults)
    .flatMap(({ name, assertionResults }) =>
      assertionResults.map(({ fullName, duration }) => ({
        file: relative(root, name),
        fullName,
        ms: duration ?? 0,
      })),
    )
    .sort((a, b) => b.ms - a.ms)
    .slice(0, EXPENSIVE_MAX)
    .map(({ file, fullName, ms }) => `${(ms / 1000).toFixed(1).padStart(7)} s  ${file}: ${fullName.trim()}`);
}
