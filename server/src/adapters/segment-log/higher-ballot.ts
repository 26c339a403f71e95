/** The order of ballots, as the log needs it: by round, then by replica name. */
import type { Ballot } from '../../multipaxos/types.ts';

export function higherBallot(a: Ballot, b: Ballot): Ballot {
  if (a.round !== b.round) return a.round > b.round ? a : b;
  return a.replica >= b.replica ? a : b;
}
