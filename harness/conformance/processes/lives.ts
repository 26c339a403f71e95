/**
 * What real replicas recorded of their cores of Paxos, or of a primary and its copies: the steps of all of them in one order, life after life.
 *
 * Responsible for: putting events in order by the machine's monotonic clock, which all processes share, and refusing a trace with gaps. A replica tells of a step before anybody can hear of it, and writes that down at once (sync-trace-file.ts), so that no effect comes before its cause, and a killed process has told all that others know.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';

export type ProtocolEvent = Extract<TraceEvent, { layer: 'protocol' }>;

export interface ToldStep<Step> {
  readonly replica: ReplicaId;
  /** Whose process told it. */
  readonly run: string;
  readonly step: Step;
  readonly told: ProtocolEvent;
}

export interface ToldSteps<Step> {
  readonly members: readonly ReplicaId[];
  readonly steps: readonly ToldStep<Step>[];
}

/** So many can be judged at once: each is compared with all that its replica knows. */
const stepsMax = 60_000;

export function isProtocolTrace(events: readonly TraceEvent[]): boolean {
  return events.some(({ layer }) => layer === 'protocol');
}

/** Of one core. @throws Error if there are gaps, or too many steps to judge */
export function stepsOf<Step>(events: readonly TraceEvent[], name: ProtocolEvent['name']): ToldSteps<Step> {
  expectWhole(events);
  const own = events.filter(
    (event): event is ProtocolEvent => event.layer === 'protocol' && event.name === name,
  );
  if (own.length > stepsMax)
    throw new Error(`${own.length} steps are more than the ${stepsMax} that are judged`);
  const inOrder = own.toSorted((a, b) => a.atUs - b.atUs || (a.run === b.run ? a.seq - b.seq : 0));
  const members = [...new Set(inOrder.map(({ replica }) => replica))].sort();
  const steps = inOrder.map((told) => ({
    replica: told.replica,
    run: told.run,
    step: told.step as Step,
    told,
  }));
  return { members, steps };
}

function expectWhole(events: readonly TraceEvent[]): void {
  const runs = new Map<string, number[]>();
  for (const { run, seq } of events) {
    const seqs = runs.get(run);
    if (seqs === undefined) runs.set(run, [seq]);
    else seqs.push(seq);
  }
  for (const [run, seqs] of runs) {
    seqs.sort((a, b) => a - b);
    const gap = seqs.findIndex((seq, index) => seq !== index + 1);
    if (gap !== -1) throw new Error(`run ${run} has a gap before its event ${seqs[gap]}`);
  }
}
