/**
 * Has a judge look at recorded traces: accepted, or rejected at which event and why.
 *
 * On a rejection the segment runs once more, step by step.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { defaultJudge, type JudgeName } from '../judge/judges.ts';
import { contradictionIn } from './contradictions.ts';
import { orderTrace, type ConsensusEvent, type RecordedTrace } from './read-trace.ts';
import { batchesOf, runPieces, type RunOutcome } from './run-segments.ts';
import { segmentLiteral } from './segment-literal.ts';
import { cutSegments, type Segment } from './segments.ts';
import type { Piece } from './trace-module.ts';

/** Of each altered trace, for a first look. */
const SEGMENTS_FIRST = 2;

export interface Accepted {
  readonly kind: 'accepted';
  readonly events: number;
  readonly segments: number;
  readonly steps: number;
  /** Steps of killed processes that their own traces lost. */
  readonly lost: number;
  /** How often each action occurs. */
  readonly actions: ReadonlyMap<string, number>;
}

export interface Rejected {
  readonly kind: 'rejected';
  /** Counts from 1 in the order in which the events were checked. */
  readonly event: number;
  readonly recorded: ConsensusEvent | null;
  readonly step: string;
  readonly reason: string;
}

export interface CheckOptions {
  readonly judge?: JudgeName;
  readonly workers?: number;
  readonly onProgress?: (done: number, all: number) => void;
}

export async function checkTrace(
  events: readonly TraceEvent[],
  options: CheckOptions = {},
): Promise<Accepted | Rejected> {
  const contradiction = contradictionIn(orderTrace(events));
  if (contradiction !== null) {
    const { event, number, reason } = contradiction;
    const step = `${event.name} of ${event.replica}`;
    return { kind: 'rejected', event: number, recorded: event, step, reason };
  }
  const { pieces, accepted } = cutTrace(events);
  const { workers = 2, judge = defaultJudge } = options;
  let done = 0;
  for (const batch of batchesOf(pieces)) {
    const { matched } = await runPieces(batch, { judge, workers });
    const failed = batch.find((_, i) => !matched.has(i));
    if (failed !== undefined) return explain(failed, judge);
    done += batch.length;
    options.onProgress?.(done, pieces.length);
  }
  return accepted;
}

/** A trace cut for a judge, and the verdict on it if all of it can be matched. */
export interface ReadTrace {
  readonly pieces: readonly Piece[];
  readonly accepted: Accepted;
}

/** @throws Error if the trace has gaps, does not say what it speaks of, or contradicts itself */
export function readTrace(events: readonly TraceEvent[]): ReadTrace {
  const contradiction = contradictionIn(orderTrace(events));
  if (contradiction !== null) {
    const { event, reason } = contradiction;
    throw new Error(`${event.name} of ${event.replica}, run ${event.run}, event ${event.seq}: ${reason}`);
  }
  return cutTrace(events);
}

function cutTrace(events: readonly TraceEvent[]): ReadTrace {
  const trace = orderTrace(events);
  if (trace.events === 0) throw new Error('there is no consensus event in the trace');
  const { segments, linearized } = cutSegments(trace);
  const actions = new Map<string, number>();
  let steps = 0;
  for (const segment of segments) {
    steps += segment.steps.length;
    for (const { step } of segment.steps) actions.set(step.action, (actions.get(step.action) ?? 0) + 1);
  }
  return {
    pieces: segments.map((segment) => ({ segment, trace })),
    accepted: {
      kind: 'accepted',
      events: linearized.events,
      segments: segments.length,
      steps,
      lost: linearized.lost,
      actions,
    },
  };
}

/** Where an altered trace is no behaviour of the spec. Null: at a step behind all of its events that TLC was given. */
export interface Rejection {
  readonly event: ConsensusEvent | null;
}

export interface RejectionOptions {
  readonly judge?: JudgeName;
  /** The specification alone judges traces that contradict themselves, too. */
  readonly isSpecAlone?: boolean;
}

/**
 * Where each of several traces is rejected; null: it is accepted. No reasons. Many traces go to one JVM.
 * `accepted`: a trace that was; segments that are the same in it are not checked again. An alteration changes the state in everything behind it and is mostly rejected where it is made, so of each trace a few
 * segments are looked at first, and more only if all of those are accepted.
 */
