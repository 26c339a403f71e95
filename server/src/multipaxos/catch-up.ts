/**
 * Catch-up: fetching chosen entries that a replica has no vote for in the leader's ballot.
 *
 * Responsible for: asking (one request at a time, bounded, another peer if the first does not answer), answering from the log
 * store, and taking in the answer. Who has chosen entries needs no ballot to tell them: they never change.
 */
import { moveBase } from './base.ts';
import { violated } from './invariants.ts';
import { stepDown } from './leader.ts';
import { leaveBehind } from './leave-behind.ts';
import { followCommitPoint, noteCommitPoint } from './learner.ts';
import { persist, send, type Run } from './run.ts';
import { markChosen, putSlot } from './log.ts';
import type { State } from './state.ts';
import { isPatienceOver } from './patience.ts';
import { traceAction } from './trace.ts';
import { entryLabel } from './entry.ts';
import type { Entry } from './types/entries.ts';
import type { CatchUpReply, CatchUpRequest } from './types/messages.ts';
import type { ReplicaId, Slot } from './types/names.ts';
import type { LogRecord } from './types/records.ts';

/** Asks for what is known to be chosen and missing here, unless an answer may still be on its way. */
export function requestCatchUp(run: Run): void {
  const { state } = run;
  const { commitPoint, knownCommitPoint, config } = state;
  if (knownCommitPoint <= commitPoint || !isPatienceOver(state, state.catchUpAtMs)) return;
  const to = source(state);
  if (to === null) return;
  state.catchUpAtMs = state.nowMs;
  state.catchUpAttempts += 1;
  send(run, to, {
    kind: 'CatchUpRequest',
    group: config.group,
    ballot: state.promised,
    fromSlot: (commitPoint + 1) as Slot,
    toSlot: Math.min(knownCommitPoint, commitPoint + config.catchUpSlotsMax) as Slot,
  });
}

/**
 * No leader was heard for long. Others may hear one that this replica is cut off from, or know that it is no member any more: asks one of them, in turn, for
 * what follows.
 */
export function probe(run: Run): void {
  const { state } = run;
  const { commitPoint, config, roster } = state;
  if (roster.peers.length === 0) return;
  state.catchUpAttempts += 1;
  send(run, roster.peers[state.catchUpAttempts % roster.peers.length]!, {
    kind: 'CatchUpRequest',
    group: config.group,
    ballot: state.promised,
    fromSlot: (commitPoint + 1) as Slot,
    toSlot: (commitPoint + config.catchUpSlotsMax) as Slot,
  });
}

/** First who said so, then each of the peers in turn. */
function source(state: State): ReplicaId | null {
  const { catchUpAttempts, knownCommitPointFrom } = state;
  const { peers, bits } = state.roster;
  const teller = knownCommitPointFrom;
  if (catchUpAttempts === 0 && teller !== null && bits.has(teller)) return teller;
  return peers[catchUpAttempts % Math.max(1, peers.length)] ?? null;
}

/** Only what is durable here is handed out: the log store can surely read it. */
export function handleCatchUpRequest(run: Run, from: ReplicaId, message: CatchUpRequest): void {
  const { state } = run;
  if (state.roster.bits.has(from)) noteCommitPoint(state, from, (message.fromSlot - 1) as Slot);
  const toSlot = Math.min(
    message.toSlot,
    state.reported,
    message.fromSlot + state.config.catchUpSlotsMax - 1,
  ) as Slot;
  if (toSlot < message.fromSlot) {
    sendNothing(run, from, message);
    return;
  }
  run.effects.push({ kind: 'serveCatchUp', to: from, fromSlot: message.fromSlot, toSlot });
}

/** It still tells where this replica is, and who the members are. */
function sendNothing(run: Run, to: ReplicaId, { fromSlot }: CatchUpRequest): void {
  const { config, promised, commitPoint, purgedTo, configuration } = run.state;
  send(run, to, {
    kind: 'CatchUpReply',
    group: config.group,
    ballot: promised,
    firstSlot: fromSlot,
    entries: [],
    commitPoint,
    purgedTo,
    configuration,
  });
}

export function handleCatchUpReply(run: Run, from: ReplicaId, message: CatchUpReply): void {
  const { state } = run;
  const lastSlot = message.firstSlot + message.entries.length - 1;
  noteCommitPoint(state, from, message.commitPoint);
  if (message.entries.length === 0 && message.purgedTo > state.commitPoint) {
    // It cannot be had as a log any more. What the own database has is chosen all the same; for more the shell fetches a copy.
    if (state.durableApplied > state.commitPoint) moveBase(run, state.durableApplied);
    else if (leaveBehind(run, message.purgedTo)) askOn(run);
    return;
  }
  if (message.firstSlot > state.commitPoint + 1 || lastSlot <= state.commitPoint) return;
  const records: LogRecord[] = [];
  let deposed = false;
  for (let slot = state.commitPoint + 1; slot <= lastSlot; slot += 1) {
    const entry = message.entries[slot - message.firstSlot]!;
    if (learn(state, slot as Slot, entry) === 'deposed') deposed = true;
    records.push({ kind: 'chosen', slot: slot as Slot, entry });
  }
  persist(run, records);
  traceAction(run, 'HandleCatchUpReply', { from, message });
  // What the leader announced before the gap was filled now reaches further: its last heartbeat, taken once more.
  if (followCommitPoint(state, state.leaderCommitPoint)) {
    traceAction(run, 'HandleHeartbeat', { from: state.promised.replica });
  }
  if (deposed) stepDown(run, 'higherBallot');
  askOn(run);
}

/** Whoever has answered has more, perhaps. */
function askOn(run: Run): void {
  const { state } = run;
  state.catchUpAtMs = Number.NEGATIVE_INFINITY;
  state.catchUpAttempts = 0;
  requestCatchUp(run);
}

/**
 * Whatever the slot held is replaced by what was chosen. A leader has been deposed if its own proposal lost, or if a slot that it
 * has not come to yet is chosen: it must not propose there any more. So it has if others chose its own change of the members before it knew: they did so
 * in a higher ballot, and by now may have chosen more above it.
 */
function learn(state: State, slot: Slot, entry: Entry): 'learnt' | 'deposed' {
  const label = entryLabel(entry);
  const { leadership } = state;
  const held = state.log.get(slot);
  const differs = held !== undefined && held.label !== label;
  if (differs && held.ballot === null) {
    violated('ChosenNeverChanges', `${held.label} in slot ${slot} became ${label}`);
  }
  putSlot(state, { slot, entry, ballot: null, seq: state.nextSeq });
  markChosen(state, slot);
  if (leadership === null) return 'learnt';
  leadership.progressAtMs = state.nowMs;
  leadership.proposals.delete(label);
  const isOwn = held !== undefined && held.ballot === leadership.ballot;
  const isOthers = slot >= leadership.nextSlot || (isOwn && (differs || entry.kind === 'configuration'));
  return isOthers ? 'deposed' : 'learnt';
}
