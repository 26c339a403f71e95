/**
 * The tests of one kind, but for those that passed with all that they rest on:
 *
 *   npx tsx scripts/proofs/tests.ts --project e2e
 *   --part K/N   each Nth file of those that have to run, from the Kth on
 *   --all        trusts nothing that was noted
 *   --list       says which would run, and runs none
 *
 * What passed is noted in scripts/proofs/proven.json: commit it with the change. Exit code: vitest's, or 0 where nothing had to run.
 */
import { spawn } from 'node:child_process';
import { mkdirSync, rmSync } from 'node:fs';
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { type Part, parsePart, partOf } from '../specs/manifest.ts';
import { readReport, REPORTS } from './test-reports.ts';
import { loadProven, note } from './proven.ts';
import { digestOf, forget, root } from './rests-on.ts';
import { placeOf, type Project, projects, testFiles } from './test-places.ts';

interface Options {
  readonly project: Project;
  readonly part: Part;
  readonly all: boolean;
  readonly list: boolean;
}

const keyOf = (file: string): string => `test ${file}`;

function digestOfTest(file: string): string | null {
  const place = placeOf(file);
  return place === null ? null : digestOf(place);
}

function readOptions(argv: readonly string[]): Options {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      project: { type: 'string', default: '' },
      part: { type: 'string', default: '1/1' },
      all: { type: 'boolean', default: false },
      list: { type: 'boolean', default: false },
    },
  });
  const project = projects.find((one) => one === values.project);
  if (project === undefined) throw new Error(`--project ${values.project} is none of ${projects.join(', ')}`);
  const part = parsePart(values.part);
  if (part === null) throw new Error(`--part ${values.part} is not K/N, of which K is a number from 1 to N`);
  return { project, part, all: values.all, list: values.list };
}

function vitest(project: Project, files: readonly string[], report: string): Promise<number> {
  const args = ['vitest', 'run', '--project', project, '--reporter=default', '--reporter=json'];
  const child = spawn('npx', [...args, `--outputFile.json=${report}`, ...files], {
    cwd: root,
    stdio: 'inherit',
  });
  return new Promise((resolve, reject) => {
    child.on('error', reject);
    child.on('close', (code) => resolve(code ?? 1));
  });
}

/** With the digest of before and after: a file that was altered meanwhile is not what was tested. */
function noteOutcomes(
  report: string,
  before: ReadonlyMap<string, string | null>,
  kinds: readonly string[],
): void {
  const { testResults } = readReport(report);
  forget();
  const outcomes = new Map<string, string | null>();
  for (const { name, status, assertionResults } of testResults) {
    const file = relative(root, name);
    const digest = before.get(file) ?? null;
    if (digest === null) continue;
    const hasAll = status === 'passed' && assertionResults.every((each) => each.status === 'passed');
    outcomes.set(keyOf(file), hasAll && digestOfTest(file) === digest ? digest : null);
  }
  const known = new Set(kinds.map(keyOf));
  note(outcomes, 'test ', (name) => known.has(name));
}

async function main({ project, part, all, list }: Options): Promise<number> {
  const files = testFiles(project);
  const digests = new Map(files.map((file) => [file, digestOfTest(file)]));
  const proven = loadProven();
  const isProven = (file: string): boolean => {
    const digest = digests.get(file) ?? null;
    return !all && digest !== null && proven.get(keyOf(file)) === digest;
  };
  const due = files.filter((file) => !isProven(file));
  const chosen = partOf(due, part);
  const spared = files.length - due.length;
  console.log(
    `${spared} of ${files.length} files of tests passed with all that they rest on; ${chosen.length} of the others run here`,
  );
  if (list) console.log(chosen.join('\n'));
  if (list || chosen.length === 0) return 0;
  mkdirSync(REPORTS, { recursive: true });
  const report = join(REPORTS, `${project}-${part.index}.json`);
  rmSync(report, { force: true });
  const code = await vitest(project, chosen, report);
  noteOutcomes(report, digests, projects.flatMap(testFiles));
  return code;
}

process.exitCode = await main(readOptions(process.argv.slice(2)));
