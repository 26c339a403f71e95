/**
 * How far the commit point of a follower moves with the message of a leader: as far as that tells, or as what it told before.
 *
 * Responsible for: the bound that the message sets, which the specification leaves open: there any commit point that was ever told in the ballot may be acted on. The
 * code remembers the highest, and follows it as soon as it has the votes: what it was told before takes it further only over slots that it votes for in this very
 * action. Behind a base that moved, votes above it may wait for the next message (server/src/multipaxos/base.ts).
 */
import { sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Fault } from './contradictions.ts';
import type { ConsensusEvent } from './read-trace.ts';
import type { Run } from './trace-place.ts';

export function overtaking(runs: readonly Run[]): Fault[] {
  return runs.flatMap((run) => {
    let baseMoved = false;
    return run.flatMap((event, index): Fault[] => {
      const previous = run[index - 1];
      if (event.name === 'Restored') baseMoved = true;
      if (previous !== undefined && !sameBallot(previous.state.promised, event.state.promised))
        baseMoved = false;
      const told = boundOf(event, previous);
      if (told === null || baseMoved || event.state.commitPoint <= told) return [];
      return [[event, `it was told of commit point ${told}, and goes further`]];
    });
  });
}

/** Null: the event sets none. */
function boundOf(
  { name, message, votes = [], state }: ConsensusEvent,
  previous?: ConsensusEvent,
): number | null {
  const isFollowing = name === 'HandleAccept' || name === 'HandleHeartbeat';
  if (!isFollowing || message === undefined || previous === undefined) return null;
  const first = votes[0]?.[0];
  if (first !== undefined && first <= state.commitPoint) return null;
  return Math.max(message.commitPoint ?? 0, previous.state.commitPoint);
}
