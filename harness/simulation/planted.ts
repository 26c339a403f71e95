/**
 * The planted bugs: one broken rule each, every one of which the judge must catch within a bounded number of seeds.
 *
 * Responsible for: showing that the simulator can fail.
 */
import { ballotNone, compareBallots } from '../../server/src/multipaxos/ballot.ts';
import { nameOf, votersOf } from '../../server/src/multipaxos/configuration.ts';
import { hasMajority, majority } from '../../server/src/multipaxos/quorum.ts';
import type { Roster } from '../../server/src/multipaxos/roster.ts';
import type { State } from '../../server/src/multipaxos/state.ts';
import { step } from '../../server/src/multipaxos/step.ts';
import type { Effect } from '../../server/src/multipaxos/types/effects.ts';
import type { Member } from '../../server/src/multipaxos/types/members.ts';
import type { Slot } from '../../server/src/multipaxos/types/names.ts';
import { calm, losses, type SimulationOptions } from './options.ts';
import { onMessage, plant, slotsAbove, type Mutable, type PlantedBug } from './plant.ts';

const replyBeforeFsync = plant(
  'replyBeforeFsync',
  ['OnlyChosenIsReported', 'ChosenIsDurable', 'PromiseKept', 'ElectedByMajority'],
  {
    after(state, effects) {
      const all = [...effects];
      for (let next = 0; next < all.length; next += 1) {
        const effect = all[next]!;
        if (effect.kind !== 'persist') continue;
        all.push(...step(state, { kind: 'Persisted', nowMs: state.nowMs, seq: effect.seq }).effects);
      }
      return all;
    },
  },
);

const forgetsPromiseAtRestart = plant('forgetsPromiseAtRestart', ['PromiseKept', 'Agreement'], {
  recovered: (log) => ({ ...log, promised: ballotNone }),
});

const forgetsVotesAtRestart = plant(
  'forgetsVotesAtRestart',
  ['Agreement', 'ChosenIsDurable', 'OnlyChosenIsReported', 'ProgressAfterHeal'],
  { recovered: (log) => ({ ...log, tail: [] }) },
);

const votesBelowPromise = votingBelowPromise();

/** The promise itself stays: lowered for good, it would be noticed by the core, not by what was voted. */
function votingBelowPromise(): PlantedBug {
  let kept: Pick<State, 'promised' | 'durablePromised'> | null = null;
  return plant('votesBelowPromise', ['PromiseKept'], {
    before(state, input) {
      kept = null;
      if (input.kind !== 'Receive' || input.message.kind !== 'Accept' || state.role !== 'follower')
        return input;
      const { ballot } = input.message;
      const { promised, durablePromised } = state;
      if (compareBallots(ballot, promised) >= 0) return input;
      kept = { promised, durablePromised };
      Object.assign(state, { promised: ballot, durablePromised: ballot });
      return input;
    },
    after(state, effects) {
      if (kept !== null) Object.assign(state, kept);
      return effects;
    },
  });
}

/** A vote that comes twice counts as the vote of another member. */
const countsDuplicates = plant(
  'countsDuplicates',
  ['OnlyChosenIsReported'],
  onMessage((state, message) => {
    if (message.kind !== 'Accepted' || state.leadership === null) return message;
    for (let slot = message.firstSlot; slot <= message.lastSlot; slot = (slot + 1) as Slot) {
      const held = state.log.get(slot);
      if (held !== undefined && held.votes !== 0) held.votes |= held.votes + 1;
    }
    return message;
  }),
);

const smallQuorum = plant('smallQuorum', ['OnlyChosenIsReported', 'Agreement', 'OneLeaseHolder'], {
  before(state, input) {
    const quorum = majority(state.roster.voters.length) - 1;
    if (state.roster.quorum !== quorum) state.roster = { ...state.roster, quorum };
    return input;
  },
});

