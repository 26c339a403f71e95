/** Survivors of the core that need no test, each with why. The command tells when one of them is killed after all, or is not made any more. */

/** What it alters can never be seen: the rest of the core leaves no state in which it would matter. */
const equivalent: Readonly<Record<string, string>> = {
  'ballot.ts compareBallots: left.replica < right.replica -> left.replica <= right.replica':
    'names that are the same were returned before',
  'ballot.ts higherBallot: compareBallots(left, right) >= 0 -> compareBallots(left, right) > 0':
    'of two equal ballots either is the higher',
  'barrier.ts isBarred: leadership.pending !== null || leadership.wanted !== null || leadership.backlog.length > 0 -> (leadership.pending !== null || leadership.wanted !== null)':
    'a leader with a backlog does not serve: its first own entry is in it, and refuse looks at that before',
  'barrier.ts proposeWaiting: return; -> nothing':
    'nobody may ask for a change before the leader serves, so with a backlog none is wanted',
  'barrier.ts proposeBacklog: first === undefined || leadership.pending !== null -> (leadership.pending !== null)':
    'both callers come with a backlog; for the compiler',
  "barrier.ts appendOwn: entry.kind === 'command' -> false":
    'propose has added the label already, what a leader found is chosen before it serves, and no command has the label of another kind of entry',
  "barrier.ts appendOwn: entry.kind === 'command' -> true":
    'propose has added the label already, what a leader found is chosen before it serves, and no command has the label of another kind of entry',
  'base.ts moveBase: state.knownCommitPoint = Math.max(state.knownCommitPoint, slot) as Slot; -> nothing':
    'one that is below the commit point asks for nothing, and the next that is told is compared with it',
  'base.ts dropTo: state.droppedTo + 1 -> state.droppedTo - 1':
    'nothing is held at or below what was dropped',
  'catch-up.ts source: catchUpAttempts === 0 && teller !== null && bits.has(teller) -> (catchUpAttempts === 0 && bits.has(teller))':
    'null is no member',
  'catch-up.ts handleCatchUpReply: return; -> nothing':
    'an answer without entries ends below its first slot: the next line returns',
  'configuration.ts sorted: left.replica < right.replica -> left.replica <= right.replica':
    'there is one member for each replica',
  'disbelief.ts higher: one > other -> one >= other': 'of two that are equal either is the higher',
  "election.ts considerElection: state.role === 'follower' -> true":
    'a leader does not come here, and a candidate knows no leader',
  'election.ts startElection: state.leader = null; -> nothing':
    'considerElection has forgotten the leader, and whoever hears one since then asks for no votes (followLeader)',
  'election.ts sendPrepares: state.candidacy === null -> false':
    'both callers have a candidacy; for the compiler',
  'election.ts handlePromise: message.commitPoint > candidacy.commitPoint -> message.commitPoint >= candidacy.commitPoint':
    'of two that know the same commit point either may be named',
  'election.ts gatherVotes: compareBallots(vote.ballot, known.ballot) > 0 -> compareBallots(vote.ballot, known.ballot) >= 0':
    'in one slot and ballot there is one entry (OneValuePerBallot)',
  'follower.ts vote: held !== undefined && held.ballot !== null && sameBallot(held.ballot, ballot) -> (held !== undefined && sameBallot(held.ballot, ballot))':
    'what was learnt as chosen lies at or below the commit point, and this is above; for the compiler',
  "fsync.ts countOwn: held.kind === 'ownVotes' -> true":
    'an own promise has no slots, and whoever leads has sent what it held back before: the log is flushed in its order',
  'fsync.ts countOwn: leadership !== null && sameBallot(leadership.ballot, held.ballot) -> (leadership !== null)':
    'votes of an earlier leadership are flushed before the promise of the next one is',
  'heartbeat.ts globalPointer: pointer < lowest -> pointer <= lowest':
    'of two that are equal either is the lowest',
  'leader.ts propose: leadership?.nextSlot ?? (0 as Slot) -> (leadership?.nextSlot)':
    'without a leadership every proposal is refused, and the slot is not used',
  'leader.ts hearPeer: peer === undefined -> false':
    "a leader's peers are all members but itself, and others are not let in (admits in membership.ts)",
  'leader.ts hearPeer: false -> true #2':
    "a leader's peers are all members but itself, and others are not let in (admits in membership.ts)",
  'leader.ts hearPeer: message.commitPoint > peer.commitPoint -> true':
    "a peer's commit point is above the leader's only while the leader fetches, and then it is below all that the leader sends again",
  'leader.ts hearPeer: message.commitPoint > peer.commitPoint -> message.commitPoint >= peer.commitPoint':
    "a peer's commit point is above the leader's only while the leader fetches, and then it is below all that the leader sends again",
  'leader.ts countVotes: leadership === null -> false': 'both callers have a leadership; for the compiler',
  'leader.ts countVotes: leadership.nextSlot - 1 -> leadership.nextSlot + 1':
    "nothing above is held in the leader's ballot, and only that is marked",
  'leader.ts advanceCommitPoint: leadership.progressAtMs = state.nowMs; -> nothing':
    'it is looked at while the leader fetches, and what it fetches counts as progress (learn in catch-up.ts)',
  'leader.ts changeMembers: tellConfiguration(run); -> nothing':
    'the end of the step tells it, and those that are spoken to in between are reached already',
  'learner.ts followCommitPoint: leaderCommitPoint > state.leaderCommitPoint -> leaderCommitPoint >= state.leaderCommitPoint':
    'it becomes what it is',
  'learner.ts followCommitPoint: ballot === undefined || ballot === null || !sameBallot(ballot, state.promised) -> (ballot === undefined || !sameBallot(ballot, state.promised))':
    'what was learnt as chosen lies at or below the commit point, and this is above; for the compiler',
  'learner.ts reportChosen: held === undefined || held.seq > state.durableSeq -> (held.seq > state.durableSeq)':
    'what is chosen and not given out yet is held; for the compiler',
  'learner.ts drop: held !== undefined -> true': 'what was not dropped is held; for the compiler',
  'lease.ts quorumHeardAtMs: isVoter -> true':
    'a leader that is no voter gives up in the step that makes it so (changeMembers)',
  'log.ts votesAbove: held !== undefined && held.ballot !== null -> (held !== undefined)':
    'what was learnt as chosen lies at or below the commit point, and all callers ask above; for the compiler',
  'membership.ts admits: version > state.configuration.version -> version >= state.configuration.version':
    'learnConfiguration takes on nothing that it knows',
  'new-leader.ts becomeLeader: state.commitPoint > candidacy.commitPoint -> state.commitPoint >= candidacy.commitPoint':
    'it becomes what it is',
  'new-leader.ts inheritedEntries: slot > lastSlot -> slot >= lastSlot': 'it becomes what it is',
  "phase-1.ts foundAbove: slot > from && entry.kind === 'configuration' && entry.version > state.configuration.version -> (slot > from && entry.version > state.configuration.version)":
    'other entries have no version; for the compiler',
  'phase-1.ts foundAbove: entry.version > state.configuration.version -> entry.version >= state.configuration.version':
    'the configuration that it knows has the voters that it has counted before',
  'promotion.ts promoteLearner: peer === undefined || !keepsUp(state, leadership, peer) -> (!keepsUp(state, leadership, peer))':
    'each member that was admitted is a peer, and the leader itself votes; for the compiler',
  'promotion.ts keepsUp: durableApplicationPointer ?? (0 as Slot) -> (durableApplicationPointer)':
    'null compares with numbers as 0 does',
  'reconfigure.ts requestChange: some -> every': 'one that joins takes the place of one member',
  "reconfigure.ts isAskedAgain: change.kind === 'join' && underWay.some((member) => member.replica === change.replica && hasJoined(member, change.nonce)) -> (underWay.some((member) => member.replica === change.replica && hasJoined(member, change.nonce)))":
    'other changes bring no nonce, and no life has none',
  'restart.ts recoverTail: item.ballot === null && item.slot > learntTo -> (item.ballot === null)':
    'the tail comes in the order of slots (RecoveredLog)',
  'restart.ts recoverTail: item.slot > learntTo -> item.slot >= learntTo':
    'the tail comes in the order of slots (RecoveredLog)',
  'restart.ts recoverTail: state.knownCommitPoint = state.commitPoint; -> nothing':
    'one that is below the commit point asks for nothing, and the next that is told is compared with it',
  'roster.ts makeRoster: bits.get(self) ?? 0 -> (bits.get(self))': 'no bit and 0 mark nothing',
  'step.ts act: return; -> nothing #3': 'fsync up to no number does nothing',
  'step.ts act: input.durableSlot > state.durableApplied -> input.durableSlot >= state.durableApplied':
    'it becomes what it is',
  'step.ts act: return; -> nothing #11': 'it is the last of the inputs',
  'step.ts traceRestart: ballot === null -> false': 'both records are told with the ballot, which is null',
  "trace.ts traceConfigurations: configuration.version === state.tracedConfiguration && name !== 'Restart' && name !== 'BecomeLeader' -> (configuration.version === state.tracedConfiguration && name !== 'BecomeLeader')":
    'nothing was told before a Restart',
  "trace.ts configurationsIn: message?.kind === 'Accept' || message?.kind === 'CatchUpReply' -> (message?.kind === 'Accept')":
    'what it learns of an answer is in its records; the rest it knew',
  'upkeep.ts overdueSlots: slot < leadership.nextSlot -> slot <= leadership.nextSlot':
    "nothing is held there in the leader's ballot",
};

