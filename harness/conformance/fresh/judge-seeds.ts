/**
 * Has what was recorded in the runs of many seeds judged: what the cores did, what whole replicas did to their databases, and what their leases rested on.
 *
 * Responsible for: the verdict on each seed, several seeds to one JVM and several JVMs at once. A run that breaks a rule of the simulator, and a trace that
 * cannot be read or evaluated, are refused as well: nothing passes without a verdict.
 */
import type { JudgeName } from '../judge/judges.ts';
import { applyStepsOf, judgeApplySteps, type ApplyRejected } from '../trace/apply-trace.ts';
import type { ApplySteps } from '../trace/apply-steps.ts';
import { judgeLeaseRuns, leaseRunOf, type LeaseRejected, type LeaseRun } from '../lease/lease-trace.ts';
import { explain, readTrace, type Rejected } from '../trace/check-trace.ts';
import { runPieces, STEPS_PER_RUN_MAX } from '../trace/run-segments.ts';
import type { Piece } from '../trace/trace-module.ts';
import type { RecordedSeed } from './record-fresh.ts';

export interface JudgeOptions {
  /** What is recorded in the run of a seed. @throws Error if the run itself breaks a rule */
  readonly record: (seed: number) => Promise<RecordedSeed>;
  readonly first: number;
  readonly seeds: number;
  readonly judge: JudgeName;
  /** How many run at once. */
  readonly jvms: number;
  readonly onProgress: (done: Totals) => void;
  readonly onRefused: (refused: Refused) => void;
}

export interface Refused {
  readonly seed: number;
  /** Text: there is no verdict of TLC. */
  readonly why: Rejected | ApplyRejected | LeaseRejected | string;
}

export interface Totals {
  readonly seeds: number;
  readonly refused: number;
  readonly events: number;
  /** How often each action occurred. */
  readonly actions: ReadonlyMap<string, number>;
}

interface JudgedSeed {
  readonly seed: number;
  readonly pieces: readonly Piece[];
  /** The layer `apply`; null: there is none, or it is not judged. */
  readonly apply: ApplySteps | null;
  /** The layer `lease`; null: there is none, or it is not judged. */
  readonly lease: LeaseRun | null;
  readonly events: number;
  readonly actions: ReadonlyMap<string, number>;
}

export async function judgeSeeds(options: JudgeOptions): Promise<Totals> {
  const last = options.first + options.seeds - 1;
  const actions = new Map<string, number>();
  const totals = { seeds: 0, refused: 0, events: 0, actions };
  let next = options.first;
  const refuse = (refused: Refused): void => {
    totals.refused++;
    options.onRefused(refused);
  };
  /** As many seeds as go to one JVM. */
  const take = async (): Promise<JudgedSeed[]> => {
    const taken: JudgedSeed[] = [];
    for (let steps = 0; steps < STEPS_PER_RUN_MAX && next <= last; ) {
      const read = await readSeed(next++, options.record);
      totals.seeds++;
      if ('why' in read) {
        refuse(read);
        continue;
      }
      taken.push(read);
      steps += stepsOf(read);
      totals.events += read.events;
      for (const [name, count] of read.actions) actions.set(name, (actions.get(name) ?? 0) + count);
    }
    return taken;
  };
  const lane = async (): Promise<void> => {
    for (let taken = await take(); taken.length > 0; taken = await take()) {
      for (const refused of await refusedOf(taken, options.judge)) refuse(refused);
      options.onProgress(totals);
    }
  };
  await Promise.all(Array.from({ length: options.jvms }, lane));
  return totals;
}

async function readSeed(seed: number, record: JudgeOptions['record']): Promise<JudgedSeed | Refused> {
  try {
    const { events, judgesAll } = await record(seed);
    const { pieces, accepted } = readTrace(events);
    const apply = judgesAll ? applyStepsOf(events) : null;
    const actions = new Map(accepted.actions);
    const lease = judgesAll ? leaseRunOf(events) : null;
    const told: string[] =
      apply?.steps.flatMap(({ event }) => (event === null ? [] : [event.event.name])) ?? [];
    told.push(
      ...(lease?.steps.steps.flatMap(({ event }) => (event === null ? [] : [`lease ${event.name}`])) ?? []),
    );
    for (const name of told) actions.set(name, (actions.get(name) ?? 0) + 1);
    return { seed, pieces, apply, lease, events: accepted.events + told.length, actions };
  } catch (error) {
    return { seed, why: messageOf(error) };
  }
}

/** Where TLC fails on several, they are judged apart, so that one of them takes no verdict from the others. */
async function refusedOf(judged: readonly JudgedSeed[], judge: JudgeName): Promise<Refused[]> {
  const pieces = judged.flatMap((one) => one.pieces.map((piece) => ({ piece, seed: one.seed })));
  try {
    const { matched } = await runPieces(
      pieces.map(({ piece }) => piece),
      { judge },
    );
    const failed = pieces.filter((_, index) => !matched.has(index));
    const firsts = new Map(failed.toReversed().map(({ seed, piece }) => [seed, piece]));
    const refused: Refused[] = [];
    for (const [seed, piece] of firsts) refused.push({ seed, why: await explain(piece, judge) });
    refused.push(
      ...(await refusedAtApply(
        judged.filter(({ seed }) => !firsts.has(seed)),
        judge,
      )),
    );
    const isRefused = new Set(refused.map(({ seed }) => seed));
    refused.push(
      ...(await refusedAtLease(
        judged.filter(({ seed }) => !isRefused.has(seed)),
        judge,
      )),
    );
    return refused.sort((a, b) => a.seed - b.seed);
  } catch (error) {
    const [only] = judged;
    if (judged.length === 1 && only !== undefined) return [{ seed: only.seed, why: messageOf(error) }];
    const apart: Refused[] = [];
    for (const one of judged) apart.push(...(await refusedOf([one], judge)));
    return apart;
  }
}

async function refusedAtApply(judged: readonly JudgedSeed[], judge: JudgeName): Promise<Refused[]> {
  const runs = judged.flatMap(({ seed, apply }) => (apply === null ? [] : [{ seed, apply }]));
  const outcomes = await judgeApplySteps(
    runs.map(({ apply }) => apply),
    judge,
  );
  return runs.flatMap(({ seed }, index) => {
    const why = outcomes[index];
    return why?.kind === 'rejected' ? [{ seed, why }] : [];
  });
}

async function refusedAtLease(judged: readonly JudgedSeed[], judge: JudgeName): Promise<Refused[]> {
  const runs = judged.flatMap(({ seed, lease }) => (lease === null ? [] : [{ seed, lease }]));
  const outcomes = await judgeLeaseRuns(
    runs.map(({ lease }) => lease),
    judge,
  );
  return runs.flatMap(({ seed }, index) => {
    const why = outcomes[index];
    return why?.kind === 'rejected' ? [{ seed, why }] : [];
  });
}

function stepsOf({ pieces }: JudgedSeed): number {
  return pieces.reduce((steps, { segment }) => steps + segment.steps.length, 0);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
