/**
 * Holds what the replicas recorded of a run under faults to the specs, and alters it in one place after another: of that nothing may be accepted.
 *
 * Responsible for: the verdicts, as anomalies. What an altered trace is told of is another's (`mutate.ts`, `apply-mutants.ts`), what the specs allow TLC's. Needs Java, and minutes for some ten thousand events: it is for
 * runs with little load.
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { Anomaly } from '../checkers/anomaly.ts';
import { applyMutants } from '../conformance/trace/apply-mutants.ts';
import { checkApplyTrace, checkApplyTraces } from '../conformance/trace/apply-trace.ts';
import { checkTrace, findRejections } from '../conformance/trace/check-trace.ts';
import { mutants, mutate, type MutantKind } from '../conformance/trace/mutate.ts';

export interface TraceVerdict {
  readonly anomalies: readonly Anomaly[];
  /** What was checked, for people. */
  readonly told: readonly string[];
}

/** @throws Error if TLC fails, or a trace has gaps */
export async function judgeTraces(
  events: readonly TraceEvent[],
  say: (line: string) => void,
): Promise<TraceVerdict> {
  const accepted = [await judgeConsensus(events), await judgeApply(events)];
  const anomalies = accepted.flatMap((each) => each.anomalies);
  const told = accepted.flatMap((each) => each.told);
  for (const line of told) say(line);
  // What is rejected as it is says nothing about mutants.
  if (anomalies.length > 0) return { anomalies, told };
  const altered = [await judgeMutants(events), await judgeApplyMutants(events)];
  return {
    anomalies: altered.flatMap((each) => each.anomalies),
    told: [...told, ...altered.flatMap((each) => each.told)],
  };
}

async function judgeConsensus(events: readonly TraceEvent[]): Promise<TraceVerdict> {
  const outcome = await checkTrace(events);
  if (outcome.kind === 'accepted') {
    const { events: count, steps, lost } = outcome;
    return {
      anomalies: [],
      told: [
        `consensus: ${count} events accepted, in ${steps} steps of the spec; ${lost} were lost with a kill`,
      ],
    };
  }
  const { event, recorded, step, reason } = outcome;
  const summary = `consensus: event ${event} is no step of the spec: ${step}`;
  return {
    anomalies: [{ kind: 'trace-rejected', summary, detail: [reason, JSON.stringify(recorded)] }],
    told: [],
  };
}

async function judgeApply(events: readonly TraceEvent[]): Promise<TraceVerdict> {
  const outcome = await checkApplyTrace(events);
  if (outcome === null) throw new Error('there is no event of a database in the trace');
  if (outcome.kind === 'accepted')
    return { anomalies: [], told: [`ordered apply: ${outcome.events} events accepted`] };
  const { event, recorded, literal } = outcome;
  const summary = `ordered apply: event ${event} is no step of the spec`;
  return {
    anomalies: [{ kind: 'trace-rejected', summary, detail: [literal, JSON.stringify(recorded)] }],
    told: [],
  };
}

async function judgeMutants(events: readonly TraceEvent[]): Promise<TraceVerdict> {
  const kinds = Object.keys(mutants) as MutantKind[];
  const altered = kinds.flatMap((kind) => {
    const trace = withAlteration(() => mutate(events, kind).events);
    return trace === null ? [] : [{ shows: mutants[kind].shows, trace }];
  });
  const found = await findRejections(
    altered.map(({ trace }) => trace),
    events,
  );
  const isRejected = altered.map((_, index) => found[index] != null);
  return mutantVerdict('consensus', altered, isRejected, kinds.length);
}

async function judgeApplyMutants(events: readonly TraceEvent[]): Promise<TraceVerdict> {
  const kinds = Object.entries(applyMutants);
  const altered = kinds.flatMap(([shows, alter]) => {
    const trace = withAlteration(() => alter(events));
    return trace === null ? [] : [{ shows, trace }];
  });
  // Most of each is as in the first.
  const [, ...outcomes] = await checkApplyTraces([events, ...altered.map(({ trace }) => trace)]);
  const isRejected = outcomes.map((outcome) => outcome?.kind === 'rejected');
  return mutantVerdict('ordered apply', altered, isRejected, kinds.length);
}

function mutantVerdict(
  layer: string,
  altered: readonly { readonly shows: string }[],
  isRejected: readonly boolean[],
  kinds: number,
): TraceVerdict {
  const accepted = altered.filter((_, index) => isRejected[index] !== true);
  const rejected = altered.length - accepted.length;
  return {
    anomalies: accepted.map(({ shows }) => ({
      kind: 'mutant-accepted',
      summary: `${layer}: ${shows}`,
      detail: [],
    })),
    told: [
      `${layer}: ${rejected} of ${kinds} ways to alter it rejected, ${kinds - altered.length} do not apply to this run`,
    ],
  };
}

/** Null if the run has nothing that it could alter. */
function withAlteration(alter: () => readonly TraceEvent[]): readonly TraceEvent[] | null {
  try {
    return alter();
  } catch {
    return null;
  }
}
