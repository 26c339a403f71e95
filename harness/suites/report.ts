/** What people read about one suite: the numbers side by side, and for every finding where the two sides part. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Judgement } from './judgement.ts';
import type { Outcome } from './outcome.ts';

const run = promisify(execFile);
const diffLinesMax = 24;
const evidenceCharsMax = 300;
const findingsMax = 40;
const nameWidth = 20;
const columnWidth = 16;

/** One way to Barista. */
export interface SideReport {
  readonly place: string;
  /** Where its output is, in the report's. */
  readonly folder: string;
  readonly through: readonly Outcome[];
  readonly judgement: Judgement;
}

export interface Report {
  readonly suite: string;
  readonly direct: readonly Outcome[];
  readonly sides: readonly SideReport[];
  /** Where the output of all sides is. */
  readonly out: string;
}

export async function reportText(report: Report): Promise<string> {
  const lines = numbers(report);
  for (const side of report.sides) {
    const { lost, failedOtherwise } = side.judgement;
    lines.push('', ...findings(side));
    for (const name of [...lost, ...failedOtherwise].slice(0, findingsMax)) {
      lines.push('', `--- ${side.place}: ${name}`, await explain(report, side, name));
    }
  }
  lines.push('', `all output: ${report.out}`);
  return lines.join('\n');
}

/** Side by side. */
function numbers({ suite, direct, sides }: Report): string[] {
  const columns = [
    { head: 'direct', outcomes: direct },
    ...sides.map(({ place, through }) => ({ head: place, outcomes: through })),
  ];
  const count = (outcomes: readonly Outcome[], result: Outcome['result']): string =>
    String(outcomes.filter((outcome) => outcome.result === result).length);
  const row = (what: string, cells: readonly string[]): string =>
    `${what.padEnd(nameWidth)}${cells.map((cell) => cell.padStart(columnWidth)).join('')}`;
  return [
    row(
      suite,
      columns.map(({ head }) => head),
    ),
    ...(['pass', 'fail', 'skip'] as const).map((result) =>
      row(
        `  ${result}`,
        columns.map(({ outcomes }) => count(outcomes, result)),
      ),
    ),
    row('  pass direct only', ['', ...sides.map(({ judgement }) => String(judgement.lost.length))]),
    row('  fail otherwise', ['', ...sides.map(({ judgement }) => String(judgement.failedOtherwise.length))]),
  ];
}

function findings({ place, judgement }: SideReport): string[] {
  const { failedAlike, lost, gained, failedOtherwise, missing, unsteady } = judgement;
  return [
    `${place}: ${judgement.passed} pass on both sides, ${failedAlike.length} fail on both alike, ${judgement.skipped} skipped`,
    named('pass direct, and fail through Barista', lost),
    named('fail on both sides, and differ', failedOtherwise),
    named('only one of the sides has them', missing),
    named('fail direct, and pass through Barista', gained),
    named('differ between two direct runs already', unsteady),
  ];
}

function named(what: string, names: readonly string[]): string {
  return names.length === 0 ? `  none ${what}` : `  ${names.length} ${what}: ${names.join(', ')}`;
}

async function explain({ suite, direct, out }: Report, side: SideReport, name: string): Promise<string> {
  if (suite === 'regress' || suite === 'isolation') {
    const file = (folder: string): string => join(out, folder, 'seen', `${name}.out`);
    return difference(file('direct'), file(side.folder));
  }
  const seen = (outcomes: readonly Outcome[]): string => {
    const found = outcomes.find((outcome) => outcome.name === name);
    if (found === undefined) return 'nothing';
    return `${found.result} ${found.evidence.slice(0, evidenceCharsMax)}`.trimEnd();
  };
  return `direct:  ${seen(direct)}\nthrough: ${seen(side.through)}`;
}

/** What `diff` says of two files of output, shortened. */
async function difference(one: string, other: string): Promise<string> {
  const text = await run('diff', ['-U', '1', one, other], { maxBuffer: 64 * 1024 * 1024 }).then(
    ({ stdout }) => stdout,
    (error: unknown) => String((error as { readonly stdout?: string }).stdout ?? error),
  );
  const lines = text.trimEnd().split('\n');
  if (lines.length <= diffLinesMax) return lines.join('\n');
  return [...lines.slice(0, diffLinesMax), `... and ${lines.length - diffLinesMax} lines more`].join('\n');
}