/** It costs time or messages and nothing else. */
const performance: Readonly<Record<string, string>> = {
  'ballot.ts sameBallot: left === right || (left.round === right.round && left.replica === right.replica) -> ((left.round === right.round && left.replica === right.replica))':
    'one object is equal to itself',
  'base.ts dropTo: state.droppedTo = slot; -> nothing':
    'the same step goes on over slots that are not held any more (drop in learner.ts)',
  'election.ts proceed: return; -> nothing':
    'whoever has won has asked everybody; a Prepare more is answered or not, and counts for nothing',
  "fsync.ts fsync: state.trace === 'all' -> true": 'traceAction leaves out what nobody listens to',
  'invariants.ts checkState: state.promised !== before.promised && compareBallots(state.promised, before.promised) < 0 -> (compareBallots(state.promised, before.promised) < 0)':
    'a ballot is not below itself',
  'invariants.ts checkState: state.durablePromised !== state.promised && compareBallots(state.durablePromised, state.promised) > 0 -> (compareBallots(state.durablePromised, state.promised) > 0)':
    'a ballot is not above itself',
  'leader.ts countVotes: state.commitPoint + 1 -> state.commitPoint - 1':
    'votes for what is chosen change nothing',
  'learner.ts reportChosen: state.reported < state.commitPoint -> state.reported <= state.commitPoint':
    'the loop within looks at it, too, and nothing is told of no entries',
  'learner.ts reportChosen: state.reported < state.commitPoint -> true':
    'the loop within looks at it, too, and nothing is told of no entries',
  'promotion.ts mark: state.nowMs < newest.atMs + state.config.electionTimeoutMaxMs -> state.nowMs <= newest.atMs + state.config.electionTimeoutMaxMs':
    'a millisecond of a time to wait',
  'promotion.ts mark: marks.length > marksKept -> marks.length >= marksKept':
    'a mark more or less of those that are kept',
  'quorum.ts reachedBy: candidate <= best -> candidate < best': 'one that is not better is counted once more',
  'resign.ts resign: state.leadership !== null && state.leadership.pending !== null -> (state.leadership !== null)':
    'a roster that is made anew without need is the same',
  'resign.ts resign: hadPending -> true': 'a roster that is made anew without need is the same',
  "restored.ts knowLeadership: state.role !== 'follower' && compareBallots(state.promised, ballot) < 0 -> (compareBallots(state.promised, ballot) < 0)":
    'a follower that steps down only waits a little longer before it campaigns',
  "step.ts traceRestart: state.trace === 'none' -> false": 'traceAction leaves out what nobody listens to',
  'trace.ts traceConfigurations: isTold && promised.version === configuration.version && brought.length === 0 -> false':
    'what comes then adds nothing either',
  'upkeep.ts retransmit: leadership.nextSlot - 1 === state.commitPoint -> false':
    'where everything is chosen nothing is found that is overdue',
  'upkeep.ts retransmit: leadership.nextSlot - 1 -> leadership.nextSlot + 1':
    'where everything is chosen nothing is found that is overdue',
};

