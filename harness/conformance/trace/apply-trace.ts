/**
 * Has a judge look at the events of the layer `apply` in a recorded trace: specs/TraceOrderedApply.tla says what each step means, and allows what OrderedApply allows.
 *
 * Responsible for: the module and the configuration of a run, and the verdict. What the steps are is apply-steps.ts.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { defaultJudge, judges, type JudgeName } from '../judge/judges.ts';
import type { RecordedModel } from '../judge/recorded-model.ts';
import type { ApplyEvent } from './apply-event.ts';
import { applyContradictionIn, type ApplyContradiction } from './apply-form.ts';
import { fieldsLiteral } from './apply-fields.ts';
import { applyItems } from './apply-items.ts';
import { applySteps, type ApplySteps } from './apply-steps.ts';
import { accepted, reachedSteps, type LayerOutcome, type LayerRejected } from './layer-verdict.ts';

const MODULE = 'ApplyTraceRun';
const DATA_MODULE = 'ApplyTraceData';
/** Behind an alteration, for a first look. */
const STEPS_FIRST = 300;

/** `recorded`: null where a step that was put in before that event could not be taken. */
export type ApplyRejected = LayerRejected<'apply', ApplyEvent>;
type ApplyOutcome = LayerOutcome<'apply', ApplyEvent>;

/** @throws Error if there is no verdict; null if the trace has no apply events */
export async function checkApplyTrace(
  events: readonly TraceEvent[],
  judge: JudgeName = defaultJudge,
): Promise<ApplyOutcome | null> {
  const contradiction = applyContradictionIn(events);
  if (contradiction !== null) return contradicted(contradiction);
  const run = applyStepsOf(events);
  if (run === null) return null;
  const [outcome] = await judgeApplySteps([run], judge);
  return outcome ?? null;
}

function contradicted({ event, number, reason }: ApplyContradiction): ApplyRejected {
  return { kind: 'rejected', layer: 'apply', event: number, recorded: event, literal: reason };
}

/** Null: the trace has no apply events. @throws Error if one of them contradicts itself */
export function applyStepsOf(events: readonly TraceEvent[]): ApplySteps | null {
  const contradiction = applyContradictionIn(events);
  if (contradiction !== null) throw new Error(contradiction.reason);
  return events.some(({ layer }) => layer === 'apply') ? applySteps(applyItems(events)) : null;
}

/** All at once. @throws Error if there is no verdict */
export async function judgeApplySteps(
  runs: readonly ApplySteps[],
  judge: JudgeName = defaultJudge,
): Promise<readonly ApplyOutcome[]> {
  const reached = runs.length === 0 ? [] : await runSteps(runs, judge);
  return runs.map((run, index) => verdict(run, reached[index] ?? 0));
}

/**
 * Of each altered run whether it is rejected; `recorded` is what they were altered from, and is accepted. Most of each is as recorded, and most are rejected soon behind what was altered: so only so much of each is judged
 * at first, and more only where all of that is accepted. @throws Error if there is no verdict
 */
export async function rejectedAlterations(
  recorded: readonly TraceEvent[],
  altered: readonly (readonly TraceEvent[])[],
  judge: JudgeName = defaultJudge,
): Promise<readonly boolean[]> {
  const first = applySteps(applyItems(recorded));
  const literals = literalsOf(first);
  const runs = altered.map((events) => {
    const run = applySteps(applyItems(events));
    return { run, from: sameSteps(literals, literalsOf(run)) };
  });
  const isRejected = runs.map((): boolean | null => null);
  for (let count = STEPS_FIRST; isRejected.includes(null); count *= 10) {
    const open = [...runs.entries()].filter(([index]) => isRejected[index] === null);
    const cut = open.map(([, { run, from }]) => upTo(run, from + count));
    const farthest = Math.max(...open.map(([, { from }]) => from));
    const [reachedFirst = 0, ...reached] = await runSteps([upTo(first, farthest), ...cut], judge);
    // Nobody would have come to what was altered.
    if (reachedFirst <= farthest) throw new Error('the run is rejected as it was recorded');
    for (const [i, [index, { run }]] of open.entries()) {
      const length = cut[i]?.steps.length ?? 0;
      if ((reached[i] ?? 0) <= length) isRejected[index] = true;
      else if (length === run.steps.length) isRejected[index] = false;
    }
  }
  return isRejected.map((one) => one === true);
}

function upTo(run: ApplySteps, count: number): ApplySteps {
  return { ...run, steps: run.steps.slice(0, count) };
}