/** The leader does not wait until what it found in its log is chosen. */
const servesBeforeChosen = plant('servesBeforeChosen', ['Linearizable'], {
  after(state, effects) {
    const leadership = state.leadership as Mutable<State['leadership']>;
    if (leadership !== null && !leadership.serving)
      (leadership as { startSlot: Slot }).startSlot = state.commitPoint;
    return effects;
  },
});

const servesBeforeApplied = plant('servesBeforeApplied', ['Linearizable'], {
  before(state, input) {
    state.applied = state.commitPoint;
    return input;
  },
});

const grantsNoLease = plant('grantsNoLease', ['OneLeaseHolder', 'Linearizable'], {
  before(state, input) {
    state.leaseGrantedUntilMs = Number.NEGATIVE_INFINITY;
    return input;
  },
});

const forgetsLeaseAtRestart = plant('forgetsLeaseAtRestart', ['OneLeaseHolder', 'Linearizable'], {
  created(state) {
    state.leaseGrantedUntilMs = Number.NEGATIVE_INFINITY;
    state.electionDeadlineMs = state.nowMs;
  },
});

const readsWithoutLease = plant('readsWithoutLease', ['OneLeaseHolder', 'Linearizable'], {
  leaseHeld: (state) => state.leadership?.serving === true,
});

/** Counts the lease from when the answer came, not from when the question left. */
const leaseFromReceipt = plant(
  'leaseFromReceipt',
  ['OneLeaseHolder', 'Linearizable'],
  onMessage((state, message) => {
    if (message.kind !== 'Accepted' && message.kind !== 'HeartbeatAck') return message;
    return { ...message, sentAtMs: state.nowMs };
  }),
);

const ignoresPromisedVotes = plant(
  'ignoresPromisedVotes',
  ['Agreement', 'OnlyChosenIsReported'],
  onMessage((_state, message) => (message.kind === 'Promise' ? { ...message, votes: [] } : message)),
);

/** Takes the first vote that it hears of in a slot instead of the one of the highest ballot. */
const picksAnyVote = plant(
  'picksAnyVote',
  ['Agreement', 'OnlyChosenIsReported'],
  onMessage((_state, message) => {
    if (message.kind !== 'Promise') return message;
    return { ...message, votes: message.votes.map((vote) => ({ ...vote, ballot: ballotNone })) };
  }),
);

/** Takes any vote of its own for chosen when the leader's commit point passes it. */
const followsAnyBallot = plant(
  'followsAnyBallot',
  ['OnlyChosenIsReported', 'CoreInvariant'],
  onMessage((state, message) => {
    if (message.kind !== 'Accept' && message.kind !== 'Heartbeat') return message;
    if (compareBallots(message.ballot, state.promised) < 0) return message;
    const from = message.kind === 'Accept' ? message.firstSlot : Number.POSITIVE_INFINITY;
    for (const held of slotsAbove(state, state.commitPoint))
      if (held.slot < from) held.ballot = message.ballot;
    return message;
  }),
);

/** Throws its tail away when the leader changes, before the new leader's entries are there. */
const discardsTail = plant(
  'discardsTail',
  ['Agreement', 'OnlyChosenIsReported', 'ProgressAfterHeal'],
  onMessage((state, message) => {
    const follows = message.kind === 'Accept' || message.kind === 'Heartbeat';
    if (!follows || compareBallots(message.ballot, state.promised) <= 0) return message;
    for (const { slot } of slotsAbove(state, state.commitPoint)) state.log.delete(slot);
    state.tailBytes = 0;
    state.lastSlot = state.commitPoint;
    return message;
  }),
);

/** Purges what is applied here, durable or not, and whether others have it or not. */
const purgesTooEarly = plant('purgesTooEarly', ['PurgedIsDurable'], {
  after: (state, effects) => [
    ...effects,
    { kind: 'purge', upTo: Math.min(state.applied, state.reported) as Slot },
  ],
});

const reportsTwice = plant('reportsTwice', ['ReportedInOrder'], {
  after: (_state, effects) =>
    effects.flatMap((effect): Effect[] => (effect.kind === 'chosen' ? [effect, effect] : [effect])),
});

