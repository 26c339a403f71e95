/**
 * The ways in which one event of a recorded trace is altered, as a defect of the server or a forger would, to show that the check notices.
 *
 * Responsible for: what each alters, and where the check must stop. Which event is altered: mutate.ts.
 */
import type { ReplicaId, Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { TraceConfiguration } from '../../../server/src/multipaxos/types/trace.ts';
import type { ConsensusEvent } from './read-trace.ts';

/** `sameEvent`: the check stops at the altered event. `later`: at one that it makes impossible. */
export interface Mutant {
  readonly shows: string;
  readonly stopsAt: 'sameEvent' | 'later';
  readonly applies: (event: ConsensusEvent) => boolean;
  /** Null: the event goes. */
  readonly alter: (event: ConsensusEvent) => ConsensusEvent | null;
}

const withState = (event: ConsensusEvent, state: Partial<ConsensusEvent['state']>): ConsensusEvent => ({
  ...event,
  state: { ...event.state, ...state },
});

type Sent = NonNullable<ConsensusEvent['sent']>[number];

const alterSent = (
  event: ConsensusEvent,
  kind: Sent['message']['kind'],
  alter: (sent: Sent) => Sent,
): ConsensusEvent => ({
  ...event,
  sent: (event.sent ?? []).map((sent) => (sent.message.kind === kind ? alter(sent) : sent)),
});

const sends = ({ sent }: ConsensusEvent, kind: Sent['message']['kind']): boolean =>
  (sent ?? []).some(({ message }) => message.kind === kind);

const untold = (event: ConsensusEvent): ConsensusEvent => ({ ...event, sent: [] });

const withoutFirstVoter = (told: TraceConfiguration): TraceConfiguration => ({
  ...told,
  voters: told.voters.slice(1),
});

const withoutFirstVoters = (event: ConsensusEvent): ConsensusEvent => ({
  ...event,
  configurations: (event.configurations ?? []).map(withoutFirstVoter),
});

const votesAboveCommitPoint = ({ votes, state }: ConsensusEvent): readonly unknown[] =>
  (votes ?? []).filter(([slot]) => slot > state.commitPoint);

/** Some replica that is not `id`, nor `other`. */
const stranger = (id: ReplicaId, other: ReplicaId): ReplicaId =>
  (['r1', 'r2', 'r3'] as ReplicaId[]).find((one) => one !== id && one !== other) ?? id;

export const mutants = {
  ballot: {
    shows: 'an Accept of a ballot in which nobody proposed is voted for',
    // It waits for the proposal for as long as others can go on.
    stopsAt: 'later',
    applies: (event) => event.name === 'HandleAccept' && event.message !== undefined,
    alter(event) {
      const message = event.message ?? { kind: 'Accept', ballot: event.state.ballot };
      return {
        ...event,
        message: { ...message, ballot: { ...message.ballot, round: message.ballot.round + 1 } },
      };
    },
  },
  'commit-point': {
    shows: 'a leader takes one slot more for chosen than a quorum has voted for',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'AdvanceCommitPoint',
    alter: (event) => withState(event, { commitPoint: (event.state.commitPoint + 1) as Slot }),
  },
  'vote-label': {
    shows: 'a follower writes another entry than the one that it was asked to vote for',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'HandleAccept' && (event.votes ?? []).length > 0,
    alter(event) {
      const votes = (event.votes ?? []).map(([slot, ballot]) => [slot, ballot, 'forged/1'] as const);
      return { ...event, votes };
    },
  },
  'promise-lowered': {
    shows: 'a promise sinks',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Fsync' && event.state.promised.round > 0,
    alter: (event) =>
      withState(event, { promised: { ...event.state.promised, round: event.state.promised.round - 1 } }),
  },
  'reply-before-fsync': {
    shows: 'a vote is told to the leader in the moment in which it is written, before it is durable',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'HandleAccept' && (event.votes ?? []).length > 0,
    alter(event) {
      const votes = event.votes ?? [];
      const firstSlot = votes[0]?.[0] ?? (0 as Slot);
      const lastSlot = votes.at(-1)?.[0] ?? firstSlot;
      const { ballot } = event.state;
      const accepted = {
        kind: 'Accepted',
        ballot,
        commitPoint: event.state.commitPoint,
        firstSlot,
        lastSlot,
      } as const;
      return { ...event, sent: [{ to: ballot.replica, message: accepted }] };
    },
  },
  'serve-early': {
    shows: 'a new leader serves before it has committed what it found',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'BecomeLeader',
    alter: (event) => withState(event, { serving: true }),
  },
  'drop-fsync': {
    shows: 'a flush of votes never happened, yet others count them',
    stopsAt: 'later',
    applies: (event) =>
      event.name === 'Fsync' && event.state.role === 'follower' && (event.sent ?? []).length > 0,
    alter: () => null,
  },
  'drop-propose': {
    shows: 'entries that nobody proposed are voted for',
    stopsAt: 'later',
    applies: (event) => event.name === 'Propose',
    alter: () => null,
  },
  'forgets-vote': {
    shows: 'a restart forgets a vote that was durable, and says that there was nothing',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Restart' && votesAboveCommitPoint(event).length > 0,
    alter(event) {
      const votes = (event.votes ?? []).slice(0, -1);
      const lastSlot = Math.max(event.state.commitPoint, votes.at(-1)?.[0] ?? 0) as Slot;
      return { ...withState(event, { lastSlot }), votes };
    },
  },
  'forgets-vote-in-between': {
    shows: 'a restart forgets a durable vote below another',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Restart' && votesAboveCommitPoint(event).length > 1,
    alter: (event) => ({
      ...event,
      votes: (event.votes ?? []).filter(
        (_, i, votes) => i !== votes.length - votesAboveCommitPoint(event).length,
      ),
    }),
  },
  'forgets-promise': {
    shows: 'a restart forgets a promise that was durable',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Restart' && event.state.promised.round > 1,
    alter(event) {
      const promised = { ...event.state.promised, round: event.state.promised.round - 1 };
      return withState(event, { promised, ballot: promised, durablePromised: promised });
    },
  },
  'votes-untold': {
    shows: 'votes are durable, and nobody is told',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Fsync' && sends(event, 'Accepted'),
    alter: untold,
  },
  'promise-untold': {
    shows: 'a promise is durable, and nobody is told',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Fsync' && sends(event, 'Promise'),
    alter: untold,
  },
  'questions-unasked': {
    shows: 'a candidate asks nobody',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Fsync' && sends(event, 'Prepare'),
    alter: untold,
  },
  'proposal-unsent': {
    shows: 'a leader proposes to nobody',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Propose' && sends(event, 'Accept'),
    alter: untold,
  },
  'vote-told-to-another': {
    shows: 'a vote is told to somebody who did not ask for it',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Fsync' && sends(event, 'Accepted'),
    alter: (event) =>
      alterSent(event, 'Accepted', ({ to, message }) => ({ to: stranger(event.replica, to), message })),
  },
  'commit-point-told-early': {
    shows: 'a leader tells a commit point that it has not reached',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Propose' && sends(event, 'Accept'),
    alter: (event) =>
      alterSent(event, 'Accept', ({ to, message }) => ({
        to,
        message: { ...message, commitPoint: ((message.commitPoint ?? 0) + 1) as Slot },
      })),
  },
  'follower-tells-more': {
    shows: 'a follower tells a commit point that it has not reached',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Fsync' && sends(event, 'Accepted'),
    alter: (event) =>
      alterSent(event, 'Accepted', ({ to, message }) => ({
        to,
        message: { ...message, commitPoint: (event.state.commitPoint + 1) as Slot },
      })),
  },
  'wrong-candidate': {
    shows: "a replica's ballot comes from somebody else",
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'HandlePrepare' && event.from !== undefined,
    alter: (event) => ({ ...event, from: stranger(event.replica, event.from ?? event.replica) }),
  },
  'wrong-leader': {
    shows: "entries of a leader's ballot come from somebody else",
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'HandleAccept' && event.from !== undefined,
    alter: (event) => ({ ...event, from: stranger(event.replica, event.from ?? event.replica) }),
  },
  'wrong-voter': {
    shows: 'a vote is counted for somebody who did not cast it',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'HandleAccepted',
    alter: (event) => ({ ...event, from: event.replica }),
  },
  'other-ballot': {
    shows: 'a replica takes part in another ballot than the one that it promised last',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'HandleAccepted',
    alter: (event) =>
      withState(event, { ballot: { ...event.state.ballot, round: event.state.ballot.round + 1 } }),
  },
  'disk-keeps-more': {
    shows: 'after a crash there is a slot on the disk that nobody wrote',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Crash',
    alter: (event) => withState(event, { lastSlot: (event.state.lastSlot + 1) as Slot }),
  },
  'configuration-unnoticed': {
    shows: 'a replica goes on with the configuration before the one that it has come to know',
    stopsAt: 'sameEvent',
    applies: (event) => event.name !== 'Restart' && (event.configurations ?? []).some(({ slot }) => slot > 0),
    alter: (event) => withState(event, { configuration: event.state.configuration - 1 }),
  },
  'other-voters': {
    shows: 'two replicas understand one version differently',
    stopsAt: 'later',
    applies: (event) =>
      (event.configurations ?? []).some(({ slot, voters }) => slot > 0 && voters.length > 1),
    alter: withoutFirstVoters,
  },
  'other-voters-proposed': {
    shows: 'a change is voted for that has other voters than the one that was proposed',
    stopsAt: 'later',
    applies: (event) =>
      event.name === 'HandleAccept' && (event.configurations ?? []).some(({ label }) => label !== undefined),
    alter: withoutFirstVoters,
  },
  'drop-reconfigure': {
    shows: 'a configuration that nobody proposed is voted for',
    stopsAt: 'later',
    applies: (event) => event.name === 'Reconfigure',
    alter: () => null,
  },
  'restored-too-far': {
    shows: 'a database is taken to hold a slot more than is known to be chosen',
    stopsAt: 'sameEvent',
    applies: (event) => event.name === 'Restored',
    alter: (event) => withState(event, { commitPoint: (event.state.commitPoint + 1000) as Slot }),
  },
} as const satisfies Record<string, Mutant>;

export type MutantKind = keyof typeof mutants;

export function isMutantKind(kind: string): kind is MutantKind {
  return Object.hasOwn(mutants, kind);
}
