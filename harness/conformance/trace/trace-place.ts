/** Where events stand in a trace: in their run, and beside all others in time. */
import { replicaOf } from '../../../server/src/multipaxos/configuration.ts';
import type { ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { ConsensusEvent, RecordedTrace } from './read-trace.ts';

/** Some run of its replica. A run begins with Restart. */
export type Run = readonly ConsensusEvent[];

export function runsOf(trace: RecordedTrace): Run[] {
  return [...trace.byReplica.values()].flatMap((events) => {
    const starts = events.flatMap(({ name }, index) => (name === 'Restart' ? [index] : []));
    return starts.map((start, i) => events.slice(start, starts[i + 1]));
  });
}

export function inTime(trace: RecordedTrace): ConsensusEvent[] {
  return [...trace.byReplica.values()].flat().sort((a, b) => a.atUs - b.atUs);
}

/** The last event of each run of a replica that does not end in a crash: what came behind it may be lost, or was never recorded. */
export function cutEnds(trace: RecordedTrace): Map<ReplicaId, ConsensusEvent[]> {
  const ends = new Map<ReplicaId, ConsensusEvent[]>();
  for (const run of runsOf(trace)) {
    const last = run.at(-1);
    if (last === undefined || last.name === 'Crash') continue;
    ends.set(last.replica, [...(ends.get(last.replica) ?? []), last]);
  }
  return ends;
}

/** The flush that a crash let through: nobody heard what it let go, and no process told of it. */
export function isUnheard(run: Run, index: number): boolean {
  return run[index]?.name === 'Fsync' && run[index + 1]?.name === 'Crash';
}

/** The last run of each replica, whatever its life: it may go on behind the end of the trace. */
export function lastRuns(runs: readonly Run[]): ReadonlySet<Run> {
  const last = new Map<ReplicaId, Run>();
  for (const run of runs) {
    const [first] = run;
    if (first === undefined) continue;
    const replica = replicaOf(first.replica);
    const known = last.get(replica)?.[0];
    if (known === undefined || known.atUs <= first.atUs) last.set(replica, run);
  }
  return new Set(last.values());
}