function literalsOf({ steps }: ApplySteps): readonly string[] {
  return steps.map(({ action, fields }) => fieldsLiteral(action, fields));
}

function verdict({ steps }: ApplySteps, reached: number): ApplyOutcome {
  const failed = steps[reached - 1];
  if (failed !== undefined) {
    const event = steps.slice(0, reached - 1).filter((step) => step.event !== null).length + 1;
    const literal = fieldsLiteral(failed.action, failed.fields);
    return { kind: 'rejected', layer: 'apply', event, recorded: failed.event?.event ?? null, literal };
  }
  return accepted(steps.flatMap((step) => (step.event === null ? [] : [step.event.event.name])));
}

/** Of each run the step that could not be taken, from 1; one more than there are if all could. */
async function runSteps(runs: readonly ApplySteps[], judge: JudgeName): Promise<readonly number[]> {
  return reachedSteps(await judges[judge](applyModel(runs)), runs.length);
}

export function applyModel(runs: readonly ApplySteps[]): RecordedModel {
  return {
    module: MODULE,
    text: `---- MODULE ${MODULE} ----\nEXTENDS ${DATA_MODULE}, TraceOrderedApply\n====\n`,
    data: { module: DATA_MODULE, name: 'RecordedRuns', literal: runsLiteral(runs) },
    specs: ['OrderedApply', 'TraceOrderedApply'],
    config: configurationText(runs),
  };
}

function runsLiteral(runs: readonly ApplySteps[]): string {
  const written = runs.map((run) => ({
    roles: run.founder === null ? '<<>>' : `(${run.facts.replicaRank(run.founder)} :> "founder")`,
    timeline: run.facts.firstTimeline,
    steps: literalsOf(run),
  }));
  const literals = written.map(({ roles, timeline, steps }, index) => {
    const first = written[0] as (typeof written)[number];
    const isAlike = index > 0 && first.roles === roles && first.timeline === timeline;
    const from = isAlike ? sameSteps(first.steps, steps) : 0;
    return `[roles|->${roles},timeline|->${timeline},from|->${from},steps|-><<\n${steps.slice(from).join(',\n')}\n>>]`;
  });
  return `<<${literals.join(',\n')}>>`;
}

/** How many steps both begin with; mutants of a run have most of it in common, and cost only what is left. */
function sameSteps(a: readonly string[], b: readonly string[]): number {
  const differing = a.findIndex((step, index) => step !== b[index]);
  return differing === -1 ? Math.min(a.length, b.length) : differing;
}

/** What the trace puts in the place of operators of OrderedApply: see there. */
const replaced: Readonly<Record<string, string>> = {
  Runs: 'RecordedRuns',
  Top: 'TraceTop',
  Entry: 'TraceEntry',
  Fold: 'TraceFold',
  WholeEnd: 'FastWholeEnd',
  IsSwitch: 'TraceIsSwitch',
  IsRest: 'TraceIsRest',
  EmptyRest: 'TraceEmptyRest',
  Overwrite: 'TraceOverwrite',
  FilledEnd: 'FastFilledEnd',
  MayForkAt: 'TraceMayForkAt',
  ShippableEnd: 'TraceShippableEnd',
  ForkToTake: 'TraceForkToTake',
  CommitsOf: 'TraceCommitsOf',
  Propose: 'TracePropose',
  MayBeFound: 'TraceMayBeFound',
  Candidates: 'TraceCandidates',
  NeedsCopy: 'TraceNeedsCopy',
  Optional: 'OptionalActions',
};

function configurationText(runs: readonly ApplySteps[]): string {
  const replicas = Math.max(...runs.map(({ facts }) => facts.replicas.length));
  const leaderships = Math.max(1, ...runs.map(({ facts }) => facts.leaderships));
  const constants = {
    Replica: `{${Array.from({ length: replicas }, (_, i) => i + 1).join(', ')}}`,
    Request: '{}',
    Halved: '{}',
    MaxSlot: 1_000_000_000,
    MaxBallot: leaderships,
    MaxCrash: 1_000_000_000,
    MaxEndWait: 1_000_000_000,
    MaxOther: 1_000_000_000,
  };
  return [
    'SPECIFICATION TraceSpec',
    'VIEW TraceView',
    'INVARIANT Reached',
    'CHECK_DEADLOCK FALSE',
    'CONSTANTS',
    ...Object.entries(constants).map(([name, value]) => `  ${name} = ${value}`),
    ...Object.entries(replaced).map(([name, value]) => `  ${name} <- ${value}`),
    '',
  ].join('\n');
}
