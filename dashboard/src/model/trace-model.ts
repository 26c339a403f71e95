/**
 * All that the page knows from trace events: one bounded array of them, which is the truth, and what is folded from it.
 *
 * Does not know the cluster's status or time. Keeps: `foldEvents(foldEvents(m, a), b)` equals `foldEvents(m, [...a, ...b])`;
 * every collection is bounded.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { ClusterStatus, ReplicaStatus, VerifyResult } from '../../../server/src/api/status.ts';
import { foldNotes } from './entry-notes.ts';
import type { EntryNotes } from './entry-notes.ts';
import { replicaOf } from './incarnation.ts';
import { emptyLog, foldReplicaLog, meetStatus } from './replica-log.ts';
import type { ReplicaLog } from './replica-log.ts';
import { emptyRunning, foldRunning } from './running.ts';
import type { Running } from './running.ts';

export const eventsMax = 5000;

export interface TraceModel {
  /** In the order of arrival, the latest `eventsMax`. */
  readonly events: readonly TraceEvent[];
  /** How many events came before `events[0]`: `firstIndex + i` names an event for ever. */
  readonly firstIndex: number;
  /** By replica, whatever its incarnation. */
  readonly logs: ReadonlyMap<string, ReplicaLog>;
  /** What entries hold, by their labels. */
  readonly notes: EntryNotes;
  /** What clients of the leader are at. */
  readonly running: Running;
  /** When a message was last seen on a directed link (`linkKey`), leaving or arriving, in the events' microseconds. */
  readonly lastMessageUs: ReadonlyMap<string, number>;
  readonly lastAtUs: number;
  /** The last comparison of data that was told of. */
  readonly verify: VerifyResult | null;
}

export const emptyTrace: TraceModel = {
  events: [],
  firstIndex: 0,
  logs: new Map(),
  notes: new Map(),
  running: emptyRunning,
  lastMessageUs: new Map(),
  lastAtUs: 0,
  verify: null,
};

export function linkKey(from: string, to: string): string {
  return `${from}>${to}`;
}

/** What the events of earlier processes told is over where a status tells of a new one; `before`: the statuses until then. */
export function meetCluster(
  model: TraceModel,
  cluster: ClusterStatus,
  before: ReadonlyMap<string, ReplicaStatus>,
): TraceModel {
  const changed = cluster.replicas.flatMap((replica) => {
    const log = model.logs.get(replica.id);
    const met = log === undefined ? log : meetStatus(log, replica, before.get(replica.id) ?? null);
    return met === undefined || met === log ? [] : [[replica.id, met] as const];
  });
  return changed.length === 0 ? model : { ...model, logs: new Map([...model.logs, ...changed]) };
}

export function foldEvents(model: TraceModel, received: readonly TraceEvent[]): TraceModel {
  const batch = unseen(model, received);
  if (batch.length === 0) return model;
  const all = [...model.events, ...batch];
  const excess = Math.max(0, all.length - eventsMax);
  return {
    events: excess > 0 ? all.slice(excess) : all,
    firstIndex: model.firstIndex + excess,
    logs: foldLogs(model.logs, batch),
    notes: foldNotes(model.notes, batch),
    running: foldRunning(model.running, batch),
    lastMessageUs: foldMessages(model.lastMessageUs, batch),
    lastAtUs: batch.reduce((latest, event) => Math.max(latest, event.atUs), model.lastAtUs),
    verify: latestVerify(batch) ?? model.verify,
  };
}

/** A page that connects again is shown a little of the past again. */
function unseen(model: TraceModel, received: readonly TraceEvent[]): readonly TraceEvent[] {
  const last = new Map([...model.logs].map(([id, log]) => [id, { run: log.run, seq: log.lastSeq }]));
  return received.filter((event) => {
    const seen = last.get(replicaOf(event.replica));
    if (seen !== undefined && seen.run === event.run && event.seq <= seen.seq) return false;
    last.set(replicaOf(event.replica), { run: event.run, seq: event.seq });
    return true;
  });
}

/** The last comparison that was told of. */
function latestVerify(events: readonly TraceEvent[]): VerifyResult | null {
  const found = events.findLast((event) => event.name === 'VerifyDone');
  return found?.name === 'VerifyDone' ? found.result : null;
}

function foldLogs(
  logs: ReadonlyMap<string, ReplicaLog>,
  batch: readonly TraceEvent[],
): ReadonlyMap<string, ReplicaLog> {
  const byReplica = new Map<string, TraceEvent[]>();
  for (const event of batch) {
    const replica = replicaOf(event.replica);
    const own = byReplica.get(replica);
    if (own === undefined) byReplica.set(replica, [event]);
    else own.push(event);
  }
  const next = new Map(logs);
  for (const [replica, events] of byReplica) {
    next.set(replica, foldReplicaLog(logs.get(replica) ?? emptyLog, events));
  }
  return next;
}

function foldMessages(
  lastMessageUs: TraceModel['lastMessageUs'],
  batch: readonly TraceEvent[],
): TraceModel['lastMessageUs'] {
  const next = new Map(lastMessageUs);
  for (const event of batch) {
    const replica = replicaOf(event.replica);
    const sender = senderOf(event);
    if (sender !== null) next.set(linkKey(replicaOf(sender), replica), event.atUs);
    if (event.layer !== 'consensus') continue;
    for (const { to } of event.sent ?? []) next.set(linkKey(replica, replicaOf(to)), event.atUs);
  }
  return next;
}

/** Whose message the event is about. Of heartbeats that change nothing only the lease's events tell, and those name the leader by its ballot. */
function senderOf(event: TraceEvent): string | null {
  if (event.layer === 'consensus') return event.from ?? null;
  if (event.layer !== 'lease') return null;
  if (event.name === 'HandleHeartbeat') return event.ballot.replica;
  return event.name === 'HandleHeartbeatAck' ? event.from : null;
}

/** A link counts as busy for this long after a message. */
const busyUs = 1_000_000;

/** `nowUs`: on the events' clock. */
export function isBusy(model: TraceModel, key: string, nowUs: number): boolean {
  const lastUs = model.lastMessageUs.get(key);
  return lastUs !== undefined && nowUs - lastUs < busyUs;
}
