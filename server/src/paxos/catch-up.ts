/**
 * Catching up: what this replica has missed it asks others for, and tells them what they ask.
 *
 * Responsible for: tellDecided, handleLearnRequest, handleLearnReply, handleStatus, tellStatus, requestMissing.
 * Invariant: what is told is decided; from the log only what is durable there in its last form.
 */
import type { Entry } from '../multipaxos/types/entries.ts';
import { entryBytes } from '../multipaxos/entry.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { moveBase } from './done.ts';
import { learn } from './learner.ts';
import { broadcast, minSlot, send, type PaxosRun } from './run.ts';
import { decidedEntry, reachOf } from './state.ts';
import type { LearnReply, LearnRequest, Status } from './types/messages.ts';

/** Decided entries from `fromSlot` on, or that they are forgotten. */
export function tellDecided(run: PaxosRun, to: ReplicaId, fromSlot: Slot, toSlot: Slot): void {
  const { state } = run;
  const last = minSlot(toSlot, (fromSlot + state.config.catchUpSlotsMax - 1) as Slot);
  if (fromSlot <= state.purgedTo) return reply(run, to, fromSlot, []);
  if (fromSlot <= state.droppedTo) {
    const readTo = minSlot(last, state.durableTo);
    run.effects.push({ kind: 'serveCatchUp', to, fromSlot, toSlot: readTo });
    return;
  }
  const entries: Entry[] = [];
  let bytes = 0;
  for (let slot = fromSlot; slot <= last; slot = (slot + 1) as Slot) {
    const entry = decidedEntry(state, slot);
    if (entry === null) break;
    bytes += entryBytes(entry);
    if (entries.length > 0 && bytes > state.config.catchUpBytesMax) break;
    entries.push(entry);
  }
  if (entries.length > 0) reply(run, to, fromSlot, entries);
}

function reply(run: PaxosRun, to: ReplicaId, firstSlot: Slot, entries: readonly Entry[]): void {
  send(run, to, { kind: 'LearnReply', firstSlot, entries, purgedTo: run.state.purgedTo });
}

export function handleLearnRequest(run: PaxosRun, from: ReplicaId, { fromSlot, toSlot }: LearnRequest): void {
  if (fromSlot > 0) tellDecided(run, from, fromSlot, toSlot);
}

export function handleLearnReply(run: PaxosRun, from: ReplicaId, message: LearnReply): void {
  const { state } = run;
  const { firstSlot, entries, purgedTo } = message;
  for (const [i, entry] of entries.entries()) {
    const slot = (firstSlot + i) as Slot;
    if (slot > state.commitPoint + 2 * reachOf(state)) break;
    if (slot > state.droppedTo) learn(run, slot, entry);
  }
  if (entries.length > 0) askAgainAtOnce(run, from);
  if (purgedTo <= state.commitPoint) return;
  // What the database has itself needs nobody's log.
  if (state.databaseAt >= purgedTo) moveBase(run, state.databaseAt);
  else run.effects.push({ kind: 'forgotten', peer: from, purgedTo });
}

export function handleStatus(run: PaxosRun, from: ReplicaId, { commitPoint }: Status): void {
  const { state } = run;
  if (commitPoint <= state.commitPoint) return;
  if (commitPoint >= state.heardCommitPoint) {
    state.heardCommitPoint = commitPoint;
    state.heardFrom = from;
  }
  requestMissing(run);
}

export function tellStatus(run: PaxosRun): void {
  const { state } = run;
  if (state.nowMs < state.statusAtMs) return;
  state.statusAtMs = state.nowMs + state.config.statusMs;
  broadcast(run, { kind: 'Status', commitPoint: state.commitPoint });
}

/** One request at a time; whoever does not answer is followed by another. */
export function requestMissing(run: PaxosRun): void {
  const { state } = run;
  const { commitPoint, heardCommitPoint, heardFrom, peers } = state;
  if (heardFrom === null || heardCommitPoint <= commitPoint) return;
  if (state.nowMs < state.askedAtMs + state.config.retransmitMs) return;
  const to = peers[(peers.indexOf(heardFrom) + state.askedTimes) % peers.length];
  state.askedAtMs = state.nowMs;
  state.askedTimes += 1;
  if (to !== undefined) ask(run, to);
}

function askAgainAtOnce(run: PaxosRun, from: ReplicaId): void {
  const { state } = run;
  state.askedTimes = 0;
  if (state.heardCommitPoint <= state.commitPoint) return;
  state.askedAtMs = state.nowMs;
  ask(run, from);
}

function ask(run: PaxosRun, to: ReplicaId): void {
  const { commitPoint, config } = run.state;
  const fromSlot = (commitPoint + 1) as Slot;
  send(run, to, { kind: 'LearnRequest', fromSlot, toSlot: (commitPoint + config.catchUpSlotsMax) as Slot });
}
