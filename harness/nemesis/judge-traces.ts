/**
 * Holds what the replicas recorded of a run under faults to the specs, and, if asked to, alters it in one place after another: of that nothing may be accepted.
 *
 * Responsible for: the verdicts, as anomalies. What an altered trace is told of is another's (`mutate.ts`, `apply-mutants.ts`, `lease-mutants.ts`), what the specs allow TLC's. Needs Java, and minutes for some ten thousand events: it is for
 * runs with little load.
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import type { Anomaly } from '../checkers/anomaly.ts';
import { applyMutants } from '../conformance/trace/apply-mutants.ts';
import { checkApplyTrace, rejectedAlterations } from '../conformance/trace/apply-trace.ts';
import { leaseMutants } from '../conformance/lease/lease-mutants.ts';
import { checkLeaseTrace, judgeLeaseRuns, leaseRunOf } from '../conformance/lease/lease-trace.ts';
import { checkTrace, findRejections } from '../conformance/trace/check-trace.ts';
import { mutants, type MutantKind } from '../conformance/trace/mutants.ts';
import { mutate } from '../conformance/trace/mutate.ts';
import { judgeProcesses, refusedAlterations } from '../conformance/processes/judge-processes.ts';
import { isProtocolTrace } from '../conformance/processes/lives.ts';
import { NothingToAlterError } from '../conformance/trace/nothing-to-alter.ts';

export interface TraceVerdict {
  readonly anomalies: readonly Anomaly[];
  /** What was checked, for people. */
  readonly told: readonly string[];
}

/** @throws Error if TLC fails, or a trace has gaps */
export async function judgeTraces(
  events: readonly TraceEvent[],
  { alter, say }: { readonly alter: boolean; readonly say: (line: string) => void },
): Promise<TraceVerdict> {
  if (isProtocolTrace(events)) return judgeProtocol(events, { alter, say });
  const accepted = [await judgeConsensus(events, say), await judgeApply(events), await judgeLease(events)];
  const anomalies = accepted.flatMap((each) => each.anomalies);
  const told = accepted.flatMap((each) => each.told);
  for (const line of told) say(line);
  // What is rejected as it is says nothing about mutants.
  if (anomalies.length > 0 || !alter) return { anomalies, told };
  const altered = [
    await judgeMutants(events),
    await judgeApplyMutants(events),
    await judgeLeaseMutants(events),
  ];
  return {
    anomalies: altered.flatMap((each) => each.anomalies),
    told: [...told, ...altered.flatMap((each) => each.told)],
  };
}

/** Of single-decree Paxos, or of a primary and its copies. */
async function judgeProtocol(
  events: readonly TraceEvent[],
  { alter, say }: { readonly alter: boolean; readonly say: (line: string) => void },
): Promise<TraceVerdict> {
  const { protocol, steps, actions, refused } = await judgeProcesses(events);
  if (refused !== null) {
    const summary = `${protocol}: an event is no step of the spec`;
    return { anomalies: [{ kind: 'trace-rejected', summary, detail: [JSON.stringify(refused)] }], told: [] };
  }
  const told = [
    `${protocol}: ${steps} steps accepted`,
    [...actions].map(([action, count]) => `${action} ${count}`).join(', '),
  ];
  for (const line of told) say(line);
  if (!alter) return { anomalies: [], told };
  const altered = await refusedAlterations(events, protocol);
  const accepted = [...altered].filter(([, isRefused]) => !isRefused).map(([shows]) => shows);
  return {
    anomalies: accepted.map((shows) => ({
      kind: 'mutant-accepted',
      summary: `${protocol}: ${shows} was not noticed`,
      detail: [],
    })),
    told: [...told, `${protocol}: ${altered.size - accepted.length} of ${altered.size} alterations refused`],
  };
}

