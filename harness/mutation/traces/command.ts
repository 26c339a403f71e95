/**
 * `npm run mutate -- traces`: how many alterations of a trace the trace check rejects.
 *
 *   --layer L    consensus (default), apply: what became of the databases, or lease: what leases rest on
 *   --sample N   N classes of alterations, chosen by the seed; without it all of them. Of each class one alteration is judged.
 *   --seed S     chooses the alterations, and the runs that are simulated
 *   --only FILE  this recorded trace in place of simulated ones
 *   --json FILE  where to write the score, with every verdict
 *
 * Responsible for: the choice. A trace as it was recorded must be accepted, else nothing is said about its alterations.
 */
import { writeFile } from 'node:fs/promises';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { checkLeaseTrace, type LeaseRejected } from '../../conformance/lease/lease-trace.ts';
import type { LayerAccepted } from '../../conformance/trace/layer-verdict.ts';
import { checkApplyTrace, type ApplyRejected } from '../../conformance/trace/apply-trace.ts';
import { checkTrace, type Accepted, type Rejected } from '../../conformance/trace/check-trace.ts';
import { readEvents } from '../../conformance/trace/trace-files.ts';
import { sample } from '../sampling.ts';
import { traceMutants, type TraceLayer, type TraceMutant } from './alterations.ts';
import { applyExplanations } from './apply-explained.ts';
import { explanations } from './explained.ts';
import { leaseExplanations } from './lease-explained.ts';
import { judgeTraces } from './judging.ts';
import { scoreOf, tellScore, type JudgedTrace, type TraceScore } from './score.ts';
import { sourcesOf, type TraceSource } from './sources.ts';

export interface TraceMutationOptions {
  readonly layer: TraceLayer;
  readonly sample?: number;
  readonly json?: string;
  readonly seed?: number;
  readonly only?: string;
}

/** As many altered traces as share a run of TLC. */
const perRun = 60;
/** The explanations are of the alterations that it chooses. */
const seedExplained = 1;

/** A mutant, and of which trace. */
interface Chosen {
  readonly name: string;
  readonly className: string;
  readonly mutant: TraceMutant;
  readonly source: TraceSource;
}

/** @throws Error if a trace is not accepted as it is */
export async function runTraceMutation(options: TraceMutationOptions): Promise<TraceScore> {
  const { layer, only, seed = 1 } = options;
  const sources =
    only === undefined ? await sourcesOf(layer, seed) : [{ name: only, events: readEvents([only]) }];
  const all = sources.flatMap((source) =>
    traceMutants(source.events, layer).map(
      (mutant): Chosen => ({ name: mutant.name, className: mutant.className, mutant, source }),
    ),
  );
  const chosen = oneOfEachClass(all, seed, options.sample);
  const judged: JudgedTrace[] = [];
  for (const source of sources) {
    const mutants = chosen.flatMap((one) => (one.source === source ? [one.mutant] : []));
    if (mutants.length === 0) continue;
    await expectAccepted(source, layer);
    for (let at = 0; at < mutants.length; at += perRun) {
      const batch = mutants.slice(at, at + perRun);
      for (const [index, verdict] of (await judgeTraces(source.events, batch, layer)).entries()) {
        const mutant = batch[index]!;
        judged.push({ mutant, verdict, source: source.name, line: source.events.indexOf(mutant.target) + 1 });
        if (verdict === 'accepted') console.log(`accepted: ${mutant.name}, ${source.name}`);
      }
      console.log(`${judged.length} of ${chosen.length} judged`);
    }
  }
  const isExplained = seed === seedExplained && only === undefined;
  const score = scoreOf({
    judged,
    explanations: isExplained ? explained[layer] : new Map(),
    all: new Set(all.map(({ className }) => className)),
  });
  for (const line of tellScore(score)) console.log(line);
  if (options.json !== undefined) await writeFile(options.json, toJson(score, judged));
  return score;
}

const explained: Readonly<Record<TraceLayer, ReadonlyMap<string, string>>> = {
  consensus: explanations,
  apply: applyExplanations,
  lease: leaseExplanations,
};

async function expectAccepted({ name, events }: TraceSource, layer: TraceLayer): Promise<void> {
  const outcome = await judgeAlone(events, layer);
  if (outcome === null) throw new Error(`${name} tells nothing at the layer ${layer}`);
  if (outcome.kind === 'accepted') return;
  const reason = 'reason' in outcome ? outcome.reason : outcome.literal;
  throw new Error(`${name} is not accepted as it is: ${reason}`);
}

function judgeAlone(
  events: readonly TraceEvent[],
  layer: TraceLayer,
): Promise<Rejected | Accepted | ApplyRejected | LeaseRejected | LayerAccepted | null> {
  if (layer === 'apply') return checkApplyTrace(events);
  return layer === 'lease' ? checkLeaseTrace(events) : checkTrace(events, { workers: 1 });
}

export function oneOfEachClass<Mutant extends Pick<TraceMutant, 'name' | 'className'>>(
  mutants: readonly Mutant[],
  seed: number,
  classes: number | undefined,
): readonly Mutant[] {
  const byClass = new Map<string, Mutant[]>();
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
