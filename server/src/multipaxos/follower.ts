/**
 * A follower's side of phase 2: what it does with the leader's Accepts and Heartbeats.
 *
 * Responsible for: handleAccept, handleHeartbeat. A vote stays until a higher ballot writes its slot (the paper's Procedure 2: a
 * follower does not throw away its tail when the leader changes), and is durable before anyone hears of it. Slots at or below
 * the commit point are never voted on again: what they hold is settled.
 */
import { adoptBallot, reject } from './acceptor.ts';
import { compareBallots, sameBallot } from './ballot.ts';
import { requestCatchUp } from './catch-up.ts';
import { entryBytes, entryLabel } from './entry.ts';
import { violated } from './invariants.ts';
import { followCommitPoint, noteCommitPoint, purge } from './learner.ts';
import { grantLease } from './lease.ts';
import { traceGrant } from './lease-trace.ts';
import { putSlot, reachOf, windowsHeldMax } from './log.ts';
import { persist, recordCommitPoint, send, sendWhenDurable, type Run } from './run.ts';
import { restartElectionTimer, type State } from './state.ts';
import { traceAction } from './trace.ts';
import type { Accept, Heartbeat, HeartbeatAck } from './types/messages.ts';
import type { ReplicaId, Slot } from './types/names.ts';
import type { LogRecord } from './types/records.ts';

/** What every message of a leader does to a follower: it adopts the ballot, grants the lease, and waits. */
function followLeader(run: Run, from: ReplicaId, message: Accept | Heartbeat): 'adopted' | 'known' {
  const { state } = run;
  const { ballot } = message;
  const adopted = compareBallots(ballot, state.promised) > 0;
  if (adopted) adoptBallot(run, ballot);
  state.leader = from;
  state.preVote = null;
  grantLease(state, from);
  traceGrant(run, message);
  state.goneUntilMs = Number.NEGATIVE_INFINITY;
  restartElectionTimer(state);
  return adopted ? 'adopted' : 'known';
}

/** Phase 2b for all slots of the message above the commit point. */
export function handleAccept(run: Run, from: ReplicaId, message: Accept): void {
  const { state } = run;
  if (message.ballot.replica !== from || from === state.config.id) return;
  if (compareBallots(message.ballot, state.promised) < 0) {
    reject(run, from, message.ballot);
    return;
  }
  const adopted = followLeader(run, from, message) === 'adopted';
  noteCommitPoint(state, from, message.commitPoint);
  const followed = followCommitPoint(state, message.commitPoint);
  const firstSlot = Math.max(message.firstSlot, state.commitPoint + 1) as Slot;
  const records: LogRecord[] = [];
  const lastSlot = vote(state, message, firstSlot, records);
  const hasVoted = records.some(({ kind }) => kind === 'vote');
  if (adopted && !hasVoted) records.push({ kind: 'promise', ballot: message.ballot });
  if (records.length > 0) persist(run, records);
  acknowledge(run, from, message, firstSlot, lastSlot);
  // Over slots that it has voted for just now, too: an Accept that comes again may carry a commit point above its own slots.
  const advanced = followCommitPoint(state, message.commitPoint) || followed;
  // An Accept whose slots are all settled here is no more than a heartbeat.
  if (hasVoted || advanced) traceAction(run, 'HandleAccept', { from, message });
  else if (adopted) traceAction(run, 'HandleHeartbeat', { from, message });
  requestCatchUp(run);
}

/**
 * Writes the votes; returns the last slot that is voted for, which is below `firstSlot` if there is none. A configuration is voted for only by
 * one who knows everything below it as chosen, and remembers it: the record of the commit point goes first (barrier.ts says why).
 */
function vote(state: State, message: Accept, firstSlot: Slot, records: LogRecord[]): Slot {
  const { ballot, entries } = message;
  for (let slot = firstSlot; slot < message.firstSlot + entries.length; slot = (slot + 1) as Slot) {
    const entry = entries[slot - message.firstSlot]!;
    const held = state.log.get(slot);
    if (held !== undefined && held.ballot !== null && sameBallot(held.ballot, ballot)) {
      if (held.label !== entryLabel(entry)) violated('OneValuePerBallot', `${held.label} in slot ${slot}`);
      continue;
    }
    if (!hasRoom(state, slot, entryBytes(entry))) return (slot - 1) as Slot;
    if (entry.kind === 'configuration') {
      if (slot !== state.commitPoint + 1) return (slot - 1) as Slot;
      recordCommitPoint(state, records);
    }
    putSlot(state, { slot, entry, ballot, seq: state.nextSeq });
    records.push({ kind: 'vote', slot, ballot, entry });
  }
  return (message.firstSlot + entries.length - 1) as Slot;
}

/** Memory for what lies beyond the commit point is bounded; the next slot always fits. */
function hasRoom(state: State, slot: Slot, bytes: number): boolean {
  if (slot === state.commitPoint + 1) return true;
  const { windowBytesMax } = state.config;
  if (slot > state.commitPoint + reachOf(state)) return false;
  return state.tailBytes + bytes <= windowsHeldMax * windowBytesMax || state.tailBytes <= bytes;
}

function acknowledge(run: Run, from: ReplicaId, message: Accept, firstSlot: Slot, lastSlot: Slot): void {
  const { state } = run;
  const { ballot, sentAtMs } = message;
  const { group } = state.config;
  const { commitPoint } = state;
  if (lastSlot >= firstSlot) {
    sendWhenDurable(run, from, {
      kind: 'Accepted',
      group,
      ballot,
      firstSlot,
      lastSlot,
      commitPoint,
      sentAtMs,
    });
    return;
  }
  sendWhenDurable(run, from, heartbeatAck(state, message));
}

export function handleHeartbeat(run: Run, from: ReplicaId, message: Heartbeat): void {
  const { state } = run;
  if (message.ballot.replica !== from || from === state.config.id) return;
  if (compareBallots(message.ballot, state.promised) < 0) {
    reject(run, from, message.ballot);
    return;
  }
  const adopted = followLeader(run, from, message) === 'adopted';
  if (adopted) persist(run, [{ kind: 'promise', ballot: message.ballot }]);
  noteCommitPoint(state, from, message.commitPoint);
  const advanced = followCommitPoint(state, message.commitPoint);
  const answer = heartbeatAck(state, message);
  if (compareBallots(state.durablePromised, message.ballot) >= 0) send(run, from, answer);
  else sendWhenDurable(run, from, answer);
  if (adopted || advanced) traceAction(run, 'HandleHeartbeat', { from, message });
  requestCatchUp(run);
  purge(run, message.globalApplicationPointer);
}

function heartbeatAck(state: State, message: Heartbeat | Accept): HeartbeatAck {
  return {
    kind: 'HeartbeatAck',
    group: state.config.group,
    ballot: message.ballot,
    sentAtMs: message.sentAtMs,
    commitPoint: state.commitPoint,
    durableApplicationPointer: state.durableApplied,
  };
}