async function judgeConsensus(
  events: readonly TraceEvent[],
  say: (line: string) => void,
): Promise<TraceVerdict> {
  const onProgress = (done: number, all: number): void =>
    say(`consensus: ${done} of ${all} segments accepted`);
  const outcome = await checkTrace(events, { onProgress });
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

async function judgeLease(events: readonly TraceEvent[]): Promise<TraceVerdict> {
  const outcome = await checkLeaseTrace(events);
  if (outcome === null) throw new Error('there is no event of a lease in the trace');
  if (outcome.kind === 'accepted')
    return { anomalies: [], told: [`lease: ${outcome.events} events accepted`] };
  const { event, recorded, literal } = outcome;
  const summary = `lease: event ${event} is no step of the spec`;
  return {
    anomalies: [{ kind: 'trace-rejected', summary, detail: [literal, JSON.stringify(recorded)] }],
    told: [],
  };
}

async function judgeLeaseMutants(events: readonly TraceEvent[]): Promise<TraceVerdict> {
  const kinds = Object.entries(leaseMutants).map(([shows, alter]) => ({
    shows,
    alter: () => alter(events).events,
  }));
  const altered = applicable(kinds);
  const isRejected: boolean[] = [];
  // One at a time: each is as long as the run.
  for (const { trace } of altered) {
    const [outcome] = await judgeLeaseRuns([leaseRunOf(trace)!]);
    isRejected.push(outcome?.kind === 'rejected');
  }
  return mutantVerdict('lease', altered, isRejected, kinds.length);
}

async function judgeMutants(events: readonly TraceEvent[]): Promise<TraceVerdict> {
  const kinds = Object.keys(mutants) as MutantKind[];
  const altered = applicable(
    kinds.map((kind) => ({ shows: mutants[kind].shows, alter: () => mutate(events, kind).events })),
  );
  const found = await findRejections(
    altered.map(({ trace }) => trace),
    events,
  );
  const isRejected = altered.map((_, index) => found[index] != null);
  return mutantVerdict('consensus', altered, isRejected, kinds.length);
}

async function judgeApplyMutants(events: readonly TraceEvent[]): Promise<TraceVerdict> {
  const kinds = Object.entries(applyMutants).map(([shows, alter]) => ({ shows, alter: () => alter(events) }));
  const altered = applicable(kinds);
  const isRejected = await rejectedAlterations(
    events,
    altered.map(({ trace }) => trace),
  );
  return mutantVerdict('ordered apply', altered, isRejected, kinds.length);
}

export interface Altered {
  /** What an accepted one shows of the check. */
  readonly shows: string;
  readonly trace: readonly TraceEvent[];
}

/** Those that the run has something to alter for. @throws whatever else an alteration fails for */
export function applicable(
  kinds: readonly { readonly shows: string; readonly alter: () => readonly TraceEvent[] }[],
): readonly Altered[] {
  return kinds.flatMap(({ shows, alter }) => {
    try {
      return [{ shows, trace: alter() }];
    } catch (error) {
      if (error instanceof NothingToAlterError) return [];
      throw error;
    }
  });
}

/** Of `kinds` ways to alter a run those that apply to it, and of each of these whether the spec rejects what comes of it. */
export function mutantVerdict(
  layer: string,
  altered: readonly Altered[],
  isRejected: readonly boolean[],
  kinds: number,
): TraceVerdict {
  const accepted = altered.filter((_, index) => isRejected[index] !== true);
  const rejected = altered.length - accepted.length;
  const anomalies = accepted.map(({ shows }) => ({
    kind: 'mutant-accepted',
    summary: `${layer}: ${shows}`,
    detail: [],
  }));
  const summary = `${layer}: none of the ${kinds} ways to alter a run applies to this one`;
  return {
    anomalies: altered.length > 0 ? anomalies : [{ kind: 'nothing-altered', summary, detail: [] }],
    told: [
      `${layer}: ${rejected} of ${kinds} ways to alter it rejected, ${kinds - altered.length} do not apply to this run`,
    ],
  };
}
