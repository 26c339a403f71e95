/**
 * `npm run specs:nightly -- [--minutes M] [--workers N]`: the models that take too long for every test run, before a release or at night.
 *
 * Runs those first that were not run for longest, as many as the time allows (default: 240 minutes), and writes the day, the seconds and the machine's size into the manifest. Exit code 0: each that was
 * begun gave what it must; 1: one did not; 2: the command line is wrong.
 */
import { availableParallelism } from 'node:os';
import { parseArgs } from 'node:util';
import { inTurn, noteRun } from './last-run.ts';
import { loadManifest } from './manifest.ts';
import { runModel } from './run-model.ts';
import { endOnSignals, ensureTlc } from './tlc.ts';
import { differences } from './verdict.ts';

const usage = `usage: specs:nightly [--minutes M] [--workers N]
Runs the models that take too long for every test run, those first that were not run for longest. specs/README.md says what each is for.`;

interface Options {
  readonly minutes: number;
  readonly workers: number;
}

function readOptions(argv: readonly string[]): Options | 'help' {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      minutes: { type: 'string', default: '240' },
      workers: { type: 'string', default: String(Math.min(2, availableParallelism())) },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) return 'help';
  const [minutes, workers] = [Number(values.minutes), Number(values.workers)];
  if (!(minutes > 0)) throw new Error(`--minutes ${values.minutes} is not a positive number`);
  if (!Number.isInteger(workers) || workers < 1)
    throw new Error(`--workers ${values.workers} is not a positive whole number`);
  return { minutes, workers };
}

async function main(): Promise<number> {
  const options = readOptions(process.argv.slice(2));
  if (options === 'help') {
    console.log(usage);
    return 0;
  }
  const { minutes, workers } = options;
  const untilMs = Date.now() + minutes * 60_000;
  await ensureTlc();
  const waiting = [...inTurn(loadManifest())];
  let failed = 0;
  for (let model = waiting.shift(); model !== undefined; model = waiting.shift()) {
    const leftSeconds = Math.floor((untilMs - Date.now()) / 1000);
    // One that took longer the last time would be begun for nothing.
    if (leftSeconds < Math.max(1, model.lastRun?.seconds ?? 0)) {
      console.log(`- ${model.name}: no time left (${model.lastRun?.seconds ?? '?'} s the last time)`);
      continue;
    }
    const isCut = leftSeconds < model.timeoutSeconds;
    const observed = await runModel(
      { ...model, timeoutSeconds: Math.min(model.timeoutSeconds, leftSeconds) },
      { workers },
    );
    if (observed.exitCode === null && isCut) {
      console.log(`- ${model.name}: not done when the time was over`);
      continue;
    }
    const found = differences(model, observed);
    console.log(
      `${found.length === 0 ? '✓' : '✗'} ${model.name} (${observed.seconds.toFixed(0)} s) ${found.join('; ')}`,
    );
    if (found.length > 0) failed += 1;
    else
      noteRun(model.name, {
        date: new Date().toISOString().slice(0, 10),
        seconds: Math.ceil(observed.seconds),
        workers,
      });
  }
  console.log(failed === 0 ? 'nothing unexpected' : `${failed} FAILED`);
  return failed === 0 ? 0 : 1;
}

endOnSignals();

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 2;
}
