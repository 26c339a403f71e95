/** What a replica measures beyond its status, read off its parts. Changes nothing. */
import type { PeerLag, ReplicaMeasures } from '../../api/measures.ts';
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { Slot } from '../../multipaxos/types/names.ts';
import type { CoreHost } from '../consensus/core-host.ts';
import type { GroupInterval } from '../consensus/group-interval.ts';
import type { HandOver } from '../consensus/hand-over.ts';
import type { LeadershipState } from '../consensus/leadership-state.ts';
import type { PaceWatch } from '../pace/pace-watch.ts';
import type { DatabaseStatus } from './status-report.ts';

export interface MeasuredParts {
  readonly core: Pick<CoreHost, 'commitPoint' | 'peers' | 'chosenBytes'>;
  readonly leadership: Pick<LeadershipState, 'elections' | 'role'>;
  readonly handOver: Pick<HandOver, 'ends'>;
  readonly pace: Pick<PaceWatch, 'ends' | 'report'>;
  readonly groupInterval: Pick<GroupInterval, 'ms'> | null;
  readonly database: () => DatabaseStatus;
  readonly timers: { nowMs(): number };
}

export function measuresOf({
  core,
  leadership,
  handOver,
  pace,
  groupInterval,
  database,
  timers,
}: MeasuredParts): ReplicaMeasures {
  const { standbyLag, oldestProposedAtMs } = database();
  // What has shipped is ended only after the leadership.
  const leads = leadership.role === 'leader';
  const waits = leads && oldestProposedAtMs !== null;
  return {
    elections: leadership.elections.counts,
    handOvers: handOver.ends,
    slowHandOvers: pace.ends,
    pace: pace.report,
    peers: peersOf(core),
    standby: standbyLag,
    choiceWaitMs: waits ? Math.max(0, timers.nowMs() - oldestProposedAtMs) : 0,
    groupIntervalMs: leads ? (groupInterval?.ms ?? null) : null,
  };
}

export function peersOf(core: MeasuredParts['core']): readonly PeerLag[] {
  const { commitPoint } = core;
  const behind = (slot: Slot | null): number | null =>
    slot === null ? null : Math.max(0, commitPoint - slot);
  return core.peers().map(({ id, silentMs, commitPoint: theirs, durableApplicationPointer }) => ({
    member: replicaOf(id),
    silentMs: Math.max(0, silentMs),
    behindSlots: behind(theirs),
    behindBytes: theirs === null ? null : core.chosenBytes.above(theirs),
    databaseBehindSlots: behind(durableApplicationPointer),
  }));
}
