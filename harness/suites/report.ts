/** What people read about one suite: the numbers, and for every finding where the two sides part. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import type { Judgement } from './judgement.ts';
import type { Outcome } from './outcome.ts';

const run = promisify(execFile);
const diffLinesMax = 24;
const evidenceCharsMax = 300;
const findingsMax = 40;

export interface Report {
  readonly suite: string;
  readonly judgement: Judgement;
  readonly direct: readonly Outcome[];
  readonly through: readonly Outcome[];
  /** Where the output of the two sides is. */
  readonly out: string;
}

export async function reportText(report: Report): Promise<string> {
  const { suite, judgement, out } = report;
  const { passed, skipped, failedAlike, lost, gained, failedOtherwise, missing, unsteady } = judgement;
  const lines = [
    `${suite}: ${passed} pass on both sides, ${failedAlike.length} fail on both alike, ${skipped} skipped`,
    named('pass direct, and fail through Barista', lost),
    named('fail on both sides, and differ', failedOtherwise),
    named('only one of the sides has them', missing),
    named('fail direct, and pass through Barista', gained),
    named('differ between two direct runs already', unsteady),
  ];
  const findings = [...lost, ...failedOtherwise].slice(0, findingsMax);
  for (const name of findings) lines.push('', `--- ${name}`, await explain(report, name));
  lines.push('', `all output: ${out}`);
  return lines.join('\n');
}

function named(what: string, names: readonly string[]): string {
  return names.length === 0 ? `  none ${what}` : `  ${names.length} ${what}: ${names.join(', ')}`;
}

async function explain({ suite, direct, through, out }: Report, name: string): Promise<string> {
  if (suite === 'regress' || suite === 'isolation') {
    const file = (side: string): string => join(out, side, 'seen', `${name}.out`);
    return difference(file('direct'), file('through'));
  }
  const seen = (outcomes: readonly Outcome[]): string => {
    const found = outcomes.find((outcome) => outcome.name === name);
    if (found === undefined) return 'nothing';
    return `${found.result} ${found.evidence.slice(0, evidenceCharsMax)}`.trimEnd();
  };
  return `direct:  ${seen(direct)}\nthrough: ${seen(through)}`;
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
