/**
 * The command line of the simulator: `npm run groups -- --seed N [--seeds K] [--mix default|losses] [--replicas 3|5] [--rounds R] [--trace FILE] [--plant NAME] [--archives] [--only FAULT]... [--turn MS/N]...`.
 *
 * Runs K seeds from N on, a line for each; a seed that fails is told in full, with the command that replays it, and ends with 1. `--mix` names what the faults are drawn from (mixes.ts); with `--only` nothing else befalls the group than these (group-faults.ts). `--trace` writes what the run of
 * the first seed records, for `conformance trace`. With `--archives` each machine keeps an archive of WAL, which is judged. With `--plant` a bug is planted, and the first seed that finds it is told. With `--turn` chance goes another way from there on. `--corpus` runs what was kept of `--explore MINUTES`, which looks for runs that meet new states (explore/).
 */
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { runSchedule, type ScheduleOptions, type ScheduleResult } from './group-schedule.ts';
import { isMix, mixes } from './mixes.ts';
import { plantedBugs } from './planted.ts';
import { ofLeases } from './planted-leases.ts';
import { loadMutant } from './mutant.ts';
import { recordRun } from './record-run.ts';
import { explore, runCorpus } from './explore/explore-command.ts';
import { readTurn, turnOptions } from './explore/run-input.ts';

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    seeds: { type: 'string', default: '1' },
    replicas: { type: 'string', default: '3' },
    rounds: { type: 'string', default: '2' },
    mix: { type: 'string', default: 'default' },
    trace: { type: 'string' },
    plant: { type: 'string' },
    only: { type: 'string', multiple: true },
    archives: { type: 'boolean', default: false },
    turn: { type: 'string', multiple: true },
    corpus: { type: 'boolean', default: false },
    explore: { type: 'string' },
    blind: { type: 'boolean', default: false },
  },
});

const [first, seeds, replicas, rounds] = [values.seed, values.seeds, values.replicas, values.rounds].map(
  Number,
) as [number, number, number, number];
const logLevel = process.env['LOG_LEVEL'];

async function main(): Promise<number> {
  if (values.corpus) return runCorpus();
  if (values.explore !== undefined)
    return explore({ minutes: Number(values.explore), firstSeed: first, blind: values.blind });
  const { mix } = values;
  if (!isMix(mix)) throw new Error(`no mix ${mix}; there are ${Object.keys(mixes).join(', ')}`);
  const turns = values.turn?.map(readTurn) ?? [];
  const bugs = [...plantedBugs, ...ofLeases];
  const bug = bugs.find(({ name }) => name === values.plant);
  if (values.plant !== undefined && bug === undefined)
    throw new Error(`no bug ${values.plant}; there are ${bugs.map(({ name }) => name).join(', ')}`);
  const run = bug === undefined ? runSchedule : await loadMutant(bug.name, bug.mutations);
  const begunAtMs = performance.now();
  let steps = 0;
  for (let seed = first; seed < first + seeds; seed++) {
    const seedAtMs = performance.now();
    const options = {
      seed,
      turns,
      replicas,
      rounds,
      mix,
      archives: values.archives,
      ...bug?.strain,
      ...(values.only === undefined ? {} : { only: values.only }),
      ...(logLevel === undefined ? {} : { logLevel }),
    };
    const isTraced = values.trace !== undefined && seed === first;
    const result = isTraced ? await traced(options, run, values.trace!) : await run(options);
    steps += result.steps;
    const hasFailed = result.faults.length > 0;
    const tookMs = Math.round(performance.now() - seedAtMs);
    const counts = JSON.stringify(result.counts);
    console.log(`${seed}: ${hasFailed ? 'FAILED' : 'ok'} ${result.simulatedMs} ms in ${tookMs} ms ${counts}`);
    if (hasFailed || seeds === 1) console.log([...result.story, ...result.faults].join('\n'));
    if (!hasFailed) continue;
    const plant = bug === undefined ? '' : ` --plant ${bug.name}`;
    const mixed = mix === 'default' ? '' : ` --mix ${mix}`;
    const archives = values.archives ? ' --archives' : '';
    const only = values.only?.map((name) => ` --only '${name}'`).join('') ?? '';
    console.log(
      `replay: npm run groups -- --seed ${seed} --replicas ${replicas} --rounds ${rounds}${mixed}${archives}${plant}${only}${turnOptions(turns)}`,
    );
    return 1;
  }
  const seconds = (performance.now() - begunAtMs) / 1000;
  console.log(
    `${seeds} seeds: ${steps} steps in ${seconds.toFixed(1)} s, ${Math.round(steps / seconds)} steps/s`,
  );
  return 0;
}

async function traced(
  options: ScheduleOptions,
  run: typeof runSchedule,
  file: string,
): Promise<ScheduleResult> {
  const { events, result } = await recordRun(options, run);
  await writeFile(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  console.log(`${events.length} events in ${file}`);
  return result;
}

process.exitCode = await main();
