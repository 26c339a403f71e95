/**
 * What must hold at all times within one replica, asserted as the core runs; the names are those of specs/Paxos.tla, where it has them.
 *
 * Responsible for: stopping a replica that has broken a rule before it can tell anyone.
 */
import { compareBallots } from '../multipaxos/ballot.ts';
import type { PaxosState } from './state.ts';

export type PaxosInvariantName =
  | 'TypeOK'
  /** No two different entries are voted for in one slot and ballot. */
  | 'OneValuePerBallot'
  /** Of what is known to be decided the entry is held, and it stays. */
  | 'DecidedIsChosen'
  /** A proposal is in one place. */
  | 'PlacedOnce'
  /** Nothing is forgotten that is not done. */
  | 'DoneIsChosen';

/** The replica must stop: going on could break agreement. Never caught inside the core. */
export class PaxosInvariantViolation extends Error {
  override readonly name = 'PaxosInvariantViolation';
  readonly invariant: PaxosInvariantName;

  constructor(invariant: PaxosInvariantName, detail: string) {
    super(`${invariant} is broken: ${detail}`);
    this.invariant = invariant;
  }
}

export function violated(invariant: PaxosInvariantName, detail: string): never {
  throw new PaxosInvariantViolation(invariant, detail);
}

/** After every step. Looks at what is small: pointers, and the slots that are not decided. */
export function checkState(state: PaxosState, before: { readonly commitPoint: number }): void {
  const { commitPoint, purgedTo, droppedTo, durableTo, reported } = state;
  if (commitPoint < before.commitPoint)
    violated('DecidedIsChosen', `the commit point went back to ${commitPoint}`);
  if (purgedTo > commitPoint || droppedTo > reported || durableTo > commitPoint || purgedTo > droppedTo)
    violated('TypeOK', `purged to ${purgedTo}, dropped to ${droppedTo}, commit point ${commitPoint}`);
  let placed = 0;
  for (let slot = commitPoint + 1; slot <= state.lastSlot; slot += 1) {
    const held = state.slots.get(slot as typeof commitPoint);
    if (held === undefined) continue;
    if (held.own !== null) placed += 1;
    if (held.open !== null && (held.decided || compareBallots(held.open.ballot, held.promised) !== 0))
      violated('TypeOK', `slot ${slot}: a ballot is open that is not promised`);
    if (held.ballot !== null && compareBallots(held.ballot, held.promised) > 0)
      violated('TypeOK', `slot ${slot}: a vote above the promise`);
  }
  if (placed + state.waiting.length !== state.under.size)
    violated('PlacedOnce', `${placed} placed, ${state.waiting.length} waiting, of ${state.under.size}`);
}
