/**
 * The proposer: what clients bring gets a slot, and ballots are run in slots until they are decided (barista.txt, section 2.1).
 *
 * Responsible for: propose, startBallot, startAccept, decide, handleReject, and counting promises and votes. Any replica proposes at any time.
 * Invariants: a proposal stands in one slot at a time, and leaves it only when that is known to be decided otherwise; a ballot is its owner's, and whoever
 * crashed uses it never again, since its own promise is durable before it asks for a vote.
 */
import { compareBallots, sameBallot } from '../multipaxos/ballot.ts';
import { entryBytes, entryLabel, proposalLabel } from '../multipaxos/entry.ts';
import type { Entry } from '../multipaxos/types/entries.ts';
import type { Ballot, ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { lastVote } from './acceptor.ts';
import { violated } from './invariants.ts';
import { settle } from './learner.ts';
import { broadcast, persist, type PaxosRun } from './run.ts';
import {
  backOff,
  backoffMs,
  isDecided,
  isQuorum,
  noteInUse,
  reachOf,
  slotState,
  type OpenBallot,
  type OwnProposal,
  type PaxosState,
  type SlotState,
} from './state.ts';
import { traceAction } from './trace.ts';
import type { PaxosProposal } from './types/effects.ts';
import type { LastVote, SlotAccepted, SlotPromise, SlotReject } from './types/messages.ts';

/** Slots lost after which a proposal goes beyond those in which others are at work. */
const lossesMax = 2;

/** Takes on what fits the window; `placeWaiting` gives it slots. */
export function takeOn(run: PaxosRun, proposals: readonly PaxosProposal[]): void {
  const { state } = run;
  const { group, windowSlotsMax, windowBytesMax } = state.config;
  for (const { proposal, payload } of proposals) {
    const label = proposalLabel(proposal);
    const entry: Entry = { kind: 'command', group, proposal, payload };
    const bytes = entryBytes(entry);
    const isFull =
      state.under.size >= windowSlotsMax ||
      (state.under.size > 0 && state.underBytes + bytes > windowBytesMax);
    if (state.under.has(label) || isFull) {
      const code = state.under.has(label) ? 'duplicate' : 'windowFull';
      run.effects.push({ kind: 'refused', proposal, code });
      continue;
    }
    const own: OwnProposal = {
      proposal,
      label,
      entry,
      bytes,
      losses: 0,
      rejections: 0,
      notBeforeMs: state.nowMs,
    };
    state.under.set(label, own);
    state.underBytes += bytes;
    state.waiting.push(own);
  }
}

/** Gives slots to what waits, as far as there are any within reach. */
export function placeWaiting(run: PaxosRun): void {
  const { waiting } = run.state;
  for (let own = waiting[0]; own !== undefined; own = waiting[0]) {
    const slot = freeSlot(run.state, own);
    if (slot === null) return;
    waiting.shift();
    propose(run, slot, own);
  }
}

/** The lowest slot that is not known to be decided and has no proposal of ours; for one that has lost often, one in which nobody is at work. */
function freeSlot(state: PaxosState, own: OwnProposal): Slot | null {
  const last = state.commitPoint + reachOf(state);
  for (let slot = (state.commitPoint + 1) as Slot; slot <= last; slot = (slot + 1) as Slot) {
    const held = state.slots.get(slot);
    if (held === undefined) return slot;
    if (held.decided || held.own !== null) continue;
    if (own.losses < lossesMax || held.promised.round === 0) return slot;
  }
  return null;
}

function propose(run: PaxosRun, slot: Slot, own: OwnProposal): void {
  const { state } = run;
  const held = slotState(state, slot);
  held.own = own;
  const isAnothers = held.promised.round > 0 && held.open === null;
  // Where another is at work one does not cut in at once; but in each slot in which that happens no sooner than it would have been the first time.
  if (isAnothers && own.losses === 0) own.notBeforeMs = state.nowMs + backoffMs(state, own.rejections);
  run.effects.push({ kind: 'proposed', proposal: own.proposal, slot });
  traceAction(run, 'Propose', { slot, label: own.label });
  if (held.open === null && own.notBeforeMs <= state.nowMs) startBallot(run, held);
}

/** Phase 1. The Prepare leaves at once. */
export function startBallot(run: PaxosRun, held: SlotState): void {
  const { state } = run;
  const { slot } = held;
  const round = Math.max(held.promised.round, held.highestRound) + 1;
  const ballot: Ballot = { round, replica: state.config.id };
  held.promised = ballot;
  held.highestRound = round;
  held.open = { ballot, phase: 'prepare', promises: new Map(), votes: new Set(), sentAtMs: state.nowMs };
  noteInUse(state, held);
  persist(run, { kind: 'slotPromise', slot, ballot }, [
    { kind: 'ownPromise', slot, ballot, vote: lastVote(held) },
  ]);
  broadcast(run, { kind: 'SlotPrepare', slot, ballot });
  traceAction(run, 'StartBallot', { slot, ballot });
}

export function handlePromise(run: PaxosRun, from: ReplicaId, { slot, ballot, vote }: SlotPromise): void {
  countPromise(run, from, { slot, ballot, vote });
}

export function countPromise(
  run: PaxosRun,
  from: ReplicaId,
  { slot, ballot, vote }: { slot: Slot; ballot: Ballot; vote: LastVote | null },
): void {
  const { state } = run;
  const held = state.slots.get(slot);
  const open = held?.open;
  if (held === undefined || open == null || open.phase !== 'prepare' || !sameBallot(open.ballot, ballot))
    return;
  open.promises.set(from, vote);
  noteInUse(state, held);
  // Its own among them: a ballot in which it has asked for votes it never uses again, whatever crashes.
  if (open.promises.has(state.config.id) && isQuorum(state, open.promises.size)) startAccept(run, held, open);
}

/** Phase 2: proposes what it must, and votes for it. */
function startAccept(run: PaxosRun, held: SlotState, open: OpenBallot): void {
  const { state } = run;
  const { slot } = held;
  const { ballot } = open;
  const entry = pick(open.promises) ?? held.own?.entry ?? { kind: 'noop', group: state.config.group };
  const label = entryLabel(entry);
  if (held.ballot !== null && compareBallots(held.ballot, ballot) >= 0)
    violated('OneValuePerBallot', `slot ${slot}: a vote in ${held.ballot.round} before ${ballot.round}`);
  open.phase = 'accept';
  open.sentAtMs = state.nowMs;
  held.entry = entry;
  held.label = label;
  held.ballot = ballot;
  held.seq = persist(run, { kind: 'vote', slot, ballot, entry }, [{ kind: 'ownVote', slot, ballot }]);
  broadcast(run, { kind: 'SlotAccept', slot, ballot, entry });
  traceAction(run, 'StartAccept', { slot, ballot, label, promisers: [...open.promises.keys()] });
}

/** The entry of the highest vote; null if there is none. */
function pick(promises: ReadonlyMap<ReplicaId, LastVote | null>): Entry | null {
  let highest: LastVote | null = null;
  for (const vote of promises.values()) {
    if (vote !== null && (highest === null || compareBallots(vote.ballot, highest.ballot) > 0))
      highest = vote;
  }
  return highest?.entry ?? null;
}

export function handleAccepted(run: PaxosRun, from: ReplicaId, { slot, ballot }: SlotAccepted): void {
  countVote(run, from, slot, ballot);
}

export function countVote(run: PaxosRun, from: ReplicaId, slot: Slot, ballot: Ballot): void {
  const { state } = run;
  const held = state.slots.get(slot);
  const open = held?.open;
  if (held === undefined || open == null || open.phase !== 'accept' || !sameBallot(open.ballot, ballot))
    return;
  open.votes.add(from);
  noteInUse(state, held);
  if (isQuorum(state, open.votes.size)) decide(run, held, ballot);
}

/** Phase 3: a majority has voted. The others are told the ballot: whoever voted in it has the entry. */
function decide(run: PaxosRun, held: SlotState, ballot: Ballot): void {
  const { slot, entry } = held;
  if (entry === null) violated('DecidedIsChosen', `nothing is held in slot ${slot}`);
  settle(run, held, entry);
  broadcast(run, { kind: 'Learn', slot, ballot });
  traceAction(run, 'Decide', { slot, ballot });
}

/** A higher ballot is under way: this one is given up, and the next waits a random, growing time. */
export function handleReject(run: PaxosRun, { slot, ballot, promised }: SlotReject): void {
  const { state } = run;
  const held = state.slots.get(slot);
  if (held === undefined || isDecided(state, slot)) return;
  held.highestRound = Math.max(held.highestRound, promised.round);
  if (held.open === null || !sameBallot(held.open.ballot, ballot)) return;
  backOff(state, held);
  traceAction(run, 'HandleReject', { slot, ballot });
}