/** Another rule, which is named, keeps what this one keeps. */
const defenceInDepth: Readonly<Record<string, string>> = {
  'acceptor.ts adoptBallot: state.highestRound = Math.max(state.highestRound, ballot.round); -> nothing':
    'the next ballot is above the own promise, too (nextBallot)',
  'election.ts startElection: state.highestRound = ballot.round; -> nothing':
    'the next ballot is above the own promise, too (nextBallot)',
  'election.ts handlePromise: candidacy.commitPointFrom = from; -> nothing':
    'the first line has noted the commit point and who told it (noteCommitPoint)',
  'follower.ts handleAccept: message.ballot.replica !== from || from === state.config.id -> (message.ballot.replica !== from)':
    'nothing that comes from itself reaches a replica (act in step.ts)',
  'follower.ts handleHeartbeat: message.ballot.replica !== from || from === state.config.id -> (message.ballot.replica !== from)':
    'nothing that comes from itself reaches a replica (act in step.ts)',
  'fsync.ts release: candidacy !== null && sameBallot(promised, held.ballot) -> (sameBallot(promised, held.ballot))':
    'sendPrepares looks for the candidacy, too',
  'leader.ts countVotes: held?.ballot === leadership.ballot -> true':
    'advanceCommitPoint looks at the ballot, too; a peer votes only for slots that it was sent, and those are held',
  'leader.ts advanceCommitPoint: held === undefined || held.ballot !== leadership.ballot -> (held === undefined)':
    "only what is in the leader's ballot is marked with votes (countVotes)",
  "leader.ts advanceCommitPoint: held.entry.kind === 'configuration' -> false":
    'nothing is proposed above a configuration that is not chosen (barrier.ts)',
  'new-leader.ts becomeLeader: noteCommitPoint(state, candidacy.commitPointFrom, candidacy.commitPoint); -> nothing':
    'each promise was noted when it came (handlePromise), and the own commit point needs no fetching',
  'new-leader.ts becomeLeader: state.preVote = null; -> nothing': 'startElection has taken it back',
  'new-leader.ts becomeLeader: state.lastReason = null; -> nothing':
    'a leader tells no reason (tellLeadership), and whoever stops leading has a new one (resign)',
  'promotion.ts promoteLearner: !leadership.serving -> false':
    'no change is taken on before the leader serves (requestChange); marks from before it are lower, as its commit point was',
  'promotion.ts promoteLearner: leadership.pending !== null || leadership.wanted !== null -> (leadership.wanted !== null)':
    'a change at a time (requestChange says busy)',
  'promotion.ts promoteLearner: leadership.pending !== null || leadership.wanted !== null -> (leadership.pending !== null)':
    'a change at a time (requestChange says busy)',
  "promotion.ts promoteLearner: role === 'voter' || incarnation === 0 -> (incarnation === 0)":
    'a voter is promoted already (membersAfter says done)',
  "promotion.ts promoteLearner: role === 'voter' || incarnation === 0 -> (role === 'voter')":
    'one that was never admitted is no peer',
  'resign.ts resign: state.preVote = null; -> nothing': 'startElection has taken it back',
  'upkeep.ts isCutOff: state.commitPoint < leadership.startSlot && state.knownCommitPoint > state.commitPoint -> (state.knownCommitPoint > state.commitPoint)':
    'a leader that serves and holds its lease believes nobody who knows more (disbelief.ts); without it, it has been deposed',
  'upkeep.ts isCutOff: state.commitPoint < leadership.startSlot -> state.commitPoint <= leadership.startSlot':
    'a leader that serves and holds its lease believes nobody who knows more (disbelief.ts); without it, it has been deposed',
};

export const explanations: ReadonlyMap<string, string> = new Map([
  ...Object.entries(equivalent).map(([name, why]) => [name, `equivalent: ${why}`] as const),
  ...Object.entries(performance).map(([name, why]) => [name, `performance: ${why}`] as const),
  ...Object.entries(defenceInDepth).map(([name, why]) => [name, `defence in depth: ${why}`] as const),
]);
