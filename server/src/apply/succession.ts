/**
 * Which transactions take effect when leaders follow one another (specs/OrderedApply.tla, Superseded).
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
import type { ProposedTransaction } from './effects.ts';
import { decodePayload } from './payload.ts';

export interface Succession {
  /** Of the newest leader whose beginning has been passed. */
  newest: Ballot;
}

export function createSuccession(newest: Ballot = ballotNone): Succession {
  return { newest };
}

/** Takes entries in slot order. Null: the entry changes nothing. @throws PayloadError */
export function effectOf(succession: Succession, entry: Entry): ProposedTransaction | null {
  if (entry.kind === 'leaderStart') succession.newest = higherBallot(succession.newest, entry.ballot);
  if (entry.kind !== 'command') return null;
  const payload = decodePayload(entry.payload);
  return compareBallots(payload.leadership, succession.newest) < 0 ? null : payload;
}
