/**
 * Who is primary next: the failure detector, words, and taking over (the paper's algorithm 2, and the tie-break when all start).
 *
 * Invariants: a word is given once it is durable, and only to who has all that the giver has, so that of a majority the longest log of the highest epoch
 * leads. A replica that hears its primary gives its word to nobody. By the paper's rule a standby of two takes over by itself, and nobody who is recovering.
 */
import { compareBallots, sameBallot } from '../multipaxos/ballot.ts';
import type { ReplicaId, Slot } from '../multipaxos/types/names.ts';
import { lead } from './leadership.ts';
import { epochAt, others, persist, promise, type Run, send, traceAction, writeBehind } from './run.ts';
import { isInTouch, majority, replicates, type State } from './state.ts';
import type { AskWord, Refuse, Word } from './types/messages.ts';

/** Draws when the primary is suspected; replicas in front of the list are sooner. */
export function drawSuspicion(state: State): void {
  const { config, random } = state;
  const rank = config.replicas.indexOf(config.id);
  state.suspectAtMs = state.nowMs + config.failureTimeoutMs * (1 + random) + rank * config.heartbeatMs;
}

/** A Tick of one that is not primary. */
export function considerSuspicion(run: Run): void {
  const { state } = run;
  const { candidacy, config } = state;
  if (candidacy !== null && candidacy.isDurable && state.nowMs - candidacy.askedAtMs >= config.retransmitMs)
    ask(run);
  if (state.nowMs < state.suspectAtMs) return;
  drawSuspicion(state);
  if (state.needsCopy || !state.databaseUp) return;
  if (!replicates(config) && config.replicas[0] !== config.id) return;
  if (candidacy !== null && sameBallot(candidacy.epoch, state.promised)) return;
  stand(run);
}

function stand(run: Run): void {
  const { state } = run;
  const epoch = { round: state.highestRound + 1, replica: state.config.id };
  promise(state, epoch);
  state.candidacy = { epoch, isDurable: false, words: new Set([state.config.id]), askedAtMs: state.nowMs };
  persist(run, {
    records: [{ kind: 'promise', ballot: epoch }],
    isGroup: false,
    heldBack: [{ kind: 'candidacy', epoch }],
  });
}

/** Its promise is durable, and so is its log: it asks for words. */
export function suspectPrimary(run: Run): void {
  const { state } = run;
  const { candidacy } = state;
  if (candidacy === null || !sameBallot(candidacy.epoch, state.promised)) return;
  candidacy.isDurable = true;
  traceAction(run, 'SuspectPrimary', candidacy.epoch);
  ask(run);
  considerTakingOver(run);
}

function ask(run: Run): void {
  const { state } = run;
  const { candidacy, config, lastSlot } = state;
  if (candidacy === null || !replicates(config)) return;
  candidacy.askedAtMs = state.nowMs;
  for (const to of others(state)) {
    if (candidacy.words.has(to)) continue;
    const { epoch } = candidacy;
    send(run, to, {
      kind: 'AskWord',
      group: config.group,
      epoch,
      lastEpoch: epochAt(state, lastSlot),
      lastSlot,
    });
  }
}

export function handleAskWord(run: Run, from: ReplicaId, message: AskWord): void {
  const { state } = run;
  state.highestRound = Math.max(state.highestRound, message.epoch.round);
  if (hearsPrimary(state)) return;
  if (compareBallots(message.epoch, state.promised) < 0) return refuse(run, from, message, false);
  if (state.primary !== null && sameBallot(message.epoch, state.promised)) return;
  const order = compareBallots(message.lastEpoch, epochAt(state, state.lastSlot));
  if (order < 0 || (order === 0 && message.lastSlot < state.lastSlot))
    return refuse(run, from, message, true);
  if (state.leadership !== null) stepBack(run);
  const isNew = !sameBallot(message.epoch, state.promised);
  promise(state, message.epoch);
  state.candidacy = null;
  drawSuspicion(state);
  const heldBack = [{ kind: 'word', to: from, epoch: message.epoch } as const];
  if (isNew || state.pending.length > 0)
    persist(run, { records: [{ kind: 'promise', ballot: message.epoch }], isGroup: false, heldBack });
  else giveWord(run, from, message.epoch);
}

