/**
 * Reads recorded traces: the text of NDJSON files of one or many replicas, one event a line. Pure; the files themselves are trace-files.ts.
 *
 * Responsible for: putting the events of each replica in order, run after run, and refusing a trace with gaps: what was not
 * recorded cannot be checked. A last line that is cut (the process was killed in the middle of it) is left out.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { SpecConfiguration } from './spec-message.ts';
import type { Configurations } from './spec-configuration.ts';

export type ConsensusEvent = Extract<TraceEvent, { layer: 'consensus' }>;

export interface RecordedTrace {
  /** In the order of ballots. */
  readonly members: readonly ReplicaId[];
  readonly byReplica: ReadonlyMap<ReplicaId, readonly ConsensusEvent[]>;
  readonly events: number;
  /** In which the trace begins. */
  readonly founding: SpecConfiguration;
  readonly configurations: Configurations;
}

/** @throws Error naming the file and line that is no event */
export function parseTrace(text: string, file: string): TraceEvent[] {
  const lines = text.split('\n');
  const isCut = lines.pop() !== '';
  if (isCut) console.warn(`${file}: the last line is cut and was left out`);
  return lines.map((line, i) => {
    try {
      return JSON.parse(line) as TraceEvent;
    } catch (error) {
      throw new Error(`${file}:${i + 1} is not an event`, { cause: error });
    }
  });
}

/** @throws Error if a run has gaps, does not begin with Restart and only there, or is not of one replica */
export function orderTrace(events: readonly TraceEvent[]): RecordedTrace {
  const runs = new Map<string, TraceEvent[]>();
  for (const event of events) {
    const run = runs.get(event.run);
    if (run === undefined) runs.set(event.run, [event]);
    else run.push(event);
  }
  const sorted = [...runs.values()].map((run) => run.sort((a, b) => a.seq - b.seq));
  sorted.sort((a, b) => (a[0] as TraceEvent).atUs - (b[0] as TraceEvent).atUs);
  const byReplica = new Map<ReplicaId, ConsensusEvent[]>();
  let count = 0;
  for (const run of sorted) {
    const consensus = checkRun(run);
    // A replica without a log has no incarnation until the others give it one: a run begins before its name is known.
    const replica = consensus[0]?.replica;
    if (replica === undefined) continue;
    byReplica.set(replica, [...(byReplica.get(replica) ?? []), ...consensus]);
    count += consensus.length;
  }
  const members = [...byReplica.keys()].sort((a, b) => (a < b ? -1 : 1));
  return { members, byReplica, events: count, ...configurationsOf(members, byReplica) };
}

/**
 * What is told first counts; whoever tells otherwise is rejected there (`t` in TraceMultiPaxos.tla). A trace that tells of no configuration was recorded, or simulated,
 * in one that never changed.
 */
function configurationsOf(
  members: readonly ReplicaId[],
  byReplica: ReadonlyMap<ReplicaId, readonly ConsensusEvent[]>,
): Pick<RecordedTrace, 'founding' | 'configurations'> {
  const chosen = new Map<number, SpecConfiguration>();
  const voters = new Map<EntryLabel, readonly ReplicaId[]>();
  const inTime = [...byReplica.values()].flat().sort((a, b) => a.atUs - b.atUs);
  for (const event of inTime) {
    for (const { version, slot, label, voters: those } of event.configurations ?? []) {
      if (label === undefined) {
        if (!chosen.has(version)) chosen.set(version, { version, slot, voters: those });
      } else if (!voters.has(label)) voters.set(label, those);
    }
  }
  const first = Math.min(...chosen.keys());
  const founding = chosen.get(first) ?? { version: 1, slot: 0, voters: members };
  chosen.set(founding.version, founding);
  return { founding, configurations: { chosen, voters } };
}

function checkRun(run: readonly TraceEvent[]): ConsensusEvent[] {
  run.forEach((event, i) => {
    const previous = i === 0 ? 0 : (run[i - 1] as TraceEvent).seq;
    if (event.seq === previous + 1) return;
    const { replica, seq } = event;
    if (i === 0)
      throw new Error(
        `the trace of ${replica}, run ${event.run}, is incomplete: it begins with event ${seq}, and those before it are gone (trace.filesMax)`,
      );
    throw new Error(
      `the trace of ${replica}, run ${event.run}, has a gap: event ${seq} comes after ${previous}`,
    );
  });
  const consensus = run.filter((event) => event.layer === 'consensus');
  const [first] = consensus;
  if (first !== undefined && first.name !== 'Restart') {
    throw new Error(
      `the trace of ${first.replica}, run ${first.run}, begins with ${first.name} instead of Restart`,
    );
  }
  const again = consensus.find((event) => event !== first && event.name === 'Restart');
  if (again !== undefined)
    throw new Error(`the trace of ${again.replica}, run ${again.run}, restarts in the middle: ${again.seq}`);
  const other = consensus.find(({ replica }) => replica !== first?.replica);
  if (first !== undefined && other !== undefined) {
    throw new Error(
      `the trace of ${first.replica}, run ${first.run}, has an event of ${other.replica}: ${other.seq}`,
    );
  }
  return consensus;
}

/** Whose logs were not empty when the trace began: what the layers above tell of them begins in the middle. */
export function begunBefore({ members, byReplica }: RecordedTrace): ReplicaId[] {
  return members.filter((id) => (byReplica.get(id)?.[0]?.state.promised.round ?? 0) > 0);
}

/** Who was heard by others before its own trace begins, whose first runs are gone: what others heard of it then nothing shows. */
export function beginsTooLate({ byReplica }: RecordedTrace): ReplicaId[] {
  const late = new Set<ReplicaId>();
  for (const { from, atUs, replica } of [...byReplica.values()].flat()) {
    if (from === undefined || from === replica) continue;
    const beginsAtUs = byReplica.get(from)?.[0]?.atUs ?? Number.POSITIVE_INFINITY;
    if (atUs < beginsAtUs) late.add(from);
  }
  return [...late].sort();
}
