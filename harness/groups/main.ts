/**
 * The command line of the simulator: `npm run groups -- --seed N [--seeds K] [--mix default|losses] [--replicas 3|5] [--rounds R] [--trace FILE] [--plant NAME] [--archives] [--follower-reads] [--refuses] [--only FAULT]... [--turn MS/N]...`.
 *
 * Runs K seeds from N on, a line for each; a seed that fails is told in full, with the command that replays it, and ends with 1; a command line that is wrong ends with 2. `--mix` names what the faults are drawn from (mixes.ts); with `--only` nothing else befalls the group than these (group-faults.ts). `--trace` writes what the run of
 * the first seed records, for `conformance trace`. With `--archives` each machine keeps an archive of WAL, which is judged. With `--follower-reads` clients read at followers, too. With `--plant` a bug is planted, and the first seed that finds it is told. With `--turn` chance goes another way from there on. `--corpus` runs what was kept of `--explore MINUTES`, which looks for runs that meet new states (explore/).
 */
import { writeFileSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { runSchedule, type ScheduleOptions, type ScheduleResult } from './group-schedule.ts';
import { replicasMax } from '../../server/src/multipaxos/quorum.ts';
import { orUsage, wholeNumber } from '../command-line.ts';
import { faultNames } from './group-faults.ts';
import { isMix, mixes } from './mixes.ts';
import { plantedBugs } from './planted.ts';
import { ofLeases } from './planted-leases.ts';
import { loadMutant } from './mutant.ts';
import { recordRun } from './record-run.ts';
import { explore, runCorpus } from './explore/explore-command.ts';
import { readTurn, turnOptions } from './explore/run-input.ts';

const usage = `usage: groups [--seed N] [--seeds K] [--rounds R] [--replicas 3|5] [--mix ${Object.keys(mixes).join('|')}] [--archives] [--follower-reads] [--only FAULT]... [--turn MS/N]...
              [--trace FILE] [--plant BUG]
       groups --explore MINUTES [--seed N] [--blind]
       groups --corpus
harness/groups/README.md says what befalls a group, and what is judged.`;

const bugs = [...plantedBugs, ...ofLeases];

const options = orUsage(usage, readOptions);

function readOptions() {
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
      'follower-reads': { type: 'boolean', default: false },
      refuses: { type: 'boolean', default: false },
      turn: { type: 'string', multiple: true },
      corpus: { type: 'boolean', default: false },
      explore: { type: 'string' },
      blind: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { mix, plant, explore: minutes, only } = values;
  if (!isMix(mix)) throw new Error(`no mix ${mix}; there are ${Object.keys(mixes).join(', ')}`);
  const bug = bugs.find(({ name }) => name === plant);
  if (plant !== undefined && bug === undefined)
    throw new Error(`no bug ${plant}; there are ${bugs.map(({ name }) => name).join(', ')}`);
  if (minutes !== undefined && !(Number(minutes) > 0))
    throw new Error(`--explore asks for a number of minutes, not ${minutes}`);
  const replicas = wholeNumber('replicas', values.replicas);
  if (replicas > replicasMax) throw new Error(`--replicas must be at most ${replicasMax}, not ${replicas}`);
  const known = faultNames(values.archives || (bug?.strain.archives ?? false));
  const unknown = only?.find((name) => !known.includes(name));
  if (unknown !== undefined) throw new Error(`no fault "${unknown}"; there are: ${known.join('; ')}`);
  // Where nothing can be written, nobody waits for a run.
  if (values.trace !== undefined) writeFileSync(values.trace, '');
  return {
    ...values,
    mix,
    bug,
    replicas,
    seed: wholeNumber('seed', values.seed),
    seeds: wholeNumber('seeds', values.seeds),
    rounds: wholeNumber('rounds', values.rounds),
    turns: values.turn?.map(readTurn) ?? [],
  };
}

const logLevel = process.env['LOG_LEVEL'];

async function main(): Promise<number> {
  if (options.help) {
    console.log(usage);
    return 0;
  }
  if (options.corpus) return runCorpus();
  const { seed: first, seeds, replicas, rounds, mix, turns, bug, blind } = options;
  if (options.explore !== undefined)
    return explore({ minutes: Number(options.explore), firstSeed: first, blind });
  const run = bug === undefined ? runSchedule : await loadMutant(bug.name, bug.mutations);
  const begunAtMs = performance.now();
  let steps = 0;
  for (let seed = first; seed < first + seeds; seed++) {
    const seedAtMs = performance.now();
    const asked = {
      seed,
      turns,
      replicas,
      rounds,
      mix,
      archives: options.archives,
      followerReads: options['follower-reads'],
      refuses: options.refuses,
      ...bug?.strain,
      ...(options.only === undefined ? {} : { only: options.only }),
      ...(logLevel === undefined ? {} : { logLevel }),
    };
    const isTraced = options.trace !== undefined && seed === first;
    const result = isTraced ? await traced(asked, run, options.trace!) : await run(asked);
    steps += result.steps;
    const hasFailed = result.faults.length > 0;
    const tookMs = Math.round(performance.now() - seedAtMs);
    const counts = JSON.stringify(result.counts);
    console.log(`${seed}: ${hasFailed ? 'FAILED' : 'ok'} ${result.simulatedMs} ms in ${tookMs} ms ${counts}`);
    if (hasFailed || seeds === 1) console.log([...result.story, ...result.faults].join('\n'));
    if (!hasFailed) continue;
    const plant = bug === undefined ? '' : ` --plant ${bug.name}`;
    const mixed = mix === 'default' ? '' : ` --mix ${mix}`;
    const archives = `${options.archives ? ' --archives' : ''}${options['follower-reads'] ? ' --follower-reads' : ''}`;
    const only = options.only?.map((name) => ` --only '${name}'`).join('') ?? '';
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
  asked: ScheduleOptions,
  run: typeof runSchedule,
  file: string,
): Promise<ScheduleResult> {
  const { events, result } = await recordRun(asked, run);
  await writeFile(file, events.map((event) => `${JSON.stringify(event)}\n`).join(''));
  console.log(`${events.length} events in ${file}`);
  return result;
}

try {
  process.exitCode = await main();
} catch (error) {
  console.error(error);
  process.exitCode = 2;
}
