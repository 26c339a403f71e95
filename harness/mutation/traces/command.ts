/**
 * `npm run mutate -- traces`: how many alterations of a trace the trace check rejects.
 *
 *   --sample N   N classes of alterations, chosen by the seed; without it all of them. Of each class one alteration is judged.
 *   --seed S     chooses the alterations, and the run that is simulated
 *   --only FILE  this recorded trace in place of a simulated one
 *   --json FILE  where to write the score, with every verdict
 *
 * Responsible for: the choice. The trace as it was recorded must be accepted, else nothing is said about the alterations.
 */
import { writeFile } from 'node:fs/promises';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { checkTrace } from '../../conformance/trace/check-trace.ts';
import { readEvents } from '../../conformance/trace/read-trace.ts';
import { losses, optionsOfSeed } from '../../simulation/options.ts';
import { simulate } from '../../simulation/simulation.ts';
import { recordTrace } from '../../simulation/trace-recorder.ts';
import { sample } from '../sampling.ts';
import { traceMutants, type TraceMutant } from './alterations.ts';
import { explanations } from './explained.ts';
import { judgeTraces } from './judging.ts';
import { scoreOf, tellScore, type JudgedTrace, type TraceScore } from './score.ts';

export interface TraceMutationOptions {
  readonly sample?: number;
  readonly json?: string;
  readonly seed?: number;
  readonly only?: string;
}

/** As many altered traces as share a run of TLC. */
const perRun = 60;
const stepsSimulated = 500;
const eventsMax = 100_000;
/** The explanations (explained.ts) are of its run. */
const seedExplained = 1;

/** @throws Error if the trace is not accepted as it is */
export async function runTraceMutation(options: TraceMutationOptions): Promise<TraceScore> {
  const seed = options.seed ?? 1;
  const source = options.only ?? `seed ${seed} of the mix that loses disks`;
  const events = options.only === undefined ? simulated(seed) : readEvents([options.only]);
  const outcome = await checkTrace(events, { workers: 1 });
  if (outcome.kind === 'rejected') throw new Error(`${source} is not accepted as it is: ${outcome.reason}`);
  const all = traceMutants(events);
  const chosen = oneOfEachClass(all, seed, options.sample);
  const judged: JudgedTrace[] = [];
  for (let at = 0; at < chosen.length; at += perRun) {
    const batch = chosen.slice(at, at + perRun);
    for (const [index, verdict] of (await judgeTraces(events, batch)).entries()) {
      const mutant = batch[index]!;
      judged.push({ mutant, verdict, line: events.indexOf(mutant.target) + 1 });
      if (verdict === 'accepted') console.log(`accepted: ${mutant.name}`);
    }
    console.log(`${judged.length} of ${chosen.length} judged`);
  }
  const isExplained = seed === seedExplained && options.only === undefined;
  const score = scoreOf({
    source,
    judged,
    explanations: isExplained ? explanations : new Map(),
    all: new Set(all.map(({ className }) => className)),
  });
  for (const line of tellScore(score)) console.log(line);
  if (options.json !== undefined) await writeFile(options.json, toJson(score, judged));
  return score;
}

function simulated(seed: number): readonly TraceEvent[] {
  const recorder = recordTrace(eventsMax);
  const { failure } = simulate(optionsOfSeed(seed, { ...losses, steps: stepsSimulated }), recorder);
  if (failure !== null) throw new Error(`seed ${seed} failed: ${failure.message}`);
  return recorder.events;
}

export function oneOfEachClass(
  mutants: readonly TraceMutant[],
  seed: number,
  classes: number | undefined,
): readonly TraceMutant[] {
  const byClass = new Map<string, TraceMutant[]>();
  for (const mutant of mutants) {
    const others = byClass.get(mutant.className);
    if (others === undefined) byClass.set(mutant.className, [mutant]);
    else others.push(mutant);
  }
  const all = [...byClass.keys()].sort().map((name) => ({ name }));
  const chosen = classes === undefined ? all : sample(all, classes, seed);
  return chosen.flatMap(({ name }) => sample(byClass.get(name)!, 1, seed));
}

function toJson(score: TraceScore, judged: readonly JudgedTrace[]): string {
  const rows = judged.map(({ mutant: { name, className }, verdict }) => ({ name, className, verdict }));
  return `${JSON.stringify({ ...score, judged: rows }, null, 1)}\n`;
}
