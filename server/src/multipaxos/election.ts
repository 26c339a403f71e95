/**
 * Elections: asking first, then phase 1 over all slots above the commit point.
 *
 * Responsible for: the pre-vote, startElection, handlePromise and handleReject. A replica that was cut off does not disturb the
 * others when it comes back, since it asks whether it would win before it makes anyone promise anything. Only voters campaign. Whose promises
 * are needed: phase-1.ts.
 */
import { isPatienceOver } from './patience.ts';
import { compareBallots, sameBallot } from './ballot.ts';
import { probe, requestCatchUp } from './catch-up.ts';
import { becomeLeader } from './new-leader.ts';
import { electorate, hasWon } from './phase-1.ts';
import { hasten } from './haste.ts';
import { noteCommitPoint } from './learner.ts';
import { leaseForbids } from './lease.ts';
import { tracePromise, traceResignation } from './lease-trace.ts';
import { votesAbove } from './log.ts';
import { hasMajority } from './quorum.ts';
import { resign } from './resign.ts';
import { reject } from './acceptor.ts';
import { persist, send, type Run } from './run.ts';
import { restartElectionTimer, type Candidacy } from './state.ts';
import { traceAction } from './trace.ts';
import type { Vote } from './types/entries.ts';
import type { Prepare, PreVote, PreVoteReply, Promise_, Reject } from './types/messages.ts';
import type { Ballot, ReplicaId, Slot } from './types/names.ts';

/** The time to wait for a leader is over: asks the others, unless this replica had better not lead now. */
export function considerElection(run: Run): void {
  const { state } = run;
  const { voters, isVoter } = state.roster;
  restartElectionTimer(state);
  hasten(state);
  if (state.role === 'follower') state.leader = null;
  probe(run);
  if (!isVoter || state.awaitsCopy || state.nowMs < state.quarantineUntilMs) return;
  const ballot = nextBallot(run);
  state.preVote = { ballot, grants: new Set([state.config.id]) };
  const message: PreVote = { kind: 'PreVote', group: state.config.group, ballot };
  for (const voter of voters) if (voter !== state.config.id) send(run, voter, message);
  if (voters.length === 1) startElection(run);
}

function nextBallot({ state }: Run): Ballot {
  return { round: Math.max(state.highestRound, state.promised.round) + 1, replica: state.config.id };
}

/** A stranger's is answered too: it may have been removed, and this is how it learns. */
export function handlePreVote(run: Run, from: ReplicaId, message: PreVote): void {
  const { state } = run;
  const { group } = state.config;
  const isMember = state.roster.bits.has(from);
  if (isMember && compareBallots(message.ballot, state.promised) <= 0) {
    reject(run, from, message.ballot);
    return;
  }
  const granted = isMember && state.leadership === null && !leaseForbids(state, from);
  const { configuration } = state;
  send(run, from, { kind: 'PreVoteReply', group, ballot: message.ballot, granted, configuration });
}

export function handlePreVoteReply(run: Run, from: ReplicaId, message: PreVoteReply): void {
  const { state } = run;
  const { preVote } = state;
  if (preVote === null || !message.granted || !sameBallot(message.ballot, preVote.ballot)) return;
  preVote.grants.add(from);
  if (hasMajority(state.roster.voters, preVote.grants)) startElection(run);
}

/**
 * Phase 1a. The Prepares leave once the candidate's own promise is durable. That promise is bound by the lease like any other,
 * whatever the timers say.
 */
export function startElection(run: Run): void {
  const { state } = run;
  if (leaseForbids(state, state.config.id) || !state.roster.isVoter) return;
  const ballot = nextBallot(run);
  tracePromise(run, ballot);
  state.preVote = null;
  state.role = 'candidate';
  state.leader = null;
  state.promised = ballot;
  state.highestRound = ballot.round;
  state.leaderCommitPoint = 0 as Slot;
  state.candidacy = {
    promises: new Set(),
    asked: new Set(),
    commitPoint: state.commitPoint,
    commitPointFrom: state.config.id,
    votes: new Map(),
    prepareSentAtMs: state.nowMs,
  };
  restartElectionTimer(state);
  persist(run, [{ kind: 'promise', ballot }], { kind: 'ownPromise', ballot });
  traceAction(run, 'StartElection');
}

/** To the voters whose promise is needed and has not come. Only called when the own promise is durable. */
export function sendPrepares(run: Run): void {
  const { state } = run;
  if (state.candidacy === null) return;
  state.candidacy.prepareSentAtMs = state.nowMs;
  prepare(run, state.candidacy, electorate(state, state.candidacy));
}

function prepare(run: Run, candidacy: Candidacy, targets: Iterable<ReplicaId>): void {
  const { commitPoint, promised, config } = run.state;
  const message: Prepare = { kind: 'Prepare', group: config.group, ballot: promised, commitPoint };
  for (const target of targets) {
    if (target === config.id || candidacy.promises.has(target)) continue;
    candidacy.asked.add(target);
    send(run, target, message);
  }
}

/** Prepares or their answers may be lost. */
export function retryPrepare(run: Run): void {
  const { candidacy, durablePromised, promised } = run.state;
  if (candidacy === null || !sameBallot(durablePromised, promised)) return;
  if (isPatienceOver(run.state, candidacy.prepareSentAtMs)) sendPrepares(run);
}

/** The candidate's own promise counts once it is durable. */
export function countOwnPromise(run: Run, ballot: Ballot): void {
  const { state } = run;
  if (state.candidacy === null || !sameBallot(state.promised, ballot)) return;
  state.candidacy.promises.add(state.config.id);
  gatherVotes(state.candidacy, votesAbove(state, state.commitPoint));
  proceed(run, state.candidacy);
}

export function handlePromise(run: Run, from: ReplicaId, message: Promise_): void {
  const { state } = run;
  noteCommitPoint(state, from, message.commitPoint);
  const { candidacy } = state;
  if (candidacy === null || !sameBallot(message.ballot, state.promised)) return;
  if (candidacy.promises.has(from)) return;
  candidacy.promises.add(from);
  if (message.commitPoint > candidacy.commitPoint) {
    candidacy.commitPoint = message.commitPoint;
    candidacy.commitPointFrom = from;
  }
  gatherVotes(candidacy, message.votes);
  traceAction(run, 'HandlePromise', { from, message });
  proceed(run, candidacy);
}

/** Leads if it has won; asks those, too, whom only a configuration that has just been found names. */
function proceed(run: Run, candidacy: Candidacy): void {
  const { state } = run;
  if (hasWon(state, candidacy)) {
    becomeLeader(run);
    requestCatchUp(run);
    return;
  }
  if (!sameBallot(state.durablePromised, state.promised)) return;
  prepare(
    run,
    candidacy,
    electorate(state, candidacy).filter((name) => !candidacy.asked.has(name)),
  );
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
  traceResignation(run, 'higherBallot');
  resign(run, 'higherBallot');
  traceAction(run, 'HandleReject', { from, message, reason: 'higherBallot' });
}
