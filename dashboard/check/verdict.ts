/**
 * The verdict of the conformance check on the run that a page holds: layer by layer, each by its specification.
 *
 * The judge is the evaluator of harness/tla, which is told the specifications' own texts; in a browser they come with the page (browser-judges.ts).
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import { checkLeaseTrace } from '../../harness/conformance/lease/lease-trace.ts';
import { judgeProcesses } from '../../harness/conformance/processes/judge-processes.ts';
import { isProtocolTrace } from '../../harness/conformance/processes/lives.ts';
import { checkApplyTrace } from '../../harness/conformance/trace/apply-trace.ts';
import { checkTrace } from '../../harness/conformance/trace/check-trace.ts';
import { beginsTooLate, begunBefore, orderTrace } from '../../harness/conformance/trace/read-trace.ts';
import type { LayerVerdict, Refusal, Verdict } from '../src/spec/check-protocol.ts';
import { wholeRuns } from '../src/spec/whole-runs.ts';

type OnProgress = (done: number, all: number) => void;

const judge = 'typescript';

export async function verdictOn(told: readonly TraceEvent[], onProgress: OnProgress): Promise<Verdict> {
  const { events, leftOut, problem } = wholeRuns(told);
  if (problem !== null) return { layers: [notJudged('MultiPaxos', problem)], leftOut };
  if (isProtocolTrace(events)) return { layers: [await ofProcesses(events)], leftOut };
  const consensus = await attempt('MultiPaxos', () => ofConsensus(events, onProgress));
  if (consensus.refusal !== null || consensus.notJudged !== null) return { layers: [consensus], leftOut };
  const before = begunBefore(orderTrace(events));
  if (before.length > 0) return { layers: [consensus], leftOut };
  const apply = await attempt('OrderedApply', () => ofApply(events));
  const lease = await attempt('Lease', () => ofLease(events));
  return { layers: [consensus, apply, lease].filter((layer) => layer !== null), leftOut };
}

function notJudged(module: string, why: string): LayerVerdict {
  return { module, accepted: 0, refusal: null, notJudged: why };
}

/** Where a judge has no verdict it says why. */
async function attempt<L extends LayerVerdict | null>(
  module: string,
  look: () => Promise<L>,
): Promise<L | LayerVerdict> {
  try {
    return await look();
  } catch (error) {
    return notJudged(module, error instanceof Error ? error.message : String(error));
  }
}

async function ofConsensus(events: readonly TraceEvent[], onProgress: OnProgress): Promise<LayerVerdict> {
  const module = 'MultiPaxos';
  const late = beginsTooLate(orderTrace(events));
  if (late.length > 0)
    return notJudged(module, `Others heard from ${late.join(', ')} before its first event that is held.`);
  const outcome = await checkTrace(events, { judge, onProgress });
  if (outcome.kind === 'accepted')
    return { module, accepted: outcome.events, refusal: null, notJudged: null };
  const { event: number, recorded, step, reason } = outcome;
  const [action = '', , replica = ''] = step.split(' ');
  const refusal: Refusal = { action, replica: recorded?.replica ?? replica, reason, number, event: recorded };
  return { module, accepted: Math.max(0, number - 1), refusal, notJudged: null };
}

async function ofApply(events: readonly TraceEvent[]): Promise<LayerVerdict | null> {
  const outcome = await checkApplyTrace(events, judge);
  return outcome === null ? null : ofLayer('OrderedApply', outcome);
}

async function ofLease(events: readonly TraceEvent[]): Promise<LayerVerdict | null> {
  const outcome = await checkLeaseTrace(events, judge);
  return outcome === null ? null : ofLayer('Lease', outcome);
}

type LayerOutcome =
  | { readonly kind: 'accepted'; readonly events: number }
  | {
      readonly kind: 'rejected';
      readonly event: number;
      readonly recorded: object | null;
      readonly literal: string;
    };

function ofLayer(module: string, outcome: LayerOutcome): LayerVerdict {
  if (outcome.kind === 'accepted')
    return { module, accepted: outcome.events, refusal: null, notJudged: null };
  const event = outcome.recorded as TraceEvent | null;
  const refusal: Refusal = {
    action: event?.name ?? '',
    replica: event?.replica ?? '',
    reason:
      outcome.event === 0 ? outcome.literal : `the specification does not allow the step ${outcome.literal}`,
    number: outcome.event,
    event,
  };
  return { module, accepted: Math.max(0, outcome.event - 1), refusal, notJudged: null };
}

/** Of single-decree Paxos, or of a primary and its copies. */
async function ofProcesses(events: readonly TraceEvent[]): Promise<LayerVerdict> {
  return attempt('Paxos, PrimaryCopies', async () => {
    const { protocol, steps, refused } = await judgeProcesses(events, judge);
    const reason = `the specification does not allow ${JSON.stringify(refused)}`;
    const name = (refused as { readonly name?: unknown } | null)?.name;
    const refusal: Refusal | null =
      refused === null
        ? null
        : { action: typeof name === 'string' ? name : '', replica: '', reason, number: 0, event: null };
    return { module: protocol, accepted: refused === null ? steps : 0, refusal, notJudged: null };
  });
}