export async function findRejections(
  traces: readonly (readonly TraceEvent[])[],
  accepted: readonly TraceEvent[] = [],
  options: RejectionOptions = {},
): Promise<(Rejection | null)[]> {
  const { judge = defaultJudge, isSpecAlone = false } = options;
  const known = new Set(
    accepted.length === 0 ? [] : literalsOf(orderTrace(accepted)).map(([literal]) => literal),
  );
  const found = traces.map((events): Rejection | null => {
    const contradiction = isSpecAlone ? null : contradictionIn(orderTrace(events));
    return contradiction === null ? null : { event: contradiction.event };
  });
  const left = traces.map((events, index) =>
    found[index] !== null
      ? []
      : literalsOf(orderTrace(events)).flatMap(([literal, piece]) => (known.has(literal) ? [] : [piece])),
  );
  for (let count = SEGMENTS_FIRST; left.some((pieces) => pieces.length > 0); count *= 4) {
    const heads = left.map((pieces) => pieces.splice(0, count));
    const rejections = await rejectionsOf(heads.flat(), judge);
    for (const [index, pieces] of heads.entries()) {
      const first = pieces.find((piece) => rejections.has(piece));
      if (first === undefined) continue;
      found[index] = rejections.get(first) ?? null;
      left[index]?.splice(0);
    }
  }
  return found;
}

/** Of those pieces that are rejected. */
async function rejectionsOf(pieces: readonly Piece[], judge: JudgeName): Promise<Map<Piece, Rejection>> {
  const rejections = new Map<Piece, Rejection>();
  for (const batch of batchesOf(pieces)) {
    const outcome = await runPieces(batch, { judge, workers: 2, diagnose: true });
    for (const [index, piece] of batch.entries()) {
      const rejection = rejectionIn(piece.segment, index, outcome);
      if (rejection !== null) rejections.set(piece, rejection);
    }
  }
  return rejections;
}

/** A step that was put in before an event stands for that event. */
export function rejectionIn(
  segment: Segment,
  index: number,
  { matched, taken }: RunOutcome,
): Rejection | null {
  if (matched.has(index)) return null;
  return {
    event: segment.steps.slice(taken.get(index) ?? 0).find(({ event }) => event !== null)?.event ?? null,
  };
}

function literalsOf(trace: RecordedTrace): (readonly [literal: string, piece: Piece])[] {
  return cutSegments(trace).segments.map((segment) => [segmentLiteral(segment, trace), { segment, trace }]);
}

/** Finds the step that could not be taken, and what the spec would have had instead. */
export async function explain({ segment, trace }: Piece, judge: JudgeName = defaultJudge): Promise<Rejected> {
  const first = await runPieces([{ segment, trace }], { judge, diagnose: true });
  const taken = first.taken.get(0) ?? 0;
  const failed = segment.steps[taken];
  if (failed === undefined)
    throw new Error('a segment was not matched, and no step of it could not be taken');
  const step = `${failed.step.action} of ${failed.step.replica}`;
  const common = { kind: 'rejected', event: failed.number, recorded: failed.event, step } as const;
  // Without what the step asserts, and without the state at the end, does the action itself go through?
  const upToFailure = { ...segment, steps: segment.steps.slice(0, taken + 1), exports: [], end: [] };
  const alone = await runPieces([{ segment: upToFailure, trace }], {
    judge,
    diagnose: true,
    unassertLast: true,
  });
  if ((alone.taken.get(0) ?? 0) <= taken) {
    return { ...common, reason: `the spec does not allow ${step} here with these parameters` };
  }
  const asserted = await runPieces([{ segment: upToFailure, trace }], { judge, diagnose: true });
  if (taken === segment.steps.length - 1 && asserted.taken.get(0) === taken + 1) {
    return {
      ...common,
      reason: 'the state that the segment ends in is not the one that the next begins with',
    };
  }
  const spec =
    alone.state === null
      ? ''
      : `; the spec has ${alone.state.replaceAll(/\s+/g, ' ')} in the segment's slots`;
  return { ...common, reason: `the recorded state, records or messages are not those of the spec${spec}` };
}