const neverCatchesUp = plant(
  'neverCatchesUp',
  ['ProgressAfterHeal'],
  onMessage((_state, message) => (message.kind === 'CatchUpRequest' ? null : message)),
);

/** A log that is lost is made anew under the old name, and votes as if nothing had happened. */
const wipedVotesAtOnce = plant('wipedVotesAtOnce', ['PromiseKept', 'Agreement', 'OnlyChosenIsReported'], {});

/** It catches up first: messages of its lost life are still on their way. */
const wipedVotesOnceCaughtUp = plant(
  'wipedVotesOnceCaughtUp',
  ['PromiseKept', 'Agreement', 'OnlyChosenIsReported'],
  {},
);

/** The leader counts by the configuration that it has only proposed. */
const countsByProposedMembers = plant(
  'countsByProposedMembers',
  ['OnlyChosenIsReported', 'Agreement', 'ElectedByMajority', 'OneLeaseHolder'],
  {
    before(state, input) {
      const pending = state.leadership?.pending;
      if (pending === null || pending === undefined) return input;
      state.roster = countedBy(state, pending.members);
      return input;
    },
  },
);

function countedBy(state: State, members: readonly Member[]): Roster {
  const { bits } = state.roster;
  const voters = votersOf({ members });
  const voterMask = voters.reduce((mask, name) => mask | (bits.get(name) ?? 0), 0);
  const isVoter = voters.includes(state.config.id);
  return { ...state.roster, voters, voterMask, quorum: majority(voters.length), isVoter };
}

/** A change that waits is joined by another: two voters change in one configuration. */
const changesTwoAtOnce = plant('changesTwoAtOnce', ['ConfigurationsFormAChain'], {
  before(state, input) {
    const leadership = state.leadership as Mutable<State['leadership']>;
    if (leadership?.wanted === null || leadership === null) return input;
    const { wanted } = leadership;
    const learner = wanted.find(({ role, incarnation }) => role === 'learner' && incarnation > 0);
    const voter = wanted.find((member) => member.role === 'voter' && nameOf(member) !== state.config.id);
    if (learner !== undefined && voter !== undefined) {
      const others = wanted.filter((member) => member !== voter && member !== learner);
      leadership.wanted = [...others, { ...learner, role: 'voter' }];
    }
    return input;
  },
});

/** A candidate is content with a majority of the configuration that it knows. */
const ignoresFoundMembers = plant('ignoresFoundMembers', ['ElectedByMajority', 'Agreement'], {
  before(state, input) {
    const { candidacy, roster } = state;
    if (candidacy === null || input.kind !== 'Receive' || input.message.kind !== 'Promise') return input;
    const { from, message } = input;
    if (!hasMajority(roster.voters, new Set([...candidacy.promises, from]))) return input;
    for (const { entry } of [...candidacy.votes.values(), ...message.votes]) {
      if (entry.kind !== 'configuration') continue;
      for (const name of votersOf(entry)) if (name !== from) candidacy.promises.add(name);
    }
    return input;
  },
});

const countsLearners = plant('countsLearners', ['OnlyChosenIsReported', 'Agreement', 'OneLeaseHolder'], {
  before(state, input) {
    const everyone = [...state.roster.bits.values()].reduce((mask, bit) => mask | bit, 0);
    if (state.leadership !== null && state.roster.voterMask !== everyone)
      state.roster = { ...state.roster, voterMask: everyone };
    return input;
  },
});

/** Purges what is applied, whether it would survive a crash of the database or not. */
const purgesVolatile = plant('purgesVolatile', ['PurgedIsDurable'], {
  before: (_state, input) => (input.kind === 'Applied' ? { ...input, durableSlot: input.slot } : input),
});

/** Goes on from where a copy ends, and knows the members of before. */
const movesBaseWithoutMembers = plant(
  'movesBaseWithoutMembers',
  ['ConfigurationIsKnown', 'CoreInvariant', 'ElectedByMajority'],
  {
    before: (state, input) =>
      input.kind === 'Restored' ? { ...input, configuration: state.configuration } : input,
  },
);

