/**
 * The simulator's command line: `npm run sim -- --seed N --steps M [--seeds K] [--replicas 3|5] [--trace FILE] [--plant NAME]`.
 *
 * Runs K seeds from N on. Prints what was done and how fast; on a failure the seed, the command that replays it and the last
 * events, and exits with 1.
 */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { optionsOfSeed, type SimulationOptions } from './options.ts';
import { plantedBugs } from './planted.ts';
import { simulate, type SimulationResult } from './simulation.ts';
import { recordTrace } from './trace-recorder.ts';

const lastEventsShown = 40;
const traceEventsMax = 1_000_000;

interface Command {
  readonly seed: number;
  readonly seeds: number;
  readonly steps: number;
  readonly replicas: number;
  readonly traceFile: string | null;
  readonly plant: string | null;
}

function parseCommand(): Command {
  const { values } = parseArgs({
    options: {
      seed: { type: 'string', default: '1' },
      seeds: { type: 'string', default: '1' },
      steps: { type: 'string', default: '10000' },
      replicas: { type: 'string', default: '3' },
      trace: { type: 'string' },
      plant: { type: 'string' },
    },
  });
  return {
    seed: wholeNumber('seed', values.seed),
    seeds: wholeNumber('seeds', values.seeds),
    steps: wholeNumber('steps', values.steps),
    replicas: wholeNumber('replicas', values.replicas),
    traceFile: values.trace ?? null,
    plant: values.plant ?? null,
  };
}

function wholeNumber(name: string, text: string): number {
  const value = Number(text);
  if (!Number.isSafeInteger(value) || value < 1)
    throw new Error(`--${name} must be a positive whole number, not ${text}`);
  return value;
}

function optionsOf(command: Command, seed: number): SimulationOptions {
  const { steps, replicas, plant } = command;
  if (plant === null) return optionsOfSeed(seed, { steps, replicas });
  const planted = plantedBugs.find((bug) => bug.core.name === plant);
  if (planted === undefined) {
    throw new Error(`no bug ${plant}; there are ${plantedBugs.map((bug) => bug.core.name).join(', ')}`);
  }
  return optionsOfSeed(seed, { steps, replicas, ...planted.options, core: planted.core });
}

function replayCommand(command: Command, seed: number): string {
  const plant = command.plant === null ? '' : ` --plant ${command.plant}`;
  return `npm run sim -- --seed ${seed} --steps ${command.steps} --replicas ${command.replicas}${plant}`;
}

/** The same run once more, now with its events: a run does not depend on who watches. */
function printFailure(command: Command, result: SimulationResult): void {
  const { failure, seed } = result;
  const recorder = recordTrace(lastEventsShown);
  simulate(optionsOf(command, seed), recorder);
  for (const { atUs, replica, ...event } of recorder.events) {
    console.error(`${(atUs / 1000).toFixed(3).padStart(12)} ms  ${replica}  ${JSON.stringify(event)}`);
  }
  console.error(
    `seed ${seed} failed at ${failure!.atMs.toFixed(3)} ms of simulated time: ${failure!.message}`,
  );
  console.error(`replay: ${replayCommand(command, seed)}`);
}

function writeTrace(command: Command, path: string): SimulationResult {
  const recorder = recordTrace(traceEventsMax);
  const result = simulate(optionsOf(command, command.seed), recorder);
  writeFileSync(path, recorder.events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  console.log(`${recorder.events.length} events in ${path}`);
  return result;
}

function main(): number {
  const command = parseCommand();
  const total = { steps: 0, chosen: 0, writes: 0, reads: 0 };
  const startMs = performance.now();
  for (let seed = command.seed; seed < command.seed + command.seeds; seed += 1) {
    const result =
      command.traceFile === null
        ? simulate(optionsOf(command, seed))
        : writeTrace(command, command.traceFile);
    total.steps += result.steps;
    total.chosen += result.chosen;
    total.writes += result.acknowledgedWrites;
    total.reads += result.reads;
    if (result.failure !== null) {
      printFailure(command, result);
      return 1;
    }
    if (command.traceFile !== null) break;
  }
  const seconds = (performance.now() - startMs) / 1000;
  console.log(
    `${command.seeds} seeds from ${command.seed}: ${total.steps} steps, ${total.chosen} slots chosen, ${total.writes} writes acknowledged, ` +
      `${total.reads} reads answered in ${seconds.toFixed(1)} s, ${Math.round(total.steps / seconds)} steps/s`,
  );
  return 0;
}

process.exitCode = main();
