/**
 * Judging altered traces by the trace check, many to one run of TLC.
 *
 * Responsible for: telling a trace that TLC finds to be no behaviour of the spec from one that contradicts itself, from one that cannot be read (it has a gap, or does not
 * say what it speaks of), and from one about which TLC can say nothing, which counts as refused, too. Only what is accepted survives.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { findRejections } from '../../conformance/trace/check-trace.ts';
import { contradictionIn } from '../../conformance/trace/contradictions.ts';
import { orderTrace } from '../../conformance/trace/read-trace.ts';
import { cutSegments } from '../../conformance/trace/segments.ts';
import { applyContradictionIn } from '../../conformance/trace/apply-form.ts';
import { applyStepsOf, rejectedAlterations } from '../../conformance/trace/apply-trace.ts';
import { leaseContradiction } from '../../conformance/lease/lease-contradictions.ts';
import { leaseSteps } from '../../conformance/lease/lease-steps.ts';
import { judgeLeaseRuns } from '../../conformance/lease/lease-trace.ts';
import { alteredTrace, type TraceLayer, type TraceMutant } from './alterations.ts';

export type TraceVerdict = 'accepted' | 'rejected' | 'contradicted' | 'unreadable' | 'unjudged';

interface Judge {
  /** Null: TLC must judge. */
  readonly before: (events: readonly TraceEvent[]) => 'contradicted' | 'unreadable' | null;
  /** Of each altered trace whether TLC rejects it. @throws Error if TLC cannot evaluate one of them */
  readonly isRejected: (
    altered: readonly (readonly TraceEvent[])[],
    accepted: readonly TraceEvent[],
  ) => Promise<readonly boolean[]>;
}

const judges: Readonly<Record<TraceLayer, Judge>> = {
  consensus: {
    before: readConsensus,
    isRejected: async (altered, accepted) =>
      (await findRejections(altered, accepted, { isSpecAlone: true })).map((rejection) => rejection !== null),
  },
  lease: { before: readLease, isRejected: rejectedLeases },
  apply: { before: readApply, isRejected: (altered, accepted) => rejectedAlterations(accepted, altered) },
};

/** `accepted`: the trace as it was recorded, which was accepted. */
export async function judgeTraces(
  accepted: readonly TraceEvent[],
  mutants: readonly TraceMutant[],
  layer: TraceLayer = 'consensus',
): Promise<TraceVerdict[]> {
  const judge = judges[layer];
  const altered = mutants.map((mutant) => alteredTrace(accepted, mutant));
  const verdicts = new Map<readonly TraceEvent[], TraceVerdict | null>(
    altered.map((events) => [events, judge.before(events)]),
  );
  const readable = altered.filter((events) => verdicts.get(events) === null);
  for (const [index, verdict] of (await verdictsOf(judge, readable, accepted)).entries())
    verdicts.set(readable[index]!, verdict);
  return altered.map((events) => verdicts.get(events) ?? 'unjudged');
}

function readApply(events: readonly TraceEvent[]): 'contradicted' | 'unreadable' | null {
  if (applyContradictionIn(events) !== null) return 'contradicted';
  try {
    applyStepsOf(events);
    return null;
  } catch {
    return 'unreadable';
  }
}

function readLease(events: readonly TraceEvent[]): 'contradicted' | 'unreadable' | null {
  if (leaseContradiction(events) !== null) return 'contradicted';
  try {
    leaseSteps(events);
    return null;
  } catch {
    return 'unreadable';
  }
}

async function rejectedLeases(altered: readonly (readonly TraceEvent[])[]): Promise<readonly boolean[]> {
  const outcomes = await judgeLeaseRuns(
    altered.map((events) => ({ steps: leaseSteps(events)!, contradiction: null })),
  );
  return outcomes.map(({ kind }) => kind === 'rejected');
}

function readConsensus(events: readonly TraceEvent[]): 'contradicted' | 'unreadable' | null {
  try {
    const trace = orderTrace(events);
    if (contradictionIn(trace) !== null) return 'contradicted';
    cutSegments(trace);
    return null;
  } catch {
    return 'unreadable';
  }
}

/** One that TLC cannot evaluate keeps it from judging the others with it: they are halved until it is alone. */
async function verdictsOf(
  judge: Judge,
  traces: readonly (readonly TraceEvent[])[],
  accepted: readonly TraceEvent[],
): Promise<TraceVerdict[]> {
  if (traces.length === 0) return [];
  try {
    const rejected = await judge.isRejected(traces, accepted);
    return rejected.map((isRejected) => (isRejected ? 'rejected' : 'accepted'));
  } catch {
    if (traces.length === 1) return ['unjudged'];
    const half = Math.ceil(traces.length / 2);
    return [
      ...(await verdictsOf(judge, traces.slice(0, half), accepted)),
      ...(await verdictsOf(judge, traces.slice(half), accepted)),
    ];
  }
}
