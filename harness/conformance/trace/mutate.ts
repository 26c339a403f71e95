/**
 * Alters one event of a recorded trace, as a defect of the server or a forger would, to show that the check notices.
 *
 * Responsible for: the mutants, each with where the check must stop. Event numbers are closed up again, so that a gap gives nothing away.
 */
import type { TraceEvent } from '../../../server/src/api/events.ts';
import type { Slot } from '../../../server/src/multipaxos/types/names.ts';
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

export const mutants = {
  ballot: {
    shows: 'an Accept of a ballot in which nobody proposed is voted for',
    stopsAt: 'sameEvent',
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
  'configuration-unnoticed': {
    shows: 'a replica goes on with the configuration before the one that it has come to know',
    stopsAt: 'sameEvent',
    applies: (event) => event.name !== 'Restart' && (event.configurations ?? []).some(({ slot }) => slot > 0),
    alter: (event) => withState(event, { configuration: event.state.configuration - 1 }),
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

export interface Mutated {
  readonly events: TraceEvent[];
  readonly original: ConsensusEvent;
}

/** Alters the middle one of the events that the mutant applies to. @throws Error if there is none */
export function mutate(events: readonly TraceEvent[], kind: MutantKind): Mutated {
  const mutant: Mutant = mutants[kind];
  const candidates = events.filter((event) => event.layer === 'consensus' && mutant.applies(event));
  const original = candidates[Math.floor(candidates.length / 2)];
  if (original?.layer !== 'consensus') throw new Error(`the trace has no event to alter for ${kind}`);
  const altered = mutant.alter(original);
  const result = events.flatMap((event): TraceEvent[] => {
    if (event === original) return altered === null ? [] : [altered];
    const isBehind =
      event.replica === original.replica && event.run === original.run && event.seq > original.seq;
    return [altered === null && isBehind ? { ...event, seq: event.seq - 1 } : event];
  });
  return { events: result, original };
}

/** Exchanges an event with the one before it in its run: the order in which one replica did things. */
export function swapWithPrevious(events: readonly TraceEvent[], target: TraceEvent): TraceEvent[] {
  return events.map((event) => {
    if (event.replica !== target.replica || event.run !== target.run) return event;
    if (event.seq === target.seq) return { ...event, seq: target.seq - 1 };
    return event.seq === target.seq - 1 ? { ...event, seq: target.seq } : event;
  });
}
