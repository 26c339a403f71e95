/**
 * Has a judge look at what a recorded trace tells of the lease: specs/TraceLease.tla says what each step means, and allows what Lease allows.
 *
 * Responsible for: the module and the configuration of a run, and the verdict. What the steps are is lease-steps.ts. A trace that contradicts itself is rejected before the judge is asked.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { defaultJudge, judges, type JudgeName } from '../judge/judges.ts';
import type { RecordedModel } from '../judge/recorded-model.ts';
import { accepted, reachedSteps, type LayerOutcome, type LayerRejected } from '../trace/layer-verdict.ts';
import { leaseContradiction, type LeaseContradiction } from './lease-contradictions.ts';
import type { LeaseFields, LeaseStep, LeaseSteps, StepFields } from './lease-event.ts';
import { leaseSteps } from './lease-steps.ts';

const MODULE = 'LeaseTraceRun';
const DATA_MODULE = 'LeaseTraceData';

/** `recorded`: of the layer of the lease, or one of another that it contradicts. Null: a step behind all events could not be taken. */
export type LeaseRejected = LayerRejected<'lease', TraceEvent>;
export type LeaseOutcome = LayerOutcome<'lease', TraceEvent>;

/** What is to be judged of one trace. */
export interface LeaseRun {
  readonly steps: LeaseSteps;
  readonly contradiction: LeaseContradiction | null;
}

/** Null: the trace does not speak of the lease. @throws Error if it does not say what it speaks of */
export function leaseRunOf(events: readonly TraceEvent[]): LeaseRun | null {
  const steps = leaseSteps(events);
  return steps === null ? null : { steps, contradiction: leaseContradiction(events) };
}

/** @throws Error if there is no verdict; null if the trace does not speak of the lease */
export async function checkLeaseTrace(
  events: readonly TraceEvent[],
  judge: JudgeName = defaultJudge,
): Promise<LeaseOutcome | null> {
  const contradiction = leaseContradiction(events);
  if (contradiction !== null) return contradicted(contradiction);
  const steps = leaseSteps(events);
  if (steps === null) return null;
  const [outcome] = await judgeLeaseRuns([{ steps, contradiction }], judge);
  return outcome ?? null;
}

/** All at once. @throws Error if there is no verdict */
export async function judgeLeaseRuns(
  runs: readonly LeaseRun[],
  judge: JudgeName = defaultJudge,
): Promise<readonly LeaseOutcome[]> {
  const outcomes = runs.map(({ contradiction }): LeaseOutcome | null =>
    contradiction === null ? null : contradicted(contradiction),
  );
  const open = runs.flatMap(({ steps }, index) => (outcomes[index] === null ? [{ steps, index }] : []));
  const reached = await reachedOf(
    open.map(({ steps }) => steps),
    judge,
  );
  for (const [i, { steps, index }] of open.entries()) outcomes[index] = verdict(steps, reached[i] ?? 0);
  return outcomes.map((outcome) => outcome!);
}

/** Of each run the step that could not be taken, from 1; one more than there are if all could. Runs of groups with other terms are other models. */
async function reachedOf(runs: readonly LeaseSteps[], judge: JudgeName): Promise<readonly number[]> {
  const kinds = new Map<string, number[]>();
  for (const [index, { terms, replicas }] of runs.entries()) {
    const kind = JSON.stringify([terms, replicas]);
    kinds.set(kind, [...(kinds.get(kind) ?? []), index]);
  }
  const reached = runs.map(() => 0);
  for (const alike of kinds.values()) {
    const output = await judges[judge](leaseModel(alike.map((index) => runs[index]!)));
    for (const [i, step] of reachedSteps(output, alike.length).entries()) reached[alike[i]!] = step;
  }
  return reached;
}

function contradicted({ event, reason }: LeaseContradiction): LeaseRejected {
  return { kind: 'rejected', layer: 'lease', event: 0, recorded: event, literal: reason };
}

function verdict({ steps }: LeaseSteps, reached: number): LeaseOutcome {
  const failed = steps[reached - 1];
  if (failed !== undefined) {
    const event = steps.slice(0, reached - 1).filter((step) => step.event !== null).length + 1;
    // One that was put in stands for the event before which it was.
    const recorded = steps.slice(reached - 1).find((step) => step.event !== null)?.event ?? null;
    return { kind: 'rejected', layer: 'lease', event, recorded, literal: stepLiteral(failed) };
  }
  return accepted(steps.flatMap((step) => (step.event === null ? [] : [step.event.name])));
}

/** Of groups of one size, with the same terms. */
export function leaseModel(runs: readonly LeaseSteps[]): RecordedModel {
  return {
    module: MODULE,
    text: `---- MODULE ${MODULE} ----\nEXTENDS ${DATA_MODULE}, TraceLease\n====\n`,
    data: { module: DATA_MODULE, name: 'RecordedRuns', literal: runsLiteral(runs) },
    specs: ['Lease', 'TraceLease'],
    config: configurationText(runs),
  };
}

function runsLiteral(runs: readonly LeaseSteps[]): string {
  const literals = runs.map(({ steps, owners, voters, terms }) => {
    const sets = voters.map((names) => `{${names.join(',')}}`);
    const facts = `owners|->${sequence(owners)},voters|-><<${sets.join(',')}>>,length|->${terms.leaderLength}`;
    return `[${facts},steps|-><<\n${steps.map(stepLiteral).join(',\n')}\n>>]`;
  });
  return `<<${literals.join(',\n')}>>`;
}

function stepLiteral({ action, fields }: LeaseStep): string {
  const parts = Object.entries(fields).map(([name, value]) => `${name}|->${literal(value)}`);
  return `[${[`a|->"${action}"`, ...parts].join(',')}]`;
}

function literal(value: StepFields[string]): string {
  if (typeof value === 'number') return String(value);
  if (typeof value === 'boolean') return value ? 'TRUE' : 'FALSE';
  return 'k' in value ? leaseLiteral(value) : sequence(value);
}

function leaseLiteral({ b, v, u, k }: LeaseFields): string {
  return `[b|->${b},v|->${v},u|->${u},k|->${sequence(k)}]`;
}

function sequence(values: readonly number[]): string {
  return `<<${values.join(',')}>>`;
}

function configurationText(runs: readonly LeaseSteps[]): string {
  const { leaseLength, drift } = runs[0]!.terms;
  const replicas = Math.max(...runs.map((run) => run.replicas));
  const many = 1_000_000_000;
  const constants = {
    Replicas: `{${Array.from({ length: replicas }, (_, i) => i + 1).join(', ')}}`,
    LastBallot: many,
    LeaseLength: leaseLength,
    Slow: 1000 - drift,
    Fast: 1000,
    MaxTicks: many,
    MaxWrites: 0,
    MaxCrashes: many,
  };
  const replaced = {
    Runs: 'RecordedRuns',
    Configurations: 'AsManyAsThereAre',
    Owner: 'TraceOwner',
    IsQuorum: 'TraceIsQuorum',
    LeaderLength: 'TraceLeaderLength',
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
