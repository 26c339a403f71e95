/** Planted bugs of the lease: what followers give their word for, and whoever promises within it. */
import { forgottenPromise } from './planted-acceptors.ts';
import type { PlantedLeaseBug } from './planted-bug.ts';

export const noStrain = { only: [] };

export const ofWords: readonly PlantedLeaseBug[] = [
  {
    name: 'wordOfNoTime',
    sentence: 'a follower that hears its leader gives its word for no time at all',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'state.leaseGrantedUntilMs = state.nowMs + state.config.leaseMs;',
        replace: 'state.leaseGrantedUntilMs = state.nowMs;',
      },
    ],
    strain: noStrain,
    seed: 1,
    refusedAt: ['HandleHeartbeat'],
  },
  {
    name: 'wordNotRenewed',
    sentence: 'a follower gives its word when it hears of a leader, and not again',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'state.leaseGrantedTo = leader;',
        replace: 'if (state.leaseGrantedTo === leader) return;\n  state.leaseGrantedTo = leader;',
      },
    ],
    strain: noStrain,
    seed: 1,
    refusedAt: ['HandleHeartbeat'],
  },
  {
    name: 'wordToItself',
    sentence: 'a follower gives its word to itself, and stands when it likes',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'state.leaseGrantedTo = leader;',
        replace: 'state.leaseGrantedTo = leader === state.config.id ? leader : state.config.id;',
      },
    ],
    strain: noStrain,
    seed: 1,
    refusedAt: ['HandleHeartbeat'],
  },
  {
    name: 'votesWithoutWord',
    sentence: 'a follower gives its word for heartbeats only, and acknowledges all that its leader sends',
    mutations: [
      {
        file: 'multipaxos/follower.ts',
        find: 'grantLease(state, from);\n  traceGrant(run, message);',
        replace: `if (message.kind === 'Heartbeat') {
    grantLease(state, from);
    traceGrant(run, message);
  }`,
      },
    ],
    strain: noStrain,
    seed: 1,
    refusedAt: ['HandleHeartbeatAck', 'AnswerRead'],
  },
  {
    name: 'forgetsWord',
    sentence: 'a replica that starts again waits for no word that it may have given',
    mutations: [
      {
        file: 'multipaxos/restart.ts',
        find: 'leaseGrantedUntilMs: nowMs + config.leaseMs,',
        replace: 'leaseGrantedUntilMs: nowMs,',
      },
    ],
    strain: noStrain,
    seed: 1,
    refusedAt: ['Restart'],
  },
  {
    name: 'forgetsPromise',
    sentence: 'a replica that starts again knows nothing of its promise',
    mutations: forgottenPromise,
    strain: { only: ['the process dies'] },
    seed: 1,
    refusedAt: ['Restart'],
  },
  {
    name: 'promisesInWord',
    sentence:
      'a follower promises to whoever asks, and gives its vote, within the word that it gave to its leader',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'return state.nowMs < state.leaseGrantedUntilMs && state.leaseGrantedTo !== candidate;',
        replace: 'return state.nowMs < state.leaseGrantedUntilMs && candidate === undefined;',
      },
    ],
    strain: { only: ['the leader is lost to one, and then to all'] },
    seed: 1,
    refusedAt: ['GivePromise'],
  },
  {
    name: 'promisesUnderLease',
    sentence: 'a leader promises to another while it holds its lease',
    mutations: [
      {
        file: 'multipaxos/lease.ts',
        find: 'if (state.leadership !== null) return state.nowMs < state.leadership.leaseUntilMs;',
        replace: 'if (state.leadership !== null) return false;',
      },
      // Nobody would ask it otherwise.
      {
        file: 'multipaxos/election.ts',
        find: 'if (voters.length === 1) startElection(run);',
        replace: 'startElection(run);',
      },
    ],
    strain: { only: ['hears nothing'] },
    seed: 1,
    refusedAt: ['GivePromise'],
  },
  {
    name: 'saysItHasResigned',
    sentence: 'a leader that hands over says that it has resigned, and leads on',
    mutations: [
      {
        file: 'multipaxos/hand-over.ts',
        find: "resign(run, 'handedOver');\n    traceAction",
        replace: 'traceAction',
      },
    ],
    strain: { only: ['the leader hands over'] },
    seed: 1,
    refusedAt: ['Resign', 'HandleHeartbeatAck', 'GivePromise', 'AnswerRead'],
  },
  {
    name: 'failsAndLeadsOn',
    sentence: 'a leader whose database fails says that it has resigned, and leads on',
    mutations: [
      {
        file: 'multipaxos/leader.ts',
        find: "resign(run, reason);\n  traceAction(run, 'StepDown', { reason });",
        replace: "if (successor === null) resign(run, reason);\n  traceAction(run, 'StepDown', { reason });",
      },
    ],
    strain: { only: ['a backend is killed'] },
    seed: 1,
    refusedAt: ['HandleHeartbeat', 'HandleHeartbeatAck', 'GivePromise', 'AnswerRead'],
  },
  {
    name: 'endsAnyWord',
    sentence: 'a follower forgets its word when any leader has resigned, though it has heard another since',
    mutations: [
      {
        file: 'multipaxos/hand-over.ts',
        find: 'if (ballot.replica !== from || !sameBallot(ballot, state.promised)) return;',
        replace:
          'if (ballot.replica !== from || (sameBallot(ballot, state.promised) && from === "")) return;',
      },
    ],
    strain: {
      only: ['the leader hands over', 'the leader hands over, and somebody dies meanwhile'],
      mix: 'losses',
    },
    seed: 1,
    refusedAt: ['HandleResigned'],
  },
];