/** A follower says that more is chosen than it knows, as one with data from elsewhere would. */
const claimsWhatIsNotChosen = plant(
  'claimsWhatIsNotChosen',
  ['LeaderKnowsWhatIsChosen'],
  onMessage((_state, message) =>
    message.kind === 'HeartbeatAck'
      ? { ...message, commitPoint: (message.commitPoint + 1_000_000) as Slot }
      : message,
  ),
);

/** Links break and processes restart within the time of a lease. */
const leaseStorm: Partial<SimulationOptions> = {
  network: { ...calm.network, delayMsMin: 0.1, delayMsMean: 0.3 },
  disk: { flushMsMean: 0.1, stall: 0, stallMsMax: 0 },
  faults: {
    ...calm.faults,
    crashIntervalMsMean: 100,
    downMsMax: 15,
    partitionIntervalMsMean: 200,
    partitionMsMax: 400,
    brokenLinks: 1,
  },
  timing: { ...calm.timing, leaseMs: 145 },
};

/** Each entry travels alone, many are lost, and leaders fall before they have sent them again. */
const lossStorm: Partial<SimulationOptions> = {
  network: { ...calm.network, delayMsMean: 3, loss: 0.3, reordering: 0.3, reorderMsMax: 60 },
  disk: { flushMsMean: 1, stall: 0.1, stallMsMax: 100 },
  faults: {
    ...calm.faults,
    crashIntervalMsMean: 150,
    downMsMax: 100,
    tornWrites: 0,
    stepDownIntervalMsMean: 200,
  },
  timing: { ...calm.timing, acceptBatchBytesMax: 64, retransmitMs: 80, heartbeatMs: 20 },
};

/** Candidates duel, their messages take long, and a log is gone before what it promised has arrived. */
const duels: Partial<SimulationOptions> = {
  network: { ...calm.network, delayMsMean: 20, reordering: 0.4, reorderMsMax: 200 },
  disk: { flushMsMean: 0.1, stall: 0, stallMsMax: 0 },
  faults: {
    ...calm.faults,
    partitionIntervalMsMean: 150,
    partitionMsMax: 150,
    brokenLinks: 1,
    stepDownIntervalMsMean: 120,
    wipeIntervalMsMean: 40,
    wipesTogether: 0,
    downMsMax: 3,
  },
  timing: {
    ...calm.timing,
    heartbeatMs: 10,
    electionTimeoutMinMs: 60,
    electionTimeoutMaxMs: 90,
    leaseMs: 20,
  },
};

export const plantedBugs: readonly PlantedBug[] = [
  replyBeforeFsync,
  forgetsPromiseAtRestart,
  forgetsVotesAtRestart,
  votesBelowPromise,
  countsDuplicates,
  smallQuorum,
  servesBeforeChosen,
  servesBeforeApplied,
  { ...grantsNoLease, options: leaseStorm },
  { ...forgetsLeaseAtRestart, options: leaseStorm },
  readsWithoutLease,
  leaseFromReceipt,
  ignoresPromisedVotes,
  picksAnyVote,
  followsAnyBallot,
  { ...discardsTail, options: lossStorm },
  purgesTooEarly,
  reportsTwice,
  neverCatchesUp,
  { ...wipedVotesAtOnce, options: { ...losses, recovery: { ...calm.recovery, wiped: 'votesAtOnce' } } },
  {
    ...wipedVotesOnceCaughtUp,
    options: { ...duels, recovery: { ...calm.recovery, wiped: 'votesOnceCaughtUp' } },
  },
  { ...countsByProposedMembers, options: losses },
  { ...changesTwoAtOnce, options: losses },
  { ...ignoresFoundMembers, options: losses },
  { ...countsLearners, options: losses },
  { ...purgesVolatile, options: losses },
  { ...movesBaseWithoutMembers, options: losses },
  claimsWhatIsNotChosen,
];
