/**
 * What must hold at all times within one replica, asserted as the core runs; the names are those of specs/MultiPaxos.tla.
 *
 * Responsible for: stopping a replica that has broken a rule before it can tell anyone. Agreement across replicas cannot be
 * seen from here: the simulator and the spec check that.
 */
import { compareBallots, sameBallot } from './ballot.ts';
import type { Leadership, State } from './state.ts';
import type { Message } from './types/messages.ts';
import type { Ballot } from './types/names.ts';

export type InvariantName =
  | 'TypeOK'
  /** An acceptor never lowers its promise, and what is durable never runs ahead of it. */
  | 'PromiseNeverLowered'
  /** No two different entries are voted for in one slot and ballot. */
  | 'OneValuePerBallot'
  /** A promise or a vote is durable before the reply that reveals it. */
  | 'DurableBeforeRevealed'
  | 'CommitPointNeverRegresses'
  /** Every slot at or below the commit point held an entry when the commit point passed it. */
  | 'NoHoleBelowCommitPoint'
  /** What is known as chosen in a slot stays. */
  | 'ChosenNeverChanges'
  /** A candidate or leader has promised its own ballot and nothing above. */
  | 'LeaderHoldsItsPromise'
  /** A leader serves only once everything up to its first entry is chosen. */
  | 'ServesOnlyWhatIsChosen'
  /** Versions of chosen configurations grow by one along the log; neighbours differ by at most one voter. */
  | 'ConfigurationsFormAChain'
  /** A leader has at most one configuration that is not chosen, everything below it is chosen, and nothing is proposed above it. */
  | 'OneChangeAtATime';

/** The replica must stop: going on could break agreement. Never caught inside the core. */
export class InvariantViolation extends Error {
  override readonly name = 'InvariantViolation';
  readonly invariant: InvariantName;

  constructor(invariant: InvariantName, detail: string) {
    super(`${invariant} is broken: ${detail}`);
    this.invariant = invariant;
  }
}

export function violated(invariant: InvariantName, detail: string): never {
  throw new InvariantViolation(invariant, detail);
}

/** Checked when a message leaves: the acceptor's word must already be on disk. */
export function checkRevealed(state: State, message: Message): void {
  if (message.kind !== 'Promise' && message.kind !== 'Accepted') return;
  if (compareBallots(state.durablePromised, message.ballot) < 0) {
    violated('DurableBeforeRevealed', `${message.kind} of ballot ${message.ballot.round} leaves too early`);
  }
}

/** Checked after every step: a handful of comparisons. */
export function checkState(
  state: State,
  before: { promised: Ballot; commitPoint: number; version: number },
): void {
  if (state.promised !== before.promised && compareBallots(state.promised, before.promised) < 0) {
    violated('PromiseNeverLowered', `${before.promised.round} became ${state.promised.round}`);
  }
  if (state.durablePromised !== state.promised && compareBallots(state.durablePromised, state.promised) > 0) {
    violated('PromiseNeverLowered', 'the durable promise is above the promise');
  }
  if (state.commitPoint < before.commitPoint) {
    violated('CommitPointNeverRegresses', `${before.commitPoint} became ${state.commitPoint}`);
  }
  if (state.configuration.version < before.version) {
    violated('ConfigurationsFormAChain', `${before.version} became ${state.configuration.version}`);
  }
  if (state.reported > state.commitPoint) violated('TypeOK', 'reported above the commit point');
  if (state.commitPoint > state.lastSlot)
    violated('NoHoleBelowCommitPoint', 'commit point above the last slot');
  checkRole(state);
}

function checkRole(state: State): void {
  const { role, leadership, candidacy, promised, config } = state;
  if ((role === 'leader') !== (leadership !== null) || (role === 'candidate') !== (candidacy !== null)) {
    violated('TypeOK', `role ${role} does not go with what it holds`);
  }
  if (role !== 'follower' && promised.replica !== config.id) {
    violated('LeaderHoldsItsPromise', `${role} has promised ballot ${promised.round} of ${promised.replica}`);
  }
  if (leadership !== null && !sameBallot(leadership.ballot, promised)) {
    violated('LeaderHoldsItsPromise', `leads ${leadership.ballot.round}, promised ${promised.round}`);
  }
  if (leadership !== null) checkBarrier(leadership, state.commitPoint);
  if (leadership?.serving === true && state.commitPoint < leadership.startSlot) {
    violated('ServesOnlyWhatIsChosen', `serves at ${state.commitPoint}, starts at ${leadership.startSlot}`);
  }
}

function checkBarrier({ pending, nextSlot }: Leadership, commitPoint: number): void {
  if (pending === null) return;
  if (pending.slot !== commitPoint + 1 || nextSlot !== pending.slot + 1)
    violated('OneChangeAtATime', `slot ${pending.slot}, commit point ${commitPoint}, next slot ${nextSlot}`);
}
