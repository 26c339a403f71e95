/**
 * Elections: asking first, then phase 1 over all slots above the commit point.
 *
 * Responsible for: the pre-vote, startElection, handlePromise and handleReject. A replica that was cut off does not disturb the
 * others when it comes back, since it asks whether it would win before it makes anyone promise anything.
 */
import { compareBallots, sameBallot } from './ballot.ts';
import { requestCatchUp } from './catch-up.ts';
import { becomeLeader } from './leader.ts';
import { noteCommitPoint } from './learner.ts';
import { leaseForbids } from './lease.ts';
import { votesAbove } from './log.ts';
import { countMembers } from './quorum.ts';
import { resign } from './resign.ts';
import { reject } from './acceptor.ts';
import { broadcast, persist, send, type Run } from './run.ts';
import { restartElectionTimer, type Candidacy } from './state.ts';
import { traceAction } from './trace.ts';
import type {
  Ballot,
  Prepare,
  PreVote,
  PreVoteReply,
  Promise_,
  Reject,
  ReplicaId,
  Slot,
  Vote,
} from './types.ts';

/** The time to wait for a leader is over: asks the others, unless this replica had better not lead now. */
export function considerElection(run: Run): void {
  const { state } = run;
  restartElectionTimer(state);
  if (state.role === 'follower') state.leader = null;
  if (state.nowMs < state.quarantineUntilMs) return;
  const ballot = nextBallot(run);
  state.preVote = { ballot, grants: state.selfBit };
  broadcast(run, { kind: 'PreVote', group: state.config.group, ballot });
  if (state.quorum === 1) startElection(run);
}

function nextBallot({ state }: Run): Ballot {
  return { round: Math.max(state.highestRound, state.promised.round) + 1, replica: state.config.id };
}

export function handlePreVote(run: Run, from: ReplicaId, message: PreVote): void {
  const { state } = run;
  const { group } = state.config;
  if (compareBallots(message.ballot, state.promised) <= 0) {
    reject(run, from, message.ballot);
    return;
  }
  const granted = state.leadership === null && !leaseForbids(state, from);
  send(run, from, { kind: 'PreVoteReply', group, ballot: message.ballot, granted });
}

export function handlePreVoteReply(run: Run, from: ReplicaId, message: PreVoteReply): void {
  const { state } = run;
  const { preVote } = state;
  if (preVote === null || !message.granted || !sameBallot(message.ballot, preVote.ballot)) return;
  preVote.grants |= state.bits.get(from)!;
  if (countMembers(preVote.grants) >= state.quorum) startElection(run);
}

/**
 * Phase 1a. The Prepares leave once the candidate's own promise is durable. That promise is bound by the lease like any other,
 * whatever the timers say.
 */
export function startElection(run: Run): void {
  const { state } = run;
  if (leaseForbids(state, state.config.id)) return;
  const ballot = nextBallot(run);
  state.preVote = null;
  state.role = 'candidate';
  state.leader = null;
  state.promised = ballot;
  state.highestRound = ballot.round;
  state.leaderCommitPoint = 0 as Slot;
  state.candidacy = {
    promises: 0,
    commitPoint: state.commitPoint,
    commitPointFrom: state.config.id,
    votes: new Map(),
    prepareSentAtMs: state.nowMs,
  };
  restartElectionTimer(state);
  persist(run, [{ kind: 'promise', ballot }], { kind: 'ownPromise', ballot });
  traceAction(run, 'StartElection');
}

/** To the peers whose promise has not come. Only called when the own promise is durable. */
export function sendPrepares(run: Run): void {
  const { state } = run;
  const { candidacy, commitPoint, promised, config } = state;
  if (candidacy === null) return;
  candidacy.prepareSentAtMs = state.nowMs;
  const message: Prepare = { kind: 'Prepare', group: config.group, ballot: promised, commitPoint };
  for (const peer of state.peers)
    if ((candidacy.promises & state.bits.get(peer)!) === 0) send(run, peer, message);
}

/** Prepares or their answers may be lost. */
export function retryPrepare(run: Run): void {
  const { candidacy, durablePromised, promised, nowMs, config } = run.state;
  if (candidacy === null || !sameBallot(durablePromised, promised)) return;
  if (nowMs >= candidacy.prepareSentAtMs + config.retransmitMs) sendPrepares(run);
}

/** The candidate's own promise counts once it is durable. */
export function countOwnPromise(run: Run, ballot: Ballot): void {
  const { state } = run;
  if (state.candidacy === null || !sameBallot(state.promised, ballot)) return;
  state.candidacy.promises |= state.selfBit;
  gatherVotes(state.candidacy, votesAbove(state, state.commitPoint));
  if (countMembers(state.candidacy.promises) >= state.quorum) becomeLeader(run);
}

export function handlePromise(run: Run, from: ReplicaId, message: Promise_): void {
  const { state } = run;
  noteCommitPoint(state, from, message.commitPoint);
  const { candidacy } = state;
  if (candidacy === null || !sameBallot(message.ballot, state.promised)) return;
  if ((candidacy.promises & state.bits.get(from)!) !== 0) return;
  candidacy.promises |= state.bits.get(from)!;
  if (message.commitPoint > candidacy.commitPoint) {
    candidacy.commitPoint = message.commitPoint;
    candidacy.commitPointFrom = from;
  }
  gatherVotes(candidacy, message.votes);
  traceAction(run, 'HandlePromise', { from, message });
  if (countMembers(candidacy.promises) >= state.quorum) {
    becomeLeader(run);
    requestCatchUp(run);
  }
}

function gatherVotes(candidacy: Candidacy, votes: readonly Vote[]): void {
  for (const vote of votes) {
    const known = candidacy.votes.get(vote.slot);
    if (known === undefined || compareBallots(vote.ballot, known.ballot) > 0)
      candidacy.votes.set(vote.slot, vote);
  }
}

/** Someone has promised a higher ballot: this one cannot win, or lead, any more. */
export function handleReject(run: Run, from: ReplicaId, message: Reject): void {
  const { state } = run;
  state.highestRound = Math.max(state.highestRound, message.promised.round);
  if (state.role === 'follower' || !sameBallot(message.ballot, state.promised)) return;
  if (compareBallots(message.promised, message.ballot) <= 0) return;
  resign(run, 'higherBallot');
  traceAction(run, 'HandleReject', { from, message, reason: 'higherBallot' });
}
