/**
 * What a leader does as time passes.
 *
 * Responsible for: heartbeats, sending again what was not acknowledged (bounded), promoting learners, and noticing that it has lost its
 * quorum. A follower that is far behind gets nothing again from here: it fetches.
 */
import { acceptOf } from './barrier.ts';
import { commitPointMode } from './commit-point.ts';
import { heartbeatOf } from './heartbeat.ts';
import { hearPeer, stepDown } from './leader.ts';
import { purge } from './learner.ts';
import { quorumHeardAtMs } from './lease.ts';
import { isPatienceOver } from './patience.ts';
import { promoteLearner } from './promotion.ts';
import { broadcast, send, type Run } from './run.ts';
import type { Leadership, PeerProgress, State } from './state.ts';
import type { Entry } from './types/entries.ts';
import type { HeartbeatAck } from './types/messages.ts';
import type { ReplicaId, Slot } from './types/names.ts';

export function tickLeader(run: Run, leadership: Leadership): void {
  const { state } = run;
  if (isCutOff(state, leadership)) {
    stepDown(run, 'quorumLost');
    return;
  }
  heartbeat(run, leadership);
  for (const peer of leadership.peers) retransmit(run, leadership, peer);
  promoteLearner(run, leadership);
}

/** No quorum has answered for the longest election timeout, or a new leader cannot get what it must have before it serves. */
function isCutOff(state: State, leadership: Leadership): boolean {
  const { electionTimeoutMaxMs } = state.config;
  const heardAtMs = Math.max(quorumHeardAtMs(state, leadership), leadership.beganAtMs);
  if (state.nowMs - heardAtMs > electionTimeoutMaxMs) return true;
  const isFetching = state.commitPoint < leadership.startSlot && state.knownCommitPoint > state.commitPoint;
  return isFetching && state.nowMs - leadership.progressAtMs > 2 * electionTimeoutMaxMs;
}

/** At its interval, and sooner when the commit point has moved with no Accept to carry it, unless it is told by itself (commit-point.ts). */
function heartbeat(run: Run, leadership: Leadership): void {
  const { state } = run;
  const due = state.nowMs >= leadership.heartbeatAtMs + state.config.heartbeatMs;
  const isTold = leadership.announcedCommitPoint === state.commitPoint;
  if (!due && (isTold || commitPointMode(state).kind !== 'piggyback')) return;
  leadership.heartbeatAtMs = state.nowMs;
  leadership.announcedCommitPoint = state.commitPoint;
  const message = heartbeatOf(state, leadership);
  broadcast(run, message);
  purge(run, message.globalApplicationPointer);
}

/** The newest answer counts, even if it is lower: a database that was restored from a copy may have less than the one before. */
export function handleHeartbeatAck(run: Run, from: ReplicaId, message: HeartbeatAck): void {
  if (!hearPeer(run, from, message)) return;
  const peer = run.state.leadership!.peers.find((candidate) => candidate.id === from)!;
  if (message.sentAtMs < peer.pointerSentAtMs) return;
  peer.pointerSentAtMs = message.sentAtMs;
  peer.durableApplicationPointer = message.durableApplicationPointer;
}

/** Sends one Accept again: the first run of slots that the peer has not acknowledged in time. */
function retransmit(run: Run, leadership: Leadership, peer: PeerProgress): void {
  const { state } = run;
  const { electionTimeoutMaxMs } = state.config;
  if (leadership.nextSlot - 1 === state.commitPoint) return;
  if (!isPatienceOver(state, peer.retransmittedAtMs)) return;
  const heardAtMs = Math.max(peer.ackedSentAtMs, peer.sinceMs);
  if (state.nowMs - heardAtMs > electionTimeoutMaxMs) return;
  peer.retransmittedAtMs = state.nowMs;
  const { firstSlot, entries } = overdueSlots(state, leadership, peer);
  if (entries.length > 0) send(run, peer.id, acceptOf(state, firstSlot, entries));
}

function overdueSlots(
  state: State,
  leadership: Leadership,
  peer: PeerProgress,
): { readonly firstSlot: Slot; readonly entries: Entry[] } {
  const { acceptBatchBytesMax } = state.config;
  const entries: Entry[] = [];
  let bytes = 0;
  let slot = Math.max(state.commitPoint, peer.commitPoint) + 1;
  let firstSlot = slot;
  for (; slot < leadership.nextSlot; slot += 1) {
    const held = state.log.get(slot as Slot);
    const overdue =
      held?.ballot === leadership.ballot &&
      (held.votes & peer.bit) === 0 &&
      isPatienceOver(state, held.sentAtMs);
    if (!overdue) {
      if (entries.length > 0) break;
      continue;
    }
    if (entries.length === 0) firstSlot = slot;
    bytes += held.bytes;
    if (entries.length > 0 && bytes > acceptBatchBytesMax) break;
    entries.push(held.entry);
  }
  return { firstSlot: firstSlot as Slot, entries };
}
