/**
 * Recorders of a run's events in the server's own trace format: to a list, or the last few only.
 *
 * Responsible for: numbering, and telling a crash as the spec has it: what survived of the unflushed records becomes durable
 * (Fsync), then memory is lost (Crash).
 */
import type { TraceEvent } from '../../server/src/api/events.ts';
import { compareBallots } from '../../server/src/multipaxos/ballot.ts';
import { entryLabel } from '../../server/src/multipaxos/entry.ts';
import type { ReplicaId, Slot } from '../../server/src/multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../server/src/multipaxos/types/records.ts';
import type { CoreSnapshot, CoreTraceEvent } from '../../server/src/multipaxos/types/trace.ts';
import type { Crash, TraceRecorder } from './world.ts';

/** Keeps at most `eventsMax`, the newest. `atUs` is simulated time. */
export function recordTrace(eventsMax: number): TraceRecorder & { readonly events: readonly TraceEvent[] } {
  const events: TraceEvent[] = [];
  const seqs = new Map<ReplicaId, number>();
  const lives = new Map<ReplicaId, number>();
  const recorder = {
    events,
    record(atMs: number, replica: ReplicaId, event: CoreTraceEvent): void {
      if (event.name === 'Restart') {
        lives.set(replica, (lives.get(replica) ?? 0) + 1);
        seqs.set(replica, 0);
      }
      const seq = (seqs.get(replica) ?? 0) + 1;
      seqs.set(replica, seq);
      const run = `${replica}-${lives.get(replica) ?? 0}`;
      events.push({ seq, run, replica, atUs: Math.round(atMs * 1000), layer: 'consensus', ...event });
      if (events.length > eventsMax) events.shift();
    },
    crash(atMs: number, replica: ReplicaId, { before, survivors, recovered }: Crash): void {
      if (survivors.length > 0) recorder.record(atMs, replica, survived(before, survivors));
      recorder.record(atMs, replica, { name: 'Crash', state: onDisk(recovered) });
    },
  };
  return recorder;
}

function survived(before: CoreSnapshot, survivors: readonly LogRecord[]): CoreTraceEvent {
  let { durablePromised } = before;
  const votes: NonNullable<CoreTraceEvent['votes']>[number][] = [];
  for (const record of survivors) {
    if (record.kind === 'promise' || record.kind === 'vote') {
      if (compareBallots(record.ballot, durablePromised) > 0) durablePromised = record.ballot;
    }
    if (record.kind === 'vote') votes.push([record.slot, record.ballot, entryLabel(record.entry)]);
    if (record.kind === 'chosen') votes.push([record.slot, null, entryLabel(record.entry)]);
  }
  const base = survivors.findLast((record) => record.kind === 'base')?.slot;
  return { name: 'Fsync', votes, ...(base !== undefined && { base }), state: { ...before, durablePromised } };
}

function onDisk(recovered: RecoveredLog): CoreSnapshot {
  const { promised, tail } = recovered;
  // What is purged was chosen, whatever the hint says.
  const commitPoint = Math.max(recovered.commitPoint, recovered.purgedTo) as Slot;
  const lastSlot = tail.reduce((last, { slot }) => Math.max(last, slot), commitPoint as number) as Slot;
  return {
    role: 'follower',
    ballot: promised,
    promised,
    durablePromised: promised,
    commitPoint,
    lastSlot,
    serving: false,
    configuration: recovered.configuration.version,
  };
}
