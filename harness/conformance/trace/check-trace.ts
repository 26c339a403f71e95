/**
 * Lets TLC judge a recorded trace: accepted, or rejected at which event and why.
 *
 * Many segments go to one JVM, since starting it costs more than checking one. On a rejection the segment runs once more, step by step.
 */
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { SPECS_DIR, runTlc } from '../../../scripts/specs/tlc.ts';
import { errorText } from '../../../scripts/specs/tlc-output.ts';
import type { ConsensusEvent, RecordedTrace } from './read-trace.ts';
import { orderTrace } from './read-trace.ts';
import { cutSegments, type Segment } from './segments.ts';
import { segmentLiteral, TRACE_MODULE, traceModule, type ModuleOptions } from './trace-module.ts';

/** One module of this many steps keeps TLC's parser within a few seconds and its heap small. */
const STEPS_PER_RUN_MAX = 20_000;
const TIMEOUT_MS = 600_000;

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
  readonly workers?: number;
  readonly onProgress?: (done: number, all: number) => void;
}

export async function checkTrace(
  events: readonly TraceEvent[],
  options: CheckOptions = {},
): Promise<Accepted | Rejected> {
  const trace = orderTrace(events);
  if (trace.events === 0) throw new Error('there is no consensus event in the trace');
  const { segments, linearized } = cutSegments(trace);
  const batches = batchesOf(segments);
  let done = 0;
  for (const batch of batches) {
    const matched = await runSegments(batch, trace, options.workers ?? 2);
    const failed = batch.find((_, i) => !matched.segments.has(i + 1));
    if (failed !== undefined) return explain(failed, trace);
    done += batch.length;
    options.onProgress?.(done, segments.length);
  }
  const actions = new Map<string, number>();
  let steps = 0;
  for (const segment of segments) {
    steps += segment.steps.length;
    for (const { step } of segment.steps) actions.set(step.action, (actions.get(step.action) ?? 0) + 1);
  }
  return {
    kind: 'accepted',
    events: linearized.events,
    segments: segments.length,
    steps,
    lost: linearized.lost,
    actions,
  };
}

/**
 * Where each of several traces of one group is rejected, or null; one JVM for all of them, and no reasons.
 * `accepted`: a trace that was; segments that are the same in it are not checked again.
 */
export async function findRejections(
  traces: readonly (readonly TraceEvent[])[],
  accepted: readonly TraceEvent[] = [],
): Promise<(ConsensusEvent | null)[]> {
  const known = new Set(
    accepted.length === 0 ? [] : literalsOf(orderTrace(accepted)).map(([literal]) => literal),
  );
  const ordered = traces.map((events) => orderTrace(events));
  const cut = ordered.map((trace) =>
    literalsOf(trace).flatMap(([literal, segment]) => (known.has(literal) ? [] : [segment])),
  );
  const { segments, reached } = await runSegments(
    cut.flat(),
    { ...(ordered[0] as RecordedTrace), diagnose: true },
    1,
  );
  let before = 0;
  return cut.map((own) => {
    const first = before;
    before += own.length;
    const failed = own.findIndex((_, i) => !segments.has(first + i + 1));
    if (failed === -1) return null;
    const steps = own[failed]?.steps ?? [];
    const at = (reached.get(first + failed + 1) ?? 0) - 1;
    // A step that was put in before an event stands for that event.
    return steps.slice(at).find(({ event }) => event !== null)?.event ?? null;
  });
}

function literalsOf(trace: RecordedTrace): (readonly [literal: string, segment: Segment])[] {
  return cutSegments(trace).segments.map((segment) => [segmentLiteral(segment, trace), segment]);
}

function batchesOf(segments: readonly Segment[]): Segment[][] {
  const batches: Segment[][] = [];
  let steps = STEPS_PER_RUN_MAX;
  for (const segment of segments) {
    steps += segment.steps.length;
    if (steps > STEPS_PER_RUN_MAX) {
      batches.push([]);
      steps = segment.steps.length;
    }
    batches.at(-1)?.push(segment);
  }
  return batches;
}

interface RunOutcome {
  readonly segments: ReadonlySet<number>;
  /** The furthest step reached in each; only when diagnosing. */
  readonly reached: ReadonlyMap<number, number>;
  readonly state: string | null;
}

async function runSegments(
  segments: readonly Segment[],
  options: ModuleOptions,
  workers: number,
): Promise<RunOutcome> {
  const directory = await mkdtemp(join(tmpdir(), 'barista-trace-'));
  try {
    for (const module of ['MultiPaxos.tla', 'Consensus.tla', 'TraceMultiPaxos.tla']) {
      await copyFile(join(SPECS_DIR, module), join(directory, module));
    }
    const { tla, cfg } = traceModule(segments, options);
    await writeFile(join(directory, `${TRACE_MODULE}.tla`), tla);
    await writeFile(join(directory, `${TRACE_MODULE}.cfg`), cfg);
    const args = ['-workers', String(workers), '-lncheck', 'final'];
    const { exitCode, output } = await runTlc({
      module: TRACE_MODULE,
      cfg: `${TRACE_MODULE}.cfg`,
      args,
      specDir: directory,
      timeoutMs: TIMEOUT_MS,
    });
    const matched = new Set([...output.matchAll(/<<"matched", (\d+)>>/g)].map((match) => Number(match[1])));
    if (exitCode !== 0) {
      // TLC could not evaluate something: no verdict, unless a segment was simply not matched.
      throw new Error(`TLC ended with ${exitCode ?? 'a time-out'}:\n${errorText(output)}`);
    }
    const reached = new Map<number, number>();
    for (const [, segment, step] of output.matchAll(/<<"reached", (\d+), (\d+)>>/g)) {
      reached.set(Number(segment), Math.max(reached.get(Number(segment)) ?? 0, Number(step)));
    }
    const state = /<<\s*"state",\s*(\[[\s\S]*?\])\s*>>/.exec(output)?.[1] ?? null;
    return { segments: matched, reached, state };
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** Finds the step that TLC could not take, and what the spec would have had instead. */
async function explain(segment: Segment, trace: RecordedTrace): Promise<Rejected> {
  const first = await runSegments([segment], { ...trace, diagnose: true }, 1);
  const reached = first.reached.get(1) ?? 0;
  const failed = segment.steps[reached - 1];
  if (failed === undefined) throw new Error('a segment was not matched, and no step of it was reached');
  const upToFailure: Segment = { ...segment, steps: segment.steps.slice(0, reached) };
  const step = `${failed.step.action} of ${failed.step.replica}`;
  const common = { kind: 'rejected', event: failed.number, recorded: failed.event, step } as const;
  const isLast = reached === segment.steps.length;
  // Without what the step asserts, and without the state at the end, does the action itself go through?
  const alone = await runSegments(
    [{ ...upToFailure, exports: [], end: [] }],
    { ...trace, diagnose: true, unassertLast: true },
    1,
  );
  if ((alone.reached.get(1) ?? 0) < reached + 1) {
    return { ...common, reason: `the spec does not allow ${step} here with these parameters` };
  }
  const asserted = await runSegments(
    [{ ...upToFailure, exports: [], end: [] }],
    { ...trace, diagnose: true },
    1,
  );
  if (isLast && asserted.reached.get(1) === reached + 1) {
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
