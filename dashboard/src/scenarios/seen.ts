/**
 * What a scenario sees of a run: the group as it was told of last, and the events since it began to look that say something of it.
 *
 * Pure. Looks at the run's newest state, whatever moment a reader looks at. Keeps: at most `notedMax` events and `rivalsMax` rivals, the newest.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { LoadStatus } from '../../../server/src/api/load.ts';
import type { ClusterReplica, ClusterStatus, ReplicaStatus } from '../../../server/src/api/status.ts';
import type { Ballot, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { compareBallots, findLeader, freshStatus } from '../model/cluster-view.ts';
import type { DashboardState } from '../model/dashboard-state.ts';
import { replicaOf } from '../model/incarnation.ts';
import type { ReplicaLog } from '../model/replica-log.ts';

export interface Seen {
  /** On the run's clock. */
  readonly atMs: number;
  readonly cluster: ClusterStatus;
  readonly lastStatus: ReadonlyMap<string, ReplicaStatus>;
  readonly load: LoadStatus | null;
  readonly logs: ReadonlyMap<string, ReplicaLog>;
  readonly events: readonly Noted[];
  /** Who was seen to lead and serve while another one did so in a higher ballot. */
  readonly rivals: readonly Rival[];
  /** When each replica told its newest event, by the events' own clock, microseconds; by what it is called without its life. */
  readonly lastWords: ReadonlyMap<string, number>;
  /** The first event of the run that was not looked at yet. */
  readonly nextEvent: number;
}

export interface Noted {
  /** When it was told, on the run's clock. */
  readonly atMs: number;
  readonly event: TraceEvent;
}

/** By its own word at that moment: what it answered is not known by that. */
export interface Rival {
  readonly id: ReplicaId;
  readonly ballot: Ballot;
  /** When it was seen so last, on the run's clock. */
  readonly atMs: number;
}

type EventOf<Name extends TraceEvent['name']> = TraceEvent & { readonly name: Name };

const notedMax = 400;
const rivalsMax = 20;

const notable: ReadonlySet<string> = new Set<TraceEvent['name']>([
  'StartElection',
  'HandlePrepare',
  'HandlePromise',
  'BecomeLeader',
  'HandleReject',
  'StepDown',
  'Serve',
  'Crash',
  'Restart',
  'Restored',
  'Reconfigure',
  'ProposeLeadership',
  'BeginLeadership',
  'Promote',
  'Resume',
  'Open',
  'Depose',
  'CheckPrefix',
  'BeginCopy',
  'GiveUpCopy',
  'EndCopy',
  'Purge',
  'RecoveryPhase',
]);

/** Null: nothing was told of the group yet. */
export function beginSeeing(state: DashboardState, atMs: number): Seen | null {
  const { cluster, trace } = state;
  if (cluster === null) return null;
  return {
    ...groupIn(state, cluster, atMs),
    events: [],
    rivals: [],
    lastWords: new Map(),
    nextEvent: trace.firstIndex + trace.events.length,
  };
}

/** `state`: the run's, later. */
export function seeOn(seen: Seen, state: DashboardState, atMs: number): Seen {
  const { cluster, trace } = state;
  const told = trace.events.slice(Math.max(0, seen.nextEvent - trace.firstIndex));
  const fresh = told.filter(({ name }) => notable.has(name)).map((event) => ({ atMs, event }));
  const events = fresh.length === 0 ? seen.events : [...seen.events, ...fresh].slice(-notedMax);
  return {
    ...groupIn(state, cluster ?? seen.cluster, atMs),
    events,
    rivals: rivalsOn(seen.rivals, cluster ?? seen.cluster, atMs),
    lastWords: wordsOn(seen.lastWords, told),
    nextEvent: trace.firstIndex + trace.events.length,
  };
}

function wordsOn(before: Seen['lastWords'], told: readonly TraceEvent[]): Seen['lastWords'] {
  if (told.length === 0) return before;
  const words = new Map(before);
  for (const { replica, atUs } of told) {
    const id = replicaOf(replica);
    words.set(id, Math.max(atUs, words.get(id) ?? 0));
  }
  return words;
}

function rivalsOn(before: readonly Rival[], cluster: ClusterStatus, atMs: number): readonly Rival[] {
  const leader = findLeader(cluster);
  if (leader === null) return before;
  const fresh = cluster.replicas
    .map(freshStatus)
    .filter((status) => status !== null)
    .filter(({ role, state }) => role === 'leader' && state === 'serving')
    .filter(({ ballot }) => compareBallots(ballot, leader.ballot) < 0)
    .map(({ id, ballot }): Rival => ({ id, ballot, atMs }));
  if (fresh.length === 0) return before;
  const others = before.filter(
    (one) => !fresh.some(({ id, ballot }) => id === one.id && compareBallots(ballot, one.ballot) === 0),
  );
  return [...others, ...fresh].slice(-rivalsMax);
}

function groupIn({ lastStatus, load, trace }: DashboardState, cluster: ClusterStatus, atMs: number) {
  return { atMs, cluster, lastStatus, load: load.status, logs: trace.logs };
}

export function replicaIn({ cluster }: Seen, id: string): ClusterReplica | null {
  return cluster.replicas.find((replica) => replica.id === id) ?? null;
}

/** Its status, if it can be relied on now. */
export function statusIn(seen: Seen, id: string): ReplicaStatus | null {
  const replica = replicaIn(seen, id);
  return replica === null ? null : freshStatus(replica);
}

/** The last one that it has told, however old. */
export function lastStatusIn({ lastStatus }: Seen, id: string): ReplicaStatus | null {
  return lastStatus.get(id) ?? null;
}

/** Who leads and serves. */
export function leaderIn({ cluster }: Seen): ReplicaStatus | null {
  return findLeader(cluster);
}

export function idsIn({ cluster }: Seen): readonly ReplicaId[] {
  return cluster.replicas.map(({ id }) => id);
}

/** The events of that name that were told behind `afterMs`, oldest first; of one replica, if it is named. */
export function eventsIn<Name extends TraceEvent['name']>(
  { events }: Seen,
  name: Name,
  { of, afterMs = Number.NEGATIVE_INFINITY }: { readonly of?: string; readonly afterMs?: number } = {},
): readonly EventOf<Name>[] {
  return events
    .filter(({ atMs, event }) => event.name === name && atMs > afterMs)
    .map(({ event }) => event as EventOf<Name>)
    .filter(({ replica }) => of === undefined || replicaOf(replica) === of);
}
