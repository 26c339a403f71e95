/** What promises tell, and what a leader makes of them: the spec's VotesAbove, PromiseMsg and FirstProposals. Pure. */
import { compareBallots, sameBallot } from '../../../server/src/multipaxos/ballot.ts';
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import { ballotName, noBallot, type HeldVote, type SpecMessage } from './spec-message.ts';
import type { ReplicaState, SpecState } from './spec-state.ts';

/** The spec's VotesAbove. */
export function votesAbove(replica: ReplicaState, slot: number): HeldVote[] {
  const votes: HeldVote[] = [];
  for (let at = slot + 1; at <= replica.lastHeld; at++) {
    const held = replica.log.get(at);
    if (held !== undefined) votes.push({ slot: at, ...held });
  }
  return votes;
}

export function promiseOf(
  id: ReplicaId,
  replica: ReplicaState,
  ballot: Ballot,
  heard: number,
): Extract<SpecMessage, { type: 'Promise' }> {
  const votes = votesAbove(replica, Math.max(replica.commitPoint, heard));
  const { commitPoint, config } = replica;
  return { type: 'Promise', from: id, ballot, commitPoint, configuration: config.version, votes };
}

/** The spec's FirstProposals: what a candidate with these promises proposes when it leads. */
export function firstProposals(
  state: SpecState,
  id: ReplicaId,
  replica: ReplicaState,
): (readonly [slot: number, label: EntryLabel])[] {
  const own = [...state.sent.values()].flatMap(({ message }) =>
    message.type === 'Promise' && message.from === id && sameBallot(message.ballot, replica.promised)
      ? [message]
      : [],
  );
  const counted = [...replica.promises, ...own];
  const heard = Math.max(replica.commitPoint, ...counted.map(({ commitPoint }) => commitPoint));
  const votes = counted.flatMap((promise) => promise.votes);
  const last = Math.max(heard, ...votes.map(({ slot }) => slot));
  const proposals: (readonly [number, EntryLabel])[] = [];
  for (let slot = heard + 1; slot <= last; slot++) proposals.push([slot, highestVote(votes, slot)]);
  proposals.push([last + 1, `start:${ballotName(replica.promised)}`]);
  return proposals;
}

function highestVote(votes: readonly HeldVote[], slot: number): EntryLabel {
  let best: HeldVote | null = null;
  for (const vote of votes) {
    if (vote.slot !== slot) continue;
    if (best === null || compareBallots(vote.ballot ?? noBallot, best.ballot ?? noBallot) > 0) best = vote;
  }
  return best?.label ?? 'noop';
}
