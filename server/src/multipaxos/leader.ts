/**
 * The leader: phase 2 over its window of slots.
 *
 * Responsible for: becomeLeader, propose, handleAccepted, advanceCommitPoint, serve, stepDown. What it found in phase 1 it
 * proposes again in its own ballot, fills holes with no-ops, adds a `leaderStart`, and serves when all that is chosen and
 * applied (the paper's Procedure 1). Its own vote counts once it is durable, like any other.
 */
import { sameBallot } from './ballot.ts';
import { entryBytes, entryLabel } from './entry.ts';
import { noteCommitPoint } from './learner.ts';
import { countAcknowledgement } from './lease.ts';
import { markChosen, putSlot } from './log.ts';
import { countMembers } from './quorum.ts';
import { resign } from './resign.ts';
import { broadcast, persist, type Run } from './run.ts';
import { restartElectionTimer, type Candidacy, type Leadership, type State } from './state.ts';
import { traceAction } from './trace.ts';
import type {
  Accept,
  Accepted,
  Effect,
  Entry,
  HeartbeatAck,
  Input,
  LogRecord,
  ReplicaId,
  Slot,
  StepDownReason,
} from './types.ts';

type ProposeInput = Extract<Input, { kind: 'Propose' }>;
type Refusal = Extract<Effect, { kind: 'refused' }>['code'];

/** A quorum has promised. Slots up to the highest commit point heard are fetched; what lies above is proposed again. */
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
  state.leadership = newLeadership(state, startSlot);
  appendOwn(run, (candidacy.commitPoint + 1) as Slot, entries);
  traceAction(run, 'BecomeLeader');
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

function newLeadership(state: State, startSlot: Slot): Leadership {
  const peers = state.peers.map((id) => ({
    id,
    bit: state.bits.get(id)!,
    ackedSentAtMs: Number.NEGATIVE_INFINITY,
    commitPoint: 0 as Slot,
    durableApplicationPointer: null,
    retransmittedAtMs: state.nowMs,
  }));
  return {
    ballot: state.promised,
    peers,
    startSlot,
    nextSlot: startSlot,
    serving: false,
    leaseUntilMs: state.quorum === 1 ? Number.POSITIVE_INFINITY : Number.NEGATIVE_INFINITY,
    beganAtMs: state.nowMs,
    heartbeatAtMs: state.nowMs,
    announcedCommitPoint: state.commitPoint,
    progressAtMs: state.nowMs,
    proposals: new Set(),
  };
}

/** Votes for its own proposals and sends them: one record group, and Accepts of bounded size to every peer. */
function appendOwn(run: Run, firstSlot: Slot, entries: readonly Entry[]): void {
  const { state } = run;
  const leadership = state.leadership!;
  const { ballot } = leadership;
  const records: LogRecord[] = [];
  for (const [index, entry] of entries.entries()) {
    const slot = (firstSlot + index) as Slot;
    const held = putSlot(state, { slot, entry, ballot, seq: state.nextSeq });
    if (entry.kind === 'command') leadership.proposals.add(held.label);
    records.push({ kind: 'vote', slot, ballot, entry });
  }
  const lastSlot = (firstSlot + entries.length - 1) as Slot;
  leadership.nextSlot = (lastSlot + 1) as Slot;
  persist(run, records, { kind: 'ownVotes', ballot, firstSlot, lastSlot });
  for (const message of acceptsOf(state, firstSlot, entries)) broadcast(run, message);
  leadership.announcedCommitPoint = state.commitPoint;
}

/** Cuts consecutive entries into Accepts of at most `acceptBatchBytesMax`, at least one entry each. */
function acceptsOf(state: State, firstSlot: Slot, entries: readonly Entry[]): Accept[] {
  const accepts: Accept[] = [];
  let from = 0;
  while (from < entries.length) {
    let to = from + 1;
    let bytes = entryBytes(entries[from]!);
    while (to < entries.length) {
      bytes += entryBytes(entries[to]!);
      if (bytes > state.config.acceptBatchBytesMax) break;
      to += 1;
    }
    accepts.push(acceptOf(state, (firstSlot + from) as Slot, entries.slice(from, to)));
    from = to;
  }
  return accepts;
}

export function acceptOf(state: State, firstSlot: Slot, entries: readonly Entry[]): Accept {
  return {
    kind: 'Accept',
    group: state.config.group,
    ballot: state.promised,
    firstSlot,
    entries,
    commitPoint: state.commitPoint,
    sentAtMs: state.nowMs,
  };
}

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
  appendOwn(run, firstSlot, entries);
  traceAction(run, 'Propose');
}

/** A window that is empty takes any one entry. */
function refuse(state: State, entry: Entry, slotsAdded: number, bytesAdded: number): Refusal | null {
  const { leadership, config } = state;
  if (leadership === null || !leadership.serving) return 'notLeader';
  if (leadership.proposals.has(entryLabel(entry))) return 'duplicate';
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
  const peer = leadership.peers.find((candidate) => candidate.id === from)!;
  if (message.commitPoint > peer.commitPoint) peer.commitPoint = message.commitPoint;
  countAcknowledgement(state, leadership, peer, message.sentAtMs);
  return true;
}

export function handleAccepted(run: Run, from: ReplicaId, message: Accepted): void {
  const { state } = run;
  if (!hearPeer(run, from, message)) return;
  countVotes(state, { bit: state.bits.get(from)!, firstSlot: message.firstSlot, lastSlot: message.lastSlot });
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

/** Over contiguous slots that a quorum has voted for in the leader's ballot. */
export function advanceCommitPoint(run: Run): void {
  const { state } = run;
  const { leadership } = state;
  if (leadership === null) return;
  const before = state.commitPoint;
  for (;;) {
    const held = state.log.get((state.commitPoint + 1) as Slot);
    if (held === undefined || held.ballot !== leadership.ballot || countMembers(held.votes) < state.quorum)
      break;
    markChosen(state, held.slot);
    leadership.proposals.delete(held.label);
  }
  if (state.commitPoint === before) return;
  leadership.progressAtMs = state.nowMs;
  traceAction(run, 'AdvanceCommitPoint');
}

/** Begins to serve once everything that the leader found, and its own first entry, is chosen and applied here. */
export function serve(run: Run): void {
  const { leadership, commitPoint, applied } = run.state;
  if (leadership === null || leadership.serving) return;
  if (commitPoint < leadership.startSlot || applied < leadership.startSlot) return;
  leadership.serving = true;
  traceAction(run, 'Serve');
}

/** Gives up, and lets the others win if the reason is one that this replica cannot help. */
export function stepDown(run: Run, reason: StepDownReason): void {
  const { state } = run;
  const { electionTimeoutMaxMs } = state.config;
  if (reason === 'databaseFailed' || reason === 'logFailed') {
    state.quarantineUntilMs = state.nowMs + 2 * electionTimeoutMaxMs;
  }
  if (state.role === 'follower') {
    restartElectionTimer(state);
    return;
  }
  resign(run, reason);
  traceAction(run, 'StepDown', { reason });
}
