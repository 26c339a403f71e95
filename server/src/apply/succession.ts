/**
 * What entries mean, and which transactions take effect when leaders follow one another (specs/OrderedApply.tla, Superseded).
 *
 * A leader that was cut off may leave a vote far ahead in its log. A second leader that does not know of it begins in a lower slot
 * and goes on; a third finds the vote and must propose it again, for it might be chosen. By then it is chosen in a slot above
 * transactions that it has never seen, and that may have changed the same rows. So every transaction says which leadership executed
 * it, and one that stands above the beginning of a newer leader takes no effect: on no replica, since all read the same log.
 *
 * Pure; no I/O.
 */
import { ballotNone, compareBallots, higherBallot } from '../multipaxos/ballot.ts';
import type { Ballot, Entry } from '../multipaxos/types.ts';
import type { TransactionHead } from './effects.ts';
import { decodeHead } from './payload.ts';

export interface Succession {
  /** Of the newest leader whose beginning has been passed. */
  newest: Ballot;
}

/** `nothing`: of no consequence to the data. `superseded`: a transaction without effect. `verify`: the data is to be compared here. */
export type Meaning =
  | { readonly kind: 'nothing' }
  | { readonly kind: 'superseded'; readonly head: TransactionHead }
  | { readonly kind: 'transaction'; readonly head: TransactionHead; readonly bytes: Uint8Array }
  | { readonly kind: 'verify'; readonly check: string };

const nothing: Meaning = { kind: 'nothing' };

export function createSuccession(newest: Ballot = ballotNone): Succession {
  return { newest };
}

/** Takes entries in slot order. Reads no effects. @throws PayloadError */
export function meaningOf(succession: Succession, entry: Entry): Meaning {
  if (entry.kind === 'leaderStart') succession.newest = higherBallot(succession.newest, entry.ballot);
  if (entry.kind !== 'command') return nothing;
  const payload = decodeHead(entry.payload);
  if (payload.kind === 'verify') return payload;
  const { head } = payload;
  return compareBallots(head.leadership, succession.newest) < 0
    ? { kind: 'superseded', head }
    : { kind: 'transaction', head, bytes: entry.payload };
}
