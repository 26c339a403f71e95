/**
 * Lets TLC judge what a recorded trace tells of the lease: specs/TraceLease.tla says what each step means, and allows what Lease allows.
 *
 * Responsible for: the module and the configuration of a run, and the verdict. What the steps are is lease-steps.ts. A trace that contradicts itself is rejected before TLC is asked.
 */
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TraceEvent } from '../../../server/src/api/events.ts';
import { SPECS_DIR, runTlc } from '../../../scripts/specs/tlc.ts';
import { errorText } from '../../../scripts/specs/tlc-output.ts';
import { leaseContradiction, type LeaseContradiction } from './lease-contradictions.ts';
import type { LeaseFields, LeaseStep, LeaseSteps, StepFields } from './lease-event.ts';
import { leaseSteps } from './lease-steps.ts';

const MODULE = 'LeaseTraceRun';
const TIMEOUT_MS = 600_000;

export interface LeaseAccepted {
  readonly kind: 'accepted';
  readonly events: number;
  /** How often each event occurs. */
  readonly actions: ReadonlyMap<string, number>;
}

export interface LeaseRejected {
  readonly kind: 'rejected';
  readonly layer: 'lease';
  /** Counts from 1 in the order in which the events were checked; 0: before they were. */
  readonly event: number;
  /** Of the layer of the lease, or one of another that it contradicts. Null: a step behind all events could not be taken. */
  readonly recorded: TraceEvent | null;
  readonly literal: string;
}

export type LeaseOutcome = LeaseAccepted | LeaseRejected;

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

/** @throws Error if TLC fails; null if the trace does not speak of the lease */
export async function checkLeaseTrace(events: readonly TraceEvent[]): Promise<LeaseOutcome | null> {
  const run = leaseRunOf(events);
  if (run === null) return null;
  const [outcome] = await judgeLeaseRuns([run]);
  return outcome ?? null;
}

/** Several in one JVM, which costs more to start than most of them to check. @throws Error if TLC fails */
export async function judgeLeaseRuns(runs: readonly LeaseRun[]): Promise<readonly LeaseOutcome[]> {
  const outcomes = runs.map(({ contradiction }): LeaseOutcome | null => contradicted(contradiction));
  const kinds = new Map<string, number[]>();
  for (const [index, { steps }] of runs.entries()) {
    if (outcomes[index] !== null) continue;
    const kind = JSON.stringify([steps.terms, steps.replicas]);
    kinds.set(kind, [...(kinds.get(kind) ?? []), index]);
  }
  for (const alike of kinds.values()) {
    const reached = await runSteps(alike.map((index) => runs[index]!.steps));
    for (const [i, index] of alike.entries()) outcomes[index] = verdict(runs[index]!.steps, reached[i] ?? 0);
  }
  return outcomes.map((outcome) => outcome!);
}

function contradicted(contradiction: LeaseContradiction | null): LeaseRejected | null {
  if (contradiction === null) return null;
  const { event, reason } = contradiction;
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
  const told = steps.flatMap(({ event }) => (event === null ? [] : [event.name]));
  const actions = new Map<string, number>();
  for (const name of told) actions.set(name, (actions.get(name) ?? 0) + 1);
  return { kind: 'accepted', events: told.length, actions };
}

/** Of each run the step that could not be taken, from 1; one more than there are if all could. */
async function runSteps(runs: readonly LeaseSteps[]): Promise<readonly number[]> {
  const directory = await mkdtemp(join(tmpdir(), 'barista-lease-trace-'));
  try {
    for (const module of ['Lease.tla', 'TraceLease.tla'])
      await copyFile(join(SPECS_DIR, module), join(directory, module));
    await writeFile(join(directory, `${MODULE}.tla`), moduleText(runs));
    await writeFile(join(directory, `${MODULE}.cfg`), configurationText(runs));
    const { exitCode, output } = await runTlc({
      module: MODULE,
      cfg: `${MODULE}.cfg`,
      args: ['-workers', '1', '-lncheck', 'final'],
      specDir: directory,
      timeoutMs: TIMEOUT_MS,
    });
    if (exitCode !== 0) throw new Error(`TLC ended with ${exitCode ?? 'a time-out'}:\n${errorText(output)}`);
    const reached = runs.map(() => 0);
    for (const [, run, step] of output.matchAll(/<<"reached", (\d+), (\d+)>>/g))
      reached[Number(run) - 1] = Math.max(reached[Number(run) - 1] ?? 0, Number(step));
    return reached;
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function moduleText(runs: readonly LeaseSteps[]): string {
  const literals = runs.map(({ steps, owners, voters, terms }) => {
    const sets = voters.map((names) => `{${names.join(',')}}`);
    const facts = `owners|->${sequence(owners)},voters|-><<${sets.join(',')}>>,length|->${terms.leaderLength}`;
    return `[${facts},steps|-><<\n${steps.map(stepLiteral).join(',\n')}\n>>]`;
  });
  return [
    `---- MODULE ${MODULE} ----`,
    'EXTENDS TraceLease',
    `RecordedRuns == <<${literals.join(',\n')}>>`,
    '====',
    '',
  ].join('\n');
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
