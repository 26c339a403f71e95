/**
 * A copy: it takes operations in order, tells what it has, and is a standby when it lacks nothing (the paper's algorithms 3 and 4).
 *
 * Invariants: it follows no epoch below its promise; takes what comes behind an entry only where its own log has the same one; tells of what is on its disk and
 * confirmed by the primary; executes nothing else.
 */
import { compareBallots, sameBallot } from '../multipaxos/ballot.ts';
import type { Vote } from '../multipaxos/types/entries.ts';
import type { Ballot, ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { drawSuspicion, stepBack } from './election.ts';
import { epochAt, must, persist, promise, type Run, send, taint, traceAction, writeBehind } from './run.ts';
import type { PendingPersist, State } from './state.ts';
import type { Operations } from './types/messages.ts';

export function handleOperations(run: Run, from: ReplicaId, message: Operations): void {
  const { state } = run;
  const { epoch, prevSlot, prevEpoch } = message;
  state.highestRound = Math.max(state.highestRound, epoch.round);
  if (compareBallots(epoch, state.promised) < 0) {
    const { config, promised } = state;
    return send(run, from, { kind: 'Refuse', group: config.group, epoch, promised, hasMore: false });
  }
  must(epoch.replica === from, 'an epoch is its owner’s');
  if (state.leadership !== null) stepBack(run);
  if (contradictsBase(state, message)) {
    taint(run);
    return tellOutOfOrder(run, from, message);
  }
  if (!isInOrder(state, prevSlot, prevEpoch)) return tellOutOfOrder(run, from, message);
  // Whether the database has executed what would be cut off is not known yet: it comes again.
  if (!state.databaseUp && isKeptTo(state, message) < Math.min(state.lastSlot, endOf(message))) return;
  receiveOperations(run, message);
  state.candidacy = null;
  state.primary = from;
  state.heardAtMs = state.nowMs;
  state.heardSentAtMs = message.sentAtMs;
  drawSuspicion(state);
  state.settled = Math.max(state.settled, Math.min(message.settled, state.matched)) as Slot;
  tellReceived(run);
  rejoinAsStandby(run, message);
}

/**
 * Where two have led side by side (the paper's rule), each has settled what the other never had. What lies below the base is not in memory any more: its last entry tells whether this primary's log has it. If it has
 * not, neither log nor database can go on.
 */
function contradictsBase(
  state: State,
  { epoch, prevSlot, prevEpoch, entries, beginsAt }: Operations,
): boolean {
  const { base } = state;
  const own = epochAt(state, base);
  if (base === 0 || sameBallot(own, epoch)) return false;
  // From there on its log is all of its own epoch.
  if (beginsAt <= base) return true;
  if (prevSlot === base) return !sameBallot(own, prevEpoch);
  const theirs = entries[base - prevSlot - 1];
  return theirs !== undefined && !sameBallot(own, theirs.epoch);
}

function isInOrder(state: State, prevSlot: Slot, prevEpoch: Ballot): boolean {
  if (prevSlot <= state.base) return true;
  return prevSlot <= state.lastSlot && sameBallot(epochAt(state, prevSlot), prevEpoch);
}

/** The primary is to go on from where the logs may still agree: the run of entries that do not is passed over at once. */
function tellOutOfOrder(run: Run, to: ReplicaId, { epoch, prevSlot, sentAtMs }: Operations): void {
  const { state } = run;
  let from = Math.min(prevSlot - 1, state.lastSlot);
  const theirs = epochAt(state, prevSlot);
  while (prevSlot <= state.lastSlot && from > state.base && sameBallot(epochAt(state, from as Slot), theirs))
    from -= 1;
  const goOnFrom = Math.max(from, state.base) as Slot;
  const { config, needsCopy } = state;
  if (state.primary === to) state.heardAtMs = state.nowMs;
  drawSuspicion(state);
  send(run, to, {
    kind: 'Received',
    group: config.group,
    epoch,
    received: 0 as Slot,
    executed: 0 as Slot,
    goOnFrom,
    needsCopy,
    sentAtMs,
  });
}

/** What it has is kept, what differs is cut off with all that lies behind it. */
function receiveOperations(run: Run, message: Operations): void {
  const { state } = run;
  const { epoch, prevSlot, entries, beginsAt } = message;
  // A word that it was about to give is one no more: what it promises it writes with what it follows.
  const isNew = !sameBallot(epoch, state.promised) || isWordPending(state, epoch);
  const end = endOf(message);
  const keep = isKeptTo(state, message);
  const votes: Vote[] = entries
    .slice(keep - prevSlot)
    .map(({ epoch: ballot, entry }, index) => ({ slot: (keep + 1 + index) as Slot, ballot, entry }));
  promise(state, epoch);
  if (isNew) state.role = 'recovering';
  const gained = end > state.matched;
  if (votes.length > 0) writeBehind(run, keep as Slot, votes);
  else if (isNew) persist(run, { records: [{ kind: 'promise', ballot: epoch }], isGroup: true });
  state.matched = Math.max(state.matched, Math.min(end, state.lastSlot)) as Slot;
  state.beginsAt = beginsAt;
  if (state.needsCopy || state.matched < beginsAt) state.role = 'recovering';
  if (isNew || votes.length > 0 || gained)
    traceAction(run, 'ReceiveOperations', epoch, { slot: prevSlot, toSlot: end });
}

function isWordPending({ pending }: State, epoch: Ballot): boolean {
  const own = pending.filter((each) => sameBallot(each.epoch, epoch));
  return own.some(hasWord) && !own.some(({ isGroup }) => isGroup);
}

function hasWord({ heldBack }: PendingPersist): boolean {
  return heldBack.some(({ kind }) => kind === 'word');
}

function endOf({ prevSlot, entries }: Operations): Slot {
  return (prevSlot + entries.length) as Slot;
}

/** So much of what comes it has. */
function isKeptTo(state: State, message: Operations): number {
  const { prevSlot, entries } = message;
  const end = endOf(message);
  const isKept = (slot: number): boolean =>
    slot <= state.base ||
    sameBallot(state.log.get(slot as Slot)?.ballot ?? noEpoch, entries[slot - prevSlot - 1]!.epoch);
  let keep = prevSlot as number;
  while (keep < end && isKept(keep + 1)) keep += 1;
  return keep;
}

const noEpoch: Ballot = { round: -1, replica: '' as ReplicaId };

/** What is durable is told at once; what is not, when it is. */
export function tellReceived(run: Run): void {
  const { state } = run;
  const { promised: epoch, primary, config, needsCopy } = state;
  if (primary === null || primary === config.id || !sameBallot(state.durablePromised, epoch)) return;
  const received = Math.min(state.matched, state.durableTo) as Slot;
  const executed = needsCopy ? (0 as Slot) : (Math.min(state.executed, received) as Slot);
  const { toldReceived: told } = state;
  const isNew = !sameBallot(told.epoch, epoch) || told.received !== received || told.executed !== executed;
  state.toldReceived = { epoch, received, executed };
  if (isNew) traceAction(run, 'TellReceived', epoch, { slot: received, toSlot: executed });
  send(run, primary, {
    kind: 'Received',
    group: config.group,
    epoch,
    received,
    executed,
    goOnFrom: null,
    needsCopy,
    sentAtMs: state.heardSentAtMs,
  });
}

/** The primary waits for it, and it has all that was acknowledged before. */
function rejoinAsStandby(run: Run, { isStandby, beginsAt, epoch }: Operations): void {
  const { state } = run;
  if (state.role !== 'recovering' || state.needsCopy || !state.databaseUp) return;
  if (!isStandby || state.matched < beginsAt) return;
  state.role = 'standby';
  traceAction(run, 'RejoinAsStandby', epoch);
}
