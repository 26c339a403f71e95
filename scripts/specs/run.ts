/**
 * `npx tsx scripts/specs/run.ts`: parses every module, runs the chosen models, and compares each with the manifest.
 *
 *   --size tiny|small|nightly|all-but-nightly|all   default: all-but-nightly
 *   --only NAME      the model of that name, or those whose name begins so, whatever their size; may be repeated
 *   --bugs           only the models that TLC must refute because a rule is dropped
 *   --changed        only those that TLC has not seen with the text that they have now (scripts/proofs/proven.json)
 *   --note           notes there what gave what it must
 *   --part K/N       of what is chosen each N-th model from the K-th on: N processes that are given one part each run all. The first part parses the modules
 *   --workers N      threads in all; default: 2, or 1 on a machine with one core
 *   --verbose        print all that TLC prints
 *
 * Exit code 0 only if every module parses and every model gives exactly what it must.
 */
import { readdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { loadProven } from '../proofs/proven.ts';
import { digestOf, haveToRun, noteChecked } from './checked.ts';
import {
  loadManifest,
  type Model,
  type Part,
  parsePart,
  partOf,
  SIZES,
  type SizeChoice,
  selectModels,
} from './manifest.ts';
import { mapBounded } from './map-bounded.ts';
import { runModel } from './run-model.ts';
import { endOnSignals, ensureTlc, parseModules, SPECS_DIR } from './tlc.ts';
import { differences, formatTable, type Row } from './verdict.ts';

const usage = `usage: specs [--size ${SIZES.join('|')}|all-but-nightly|all] [--only NAME]... [--bugs] [--changed] [--note] [--part K/N] [--workers N] [--verbose]
  --only    the model of that name, or those whose name begins so, whatever their size
  --bugs    only the models that must be refuted because a rule is dropped
  --changed only those that TLC has not seen as they are now
  --note    notes in scripts/proofs/proven.json what gave what it must
  --part    of these each N-th model from the K-th on
specs/README.md says what each model is for.`;

interface Options {
  readonly size: SizeChoice;
  readonly only: readonly string[];
  readonly bugs: boolean;
  readonly changed: boolean;
  readonly note: boolean;
  readonly part: Part;
  readonly workers: number;
  readonly verbose: boolean;
}

function isSizeChoice(text: string): text is SizeChoice {
  return text === 'all' || text === 'all-but-nightly' || SIZES.some((size) => size === text);
}

function readOptions(argv: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      size: { type: 'string', default: 'all-but-nightly' },
      only: { type: 'string', multiple: true, default: [] },
      bugs: { type: 'boolean', default: false },
      changed: { type: 'boolean', default: false },
      note: { type: 'boolean', default: false },
      part: { type: 'string', default: '1/1' },
      workers: { type: 'string', default: String(Math.min(2, availableParallelism())) },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const workers = Number(values.workers);
  if (!Number.isInteger(workers) || workers < 1)
    throw new Error(`--workers ${values.workers} is not a positive number`);
  if (!isSizeChoice(values.size))
    throw new Error(`--size ${values.size} is none of ${SIZES.join(', ')}, all-but-nightly, all`);
  const part = parsePart(values.part);
  if (part === null) throw new Error(`--part ${values.part} is not K/N, of which K is a number from 1 to N`);
  const { size, only, bugs, changed, note, verbose } = values;
  return { size, only, bugs, changed, note, part, workers, verbose };
}

async function parseAll(): Promise<boolean> {
  const modules = readdirSync(SPECS_DIR)
    .filter((file) => file.endsWith('.tla'))
    .map((file) => file.slice(0, -'.tla'.length));
  const bad = await parseModules(modules);
  for (const [module, problem] of bad) console.error(`✗ ${module}.tla does not parse:\n${problem}\n`);
  console.log(`${modules.length - bad.size} of ${modules.length} modules parse`);
  return bad.size === 0;
}

async function runAndTell(model: Model, workers: number, verbose: boolean): Promise<Row> {
  const observed = await runModel(model, {
    workers,
    ...(verbose ? { onOutput: (text: string) => process.stdout.write(text) } : {}),
  });
  const row: Row = { model, observed, differences: differences(model, observed) };
  const mark = row.differences.length === 0 ? '✓' : '✗';
  console.log(`${mark} ${model.name} (${observed.seconds.toFixed(1)} s)`);
  if (row.differences.length > 0 && !verbose) console.error(observed.output.slice(-6000));
  return row;
}

/** Models that take seconds go side by side with one thread each; the others one after the other with all threads. */
async function runModels(models: readonly Model[], { workers, verbose }: Options): Promise<Row[]> {
  const isLight = (model: Model): boolean => model.kind !== 'check' || model.size === 'tiny';
  const light = await mapBounded(models.filter(isLight), workers, (model) => runAndTell(model, 1, verbose));
  const heavy = await mapBounded(
    models.filter((model) => !isLight(model)),
    1,
    (model) => runAndTell(model, workers, verbose),
  );
  return [...light, ...heavy];
}

function whatHasToRun(models: readonly Model[]): readonly Model[] {
  const chosen = haveToRun(models, loadProven());
  console.log(`${chosen.length} of ${models.length} models have changed since TLC saw them`);
  return chosen;
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(usage);
    return 0;
  }
  const all = loadManifest();
  const chosen = selectModels(all, options);
  if (chosen.length === 0) throw new Error('no model matches; specs/manifest names them all');
  const models = partOf(options.changed ? whatHasToRun(chosen) : chosen, options.part);
  await ensureTlc();
  if (options.part.index === 1 && !(await parseAll())) return 1;
  // Before they run: a text that is altered meanwhile is not what was checked.
  const digests = new Map(models.map((model) => [model, digestOf(model)]));
  const rows = await runModels(models, options);
  if (options.note) {
    const outcomes = new Map(rows.map((row) => [row.model, row.differences.length === 0]));
    noteChecked(outcomes, all, digests);
  }
  console.log(`\n${formatTable(rows)}`);
  const failed = rows.filter((row) => row.differences.length > 0);
  console.log(
    failed.length === 0 ? `\nall ${rows.length} as expected` : `\n${failed.length} of ${rows.length} FAILED`,
  );
  return failed.length === 0 ? 0 : 1;
}

endOnSignals();

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
