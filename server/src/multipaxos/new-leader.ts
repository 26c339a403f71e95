/**
 * Becoming leader.
 *
 * Responsible for: becomeLeader. What it found in phase 1 it proposes again in its own ballot, fills holes with no-ops and adds a `leaderStart`;
 * what lies above a configuration among it waits behind the barrier (barrier.ts).
 */
import { proposeBacklog, renewPeers } from './barrier.ts';
import { noteCommitPoint } from './learner.ts';
import { renewLease } from './lease.ts';
import { traceLeaseOf } from './lease-trace.ts';
import type { Run } from './run.ts';
import type { Candidacy, Leadership, State } from './state.ts';
import { traceAction } from './trace.ts';
import type { Entry } from './types/entries.ts';
import type { Slot } from './types/names.ts';

/** All quorums that are needed have promised. Slots up to the highest commit point heard are fetched; what lies above is proposed again. */
export function becomeLeader(run: Run): void {
  const { state } = run;
  const candidacy = state.candidacy!;
  if (state.commitPoint > candidacy.commitPoint) candidacy.commitPoint = state.commitPoint;
  const entries = inheritedEntries(state, candidacy);
  const startSlot = (candidacy.commitPoint + entries.length + 1) as Slot;
  entries.push({ kind: 'leaderStart', group: state.config.group, ballot: state.promised });
  noteCommitPoint(state, candidacy.commitPointFrom, candidacy.commitPoint);
  state.role = 'leader';
  state.candidacy = null;
  state.preVote = null;
  state.leader = state.config.id;
  state.lastReason = null;
  const nextSlot = (candidacy.commitPoint + 1) as Slot;
  const leadership = newLeadership(state, { backlog: entries, startSlot, nextSlot });
  state.leadership = leadership;
  renewPeers(state, leadership);
  renewLease(state, leadership);
  traceLeaseOf(run, 'Lead');
  proposeBacklog(run, leadership);
  traceAction(run, 'BecomeLeader', { found: leadership.backlog });
}

/** For each slot above the commit point: the vote of the highest ballot, or a no-op where no one in the quorum has voted. */
function inheritedEntries(state: State, candidacy: Candidacy): Entry[] {
  let lastSlot = candidacy.commitPoint;
  for (const slot of candidacy.votes.keys()) if (slot > lastSlot) lastSlot = slot;
  const entries: Entry[] = [];
  for (let slot = candidacy.commitPoint + 1; slot <= lastSlot; slot += 1) {
    const vote = candidacy.votes.get(slot as Slot);
    entries.push(vote === undefined ? { kind: 'noop', group: state.config.group } : vote.entry);
  }
  return entries;
}

function newLeadership(
  state: State,
  found: { readonly backlog: Entry[]; readonly startSlot: Slot; readonly nextSlot: Slot },
): Leadership {
  return {
    ballot: state.promised,
    peers: [],
    voters: [],
    wanted: null,
    pending: null,
    marks: [],
    ...found,
    serving: false,
    leaseUntilMs: Number.NEGATIVE_INFINITY,
    beganAtMs: state.nowMs,
    heartbeatAtMs: state.nowMs,
    renewalToldAtMs: Number.NEGATIVE_INFINITY,
    announcedCommitPoint: state.commitPoint,
    commitPointToldAtMs: state.nowMs,
    progressAtMs: state.nowMs,
    proposals: new Set(),
    disbelieved: new Set(),
  };
}
