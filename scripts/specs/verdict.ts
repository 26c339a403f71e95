/**
 * Compares what TLC gave with what the manifest expects, and prints the table. Pure.
 */
import type { Model } from './manifest.ts';
import type { TlcResult } from './tlc.ts';

export interface Observed extends Pick<TlcResult, 'exitCode' | 'distinctStates' | 'violated' | 'seconds'> {
  /** Names of the actions that were taken, and of the sights that were seen: see coverage.ts. */
  readonly taken: ReadonlySet<string>;
  readonly seen: ReadonlySet<string>;
}

/** All that differs from what the model expects; empty if it passed. */
export function differences(model: Model, observed: Observed): readonly string[] {
  if (observed.exitCode === null) return [`stopped after ${model.timeoutSeconds} s`];
  const { expect } = model;
  const found: string[] = [];
  if (observed.exitCode !== expect.exitCode) {
    found.push(`exit code ${observed.exitCode}, expected ${expect.exitCode}`);
  }
  if (observed.violated !== expect.violated) {
    found.push(`violated ${observed.violated ?? 'nothing'}, expected ${expect.violated ?? 'nothing'}`);
  }
  if (expect.distinctStates !== null && observed.distinctStates !== expect.distinctStates) {
    found.push(`${observed.distinctStates ?? 'no'} distinct states, expected ${expect.distinctStates}`);
  }
  for (const action of model.takes) if (!observed.taken.has(action)) found.push(`never took ${action}`);
  for (const sight of model.sees) if (!observed.seen.has(sight)) found.push(`never saw that ${sight}`);
  return found;
}

export interface Row {
  readonly model: Model;
  readonly observed: Observed;
  readonly differences: readonly string[];
}

function expected({ expect }: Model): string {
  return expect.violated === null ? 'holds' : `violates ${expect.violated}`;
}

/** One line for each model: name, expected, result, distinct states, seconds. */
export function formatTable(rows: readonly Row[]): string {
  const cells = [
    ['model', 'expected', 'result', 'distinct states', 'seconds'],
    ...rows.map((row) => [
      row.model.name,
      expected(row.model),
      row.differences.length === 0 ? 'as expected' : `FAILED: ${row.differences.join('; ')}`,
      row.observed.distinctStates === null ? '-' : String(row.observed.distinctStates),
      row.observed.seconds.toFixed(1),
    ]),
  ];
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(...cells.map((line) => (line[column] ?? '').length)),
  );
  return cells
    .map((line) =>
      line
        .map((cell, column) =>
          column < 3 ? cell.padEnd(widths[column] ?? 0) : cell.padStart(widths[column] ?? 0),
        )
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}
