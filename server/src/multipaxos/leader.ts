/**
 * The leader: phase 2 over its window of slots.
 *
 * Responsible for: propose, handleAccepted, advanceCommitPoint, serve, stepDown. It serves when all that it found in phase 1 is chosen and
 * applied (the paper's Procedure 1). Its own vote counts once it is durable, like any other. Only the voters of the configuration in force
 * count; a leader that is no longer one of them gives up.
 */
import { sameBallot } from './ballot.ts';
import { appendOwn, isBarred, renewPeers } from './barrier.ts';
import { entryBytes, entryLabel } from './entry.ts';
import { heartbeatOf } from './heartbeat.ts';
import { noteCommitPoint } from './learner.ts';
import { countAcknowledgement, renewLease } from './lease.ts';
import { traceLeaseOf, traceRenewal, traceResignation } from './lease-trace.ts';
import { markChosen } from './log.ts';
import { tellConfiguration } from './membership.ts';
import { countMembers } from './quorum.ts';
import { resign } from './resign.ts';
import { broadcast, send, type Run } from './run.ts';
import { restartElectionTimer, type Leadership, type State } from './state.ts';
import { traceAction } from './trace.ts';
import type { Effect, Input } from './types/effects.ts';
import type { Entry } from './types/entries.ts';
import type { Accepted, HeartbeatAck } from './types/messages.ts';
import type { ReplicaId, Slot, StepDownReason } from './types/names.ts';

type ProposeInput = Extract<Input, { kind: 'Propose' }>;
type Refusal = Extract<Effect, { kind: 'refused' }>['code'];

/** Phase 2a for a batch: consecutive slots, one group commit. Each proposal is answered by `proposed` or `refused`. */
export function propose(run: Run, proposals: ProposeInput['proposals']): void {
  const { state } = run;
  const { leadership, config } = state;
  const firstSlot = leadership?.nextSlot ?? (0 as Slot);
  const entries: Entry[] = [];
  let bytes = 0;
  for (const { proposal, payload } of proposals) {
    const entry: Entry = { kind: 'command', group: config.group, proposal, payload };
    const refusal = refuse(state, entry, entries.length, bytes);
    if (refusal !== null) {
      run.effects.push({ kind: 'refused', proposal, code: refusal });
      continue;
    }
    leadership!.proposals.add(entryLabel(entry));
    run.effects.push({ kind: 'proposed', proposal, slot: (firstSlot + entries.length) as Slot });
    entries.push(entry);
    bytes += entryBytes(entry);
  }
  if (entries.length === 0) return;
  appendOwn(run, entries);
  traceAction(run, 'Propose');
}

/** A window that is empty takes any one entry. */
function refuse(state: State, entry: Entry, slotsAdded: number, bytesAdded: number): Refusal | null {
  const { leadership, config } = state;
  if (leadership === null || !leadership.serving) return 'notLeader';
  if (leadership.proposals.has(entryLabel(entry))) return 'duplicate';
  if (isBarred(leadership)) return 'windowFull';
  const slots = leadership.nextSlot - 1 - state.commitPoint + slotsAdded;
  if (slots === 0) return null;
  if (slots >= config.windowSlotsMax) return 'windowFull';
  const bytes = state.tailBytes + bytesAdded + entryBytes(entry);
  return bytes > config.windowBytesMax ? 'windowFull' : null;
}

/** A peer answers this leadership: its lease counts, and so does what it knows to be chosen. */
export function hearPeer(run: Run, from: ReplicaId, message: Accepted | HeartbeatAck): boolean {
  const { state } = run;
  noteCommitPoint(state, from, message.commitPoint);
  const { leadership } = state;
  if (leadership === null || !sameBallot(message.ballot, leadership.ballot)) return false;
  const peer = leadership.peers.find((candidate) => candidate.id === from);
  if (peer === undefined) return false;
  if (message.commitPoint > peer.commitPoint) peer.commitPoint = message.commitPoint;
  const before = peer.ackedSentAtMs;
  countAcknowledgement(state, leadership, peer, message.sentAtMs);
  traceRenewal(run, leadership, { peer, before }, message);
  return true;
}

export function handleAccepted(run: Run, from: ReplicaId, message: Accepted): void {
  const { state } = run;
  if (!hearPeer(run, from, message)) return;
  const { firstSlot, lastSlot } = message;
  countVotes(state, { bit: state.roster.bits.get(from)!, firstSlot, lastSlot });
  traceAction(run, 'HandleAccepted', { from, message });
}

