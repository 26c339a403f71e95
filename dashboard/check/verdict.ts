/**
 * The verdict of the conformance check on the run that a page holds: layer by layer, each by its specification.
 *
 * The judge is the evaluator of harness/tla, which is told the specifications' own texts; in a browser they come with the page (browser-judges.ts).
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import { checkLeaseTrace } from '../../harness/conformance/lease/lease-trace.ts';
import { judgeProcesses, protocolOf } from '../../harness/conformance/processes/judge-processes.ts';
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
  const isOfProcesses = isProtocolTrace(told);
  if (problem !== null)
    return { layers: [notJudged(isOfProcesses ? protocolOf(told) : 'MultiPaxos', problem)], leftOut };
  if (isOfProcesses) return { layers: [await ofProcesses(events)], leftOut };
  const consensus = await attempt('MultiPaxos', () => ofConsensus(events, onProgress));
  if (consensus.refusal !== null || consensus.notJudged !== null) return { layers: [consensus], leftOut };
  const before = begunBefore(orderTrace(events));
  if (before.length > 0) {
    const why = `The log of ${before.join(', ')} was not empty when the run begins, and this layer is judged from the founding of its group on only.`;
    return { layers: [consensus, notJudged('OrderedApply', why), notJudged('Lease', why)], leftOut };
  }
  const apply = await attempt('OrderedApply', () => ofApply(events));
  const lease = await attempt('Lease', () => ofLease(events));
  return {
    layers: [
      consensus,
      apply ?? notJudged('OrderedApply', 'There is no event of this specification in the run.'),
      lease ?? notJudged('Lease', 'There is no event of this specification in the run.'),
    ],
    leftOut,
  };
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
  return attempt(protocolOf(events), async () => {
    const { protocol, steps, refused, refusedAt } = await judgeProcesses(events, judge);
    if (refused === null) return { module: protocol, accepted: steps, refusal: null, notJudged: null };
    const { action = '', replica = '', number = 0, told = null } = refusedAt ?? {};
    const refusal: Refusal = {
      action,
      replica,
      reason: `the specification does not allow this step here, or not with the state that it led to: ${shortly(refused)}`,
      number,
      event: told,
    };
    return { module: protocol, accepted: Math.max(0, number - 1), refusal, notJudged: null };
  });
}

const REASON_MAX = 400;

/** States and lists of slots are long, and stand beside it. */
function shortly(refused: unknown): string {
  const text = JSON.stringify(refused);
  return text.length > REASON_MAX ? `${text.slice(0, REASON_MAX)}…` : text;
}