function hearsPrimary(state: State): boolean {
  if (state.role === 'primary') return isInTouch(state);
  return state.primary !== null && state.nowMs - state.heardAtMs < state.config.failureTimeoutMs;
}

function refuse(run: Run, to: ReplicaId, { epoch }: AskWord, hasMore: boolean): void {
  const { promised, config } = run.state;
  send(run, to, { kind: 'Refuse', group: config.group, epoch, promised, hasMore });
}

/** The promise is durable: told, unless it has followed that very epoch meanwhile, or promised another. */
export function giveWord(run: Run, to: ReplicaId, epoch: AskWord['epoch']): void {
  const { state } = run;
  if (!sameBallot(epoch, state.promised) || state.primary !== null) return;
  if (state.wordGiven === null || !sameBallot(state.wordGiven, epoch)) {
    state.role = 'recovering';
    traceAction(run, 'GiveWord', epoch);
  }
  state.wordGiven = epoch;
  send(run, to, { kind: 'Word', group: state.config.group, epoch });
}

export function handleWord(run: Run, from: ReplicaId, message: Word): void {
  const { candidacy } = run.state;
  if (candidacy === null || !sameBallot(candidacy.epoch, message.epoch)) return;
  candidacy.words.add(from);
  considerTakingOver(run);
}

export function handleRefuse(run: Run, message: Refuse): void {
  const { state } = run;
  state.highestRound = Math.max(state.highestRound, message.promised.round);
  if (!sameBallot(message.epoch, state.promised)) return;
  if (state.candidacy !== null) {
    state.candidacy = null;
    drawSuspicion(state);
  }
  if (state.leadership !== null && compareBallots(message.promised, state.promised) > 0) stepBack(run);
}

function considerTakingOver(run: Run): void {
  const { state } = run;
  const { candidacy, config } = state;
  if (candidacy === null || !candidacy.isDurable || !sameBallot(candidacy.epoch, state.promised)) return;
  const alone = config.promoteAloneRiskingSplitBrain && state.role === 'standby';
  const needed = alone || !replicates(config) ? 1 : majority(config);
  if (candidacy.words.size >= needed) takeOver(run);
}

/** It is primary: its first entry marks its epoch in every log that follows it. */
function takeOver(run: Run): void {
  const { state } = run;
  const { config, promised: epoch } = state;
  const slot = (state.lastSlot + 1) as Slot;
  state.candidacy = null;
  state.role = 'primary';
  state.primary = config.id;
  state.beginsAt = slot;
  writeBehind(run, state.lastSlot, [
    { slot, ballot: epoch, entry: { kind: 'leaderStart', group: config.group, ballot: epoch } },
  ]);
  state.matched = slot;
  traceAction(run, 'TakeOver', epoch, { slot });
  lead(run, slot);
}

/** A primary that hears of a higher epoch, or gives up. What of its log stays the next epoch says; what it has not answered nobody knows. */
export function stepBack(run: Run): void {
  const { state } = run;
  const { leadership } = state;
  if (leadership === null) return;
  state.role = 'recovering';
  state.leadership = null;
  state.primary = null;
  drawSuspicion(state);
  traceAction(run, 'StepBack', leadership.epoch);
  for (const { proposal, slot } of leadership.waiting.values())
    run.effects.push({ kind: 'unacknowledged', proposal, slot, code: 'deposed' });
  for (const { proposal } of leadership.queue)
    run.effects.push({ kind: 'refused', proposal, code: 'notLeader' });
  if (leadership.pausedUntilMs !== null) run.effects.push({ kind: 'resumed' });
}