/** Marks a member's votes in the leader's ballot. Slots at or below the commit point need no more. */
export function countVotes(
  state: State,
  votes: { readonly bit: number; readonly firstSlot: Slot; readonly lastSlot: Slot },
): void {
  const { leadership } = state;
  if (leadership === null) return;
  const lastSlot = Math.min(votes.lastSlot, leadership.nextSlot - 1);
  for (let slot = Math.max(votes.firstSlot, state.commitPoint + 1); slot <= lastSlot; slot += 1) {
    const held = state.log.get(slot as Slot);
    if (held?.ballot === leadership.ballot) held.votes |= votes.bit;
  }
}

/** Over contiguous slots that a quorum of the voters has voted for in the leader's ballot. */
export function advanceCommitPoint(run: Run): void {
  const { state } = run;
  const { leadership } = state;
  if (leadership === null) return;
  const before = state.commitPoint;
  const { version } = state.configuration;
  for (;;) {
    const held = state.log.get((state.commitPoint + 1) as Slot);
    if (held === undefined || held.ballot !== leadership.ballot) break;
    if (countMembers(held.votes & state.roster.voterMask) < state.roster.quorum) break;
    markChosen(state, held.slot);
    leadership.proposals.delete(held.label);
    if (held.entry.kind === 'configuration') break;
  }
  if (state.commitPoint === before) return;
  leadership.progressAtMs = state.nowMs;
  traceAction(run, 'AdvanceCommitPoint');
  if (leadership.pending?.slot === state.commitPoint) changeMembers(run, leadership, version);
}

/**
 * Its own change is chosen: from here on the new members count. Those who are left out hear of it once more. Where it knew that change as chosen, and has had it
 * chosen again, it counts as before: `versionBefore`.
 */
function changeMembers(run: Run, leadership: Leadership, versionBefore: number): void {
  const { state } = run;
  const before = leadership.peers.map(({ id }) => id);
  leadership.pending = null;
  renewPeers(state, leadership);
  renewLease(state, leadership);
  if (state.configuration.version > versionBefore) traceLeaseOf(run, 'Learn');
  tellConfiguration(run);
  leadership.announcedCommitPoint = state.commitPoint;
  const message = heartbeatOf(state, leadership);
  for (const peer of before) send(run, peer, message);
  if (!state.roster.isVoter) stepDown(run, 'removed');
}

/** Begins to serve once everything that the leader found, and its own first entry, is chosen and applied here. */
export function serve(run: Run): void {
  const { leadership, commitPoint, applied, config } = run.state;
  if (leadership === null || leadership.serving) return;
  const { startSlot } = leadership;
  if (commitPoint < startSlot || (applied < startSlot && config.servesUnapplied !== true)) return;
  leadership.serving = true;
  traceAction(run, 'Serve');
}

/** Gives up, and lets the others win if the reason is one that this replica cannot help: they need not wait for a time-out (ADR 39). */
export function stepDown(run: Run, reason: StepDownReason): void {
  const { state } = run;
  const { electionTimeoutMaxMs } = state.config;
  if (reason === 'databaseFailed' || reason === 'logFailed') {
    state.quarantineUntilMs = state.nowMs + 2 * electionTimeoutMaxMs;
  }
  // What it had may be gone: nothing is purged on its word until it is back (restored.ts).
  if (reason === 'databaseFailed') state.durableApplied = 0 as Slot;
  if (state.role === 'follower') {
    // Whatever it has asked for, answers come too late.
    state.preVote = null;
    restartElectionTimer(state);
    return;
  }
  const { leadership } = state;
  const successor = leadership !== null && failures.has(reason) ? successorOf(state, leadership) : null;
  traceResignation(run, reason);
  resign(run, reason);
  traceAction(run, 'StepDown', { reason });
  if (leadership === null || successor === null) return;
  const { ballot } = leadership;
  broadcast(run, { kind: 'Resigned', group: state.config.group, ballot, successor });
  run.mark = run.effects.length;
}

/** What keeps a leader from serving, and the others hear of it. */
const failures: ReadonlySet<StepDownReason> = new Set(['databaseFailed', 'logFailed', 'requested']);

/** Of the voters heard just now the one that knows most: first what is chosen, then what its database has. Null: nobody is heard. Whether it may stand is up to itself. */
function successorOf({ nowMs, config }: State, { voters }: Leadership): ReplicaId | null {
  const heard = voters.filter(({ ackedSentAtMs }) => nowMs - ackedSentAtMs <= config.electionTimeoutMinMs);
  const [best] = heard.sort(
    (a, b) =>
      b.commitPoint - a.commitPoint ||
      (b.durableApplicationPointer ?? 0) - (a.durableApplicationPointer ?? 0) ||
      b.ackedSentAtMs - a.ackedSentAtMs,
  );
  return best?.id ?? null;
}
