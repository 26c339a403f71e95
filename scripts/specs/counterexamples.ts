/**
 * `npx tsx scripts/specs/counterexamples.ts`: has TLC refute the bug models, and keeps the behaviour that it prints for each, for the page to show.
 *
 *   --changed     only those whose specification, configuration or entry in the manifest is another one than when they were made
 *   --only NAME   those whose name begins so; may be repeated
 *   --workers N   models side by side; default: 2, or 1 on a machine with one core
 *
 * Writes specs/counterexamples: see counterexample-files.ts. Exit code 0 only if each gave what the manifest expects.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import type { Counterexample } from '../../dashboard/src/spec/counterexample.ts';
import { headOf, madeFrom, readCounterexamples, writeCounterexamples } from './counterexample-files.ts';
import { loadManifest, type Model } from './manifest.ts';
import { mapBounded } from './map-bounded.ts';
import { nameSteps } from './named-steps.ts';
import { runModel } from './run-model.ts';
import { endOnSignals, ensureTlc } from './tlc.ts';
import { readTlcTrace } from './tlc-trace.ts';
import { differences } from './verdict.ts';

const { values } = parseArgs({
  options: {
    changed: { type: 'boolean', default: false },
    only: { type: 'string', multiple: true, default: [] },
    workers: { type: 'string', default: String(Math.min(2, availableParallelism())) },
  },
});

/** @returns null, and says why, if TLC gave something else than the manifest expects */
async function make(model: Model, models: readonly Model[], told: string): Promise<Counterexample | null> {
  const head = headOf(model, models);
  // One thread: the behaviour is the same each time.
  const observed = await runModel(model, { workers: 1 });
  const wrong = differences(model, observed);
  if (wrong.length > 0) {
    console.error(`✗ ${told} ${model.name}: ${wrong.join('; ')}`);
    return null;
  }
  const trace = readTlcTrace(observed.output);
  console.log(`✓ ${told} ${model.name}: ${trace.steps.length} states (${observed.seconds.toFixed(1)} s)`);
  const { steps, problem } = nameSteps({ ...head, ...trace });
  if (problem !== null) console.log(`  its steps have TLC's names: ${problem}`);
  return { ...head, ...trace, steps };
}

async function main(): Promise<number> {
  const workers = Number(values.workers);
  if (!Number.isInteger(workers) || workers < 1)
    throw new Error(`--workers ${values.workers} is not a positive number`);
  const models = loadManifest();
  const bugs = models.filter(({ kind }) => kind === 'bug');
  const known = new Map(readCounterexamples().map((one) => [one.name, one]));
  const chosen = bugs.filter((model) => {
    if (values.only.length > 0 && !values.only.some((start) => model.name.startsWith(start))) return false;
    return !values.changed || known.get(model.name)?.madeFrom !== madeFrom(model);
  });
  console.log(`${chosen.length} of ${bugs.length} bug models`);
  await ensureTlc();
  let failed = 0;
  await mapBounded([...chosen.entries()], workers, async ([at, model]) => {
    const made = await make(model, models, `${at + 1}/${chosen.length}`);
    if (made === null) failed++;
    else known.set(model.name, made);
    // After each, so that an interrupted run has kept what it made.
    writeCounterexamples(models, known);
  });
  writeCounterexamples(models, known);
  return failed === 0 ? 0 : 1;
}

endOnSignals();
process.exitCode = await main();
