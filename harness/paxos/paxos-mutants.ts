/**
 * Bugs planted in the core of single-decree Paxos, from outside: in what it recovers, hears, is configured with, or does. Each must be found by the simulation
 * (paxos-simulation.test.ts), by the rule that it breaks.
 */
import { ballotNone, compareBallots } from '../../server/src/multipaxos/ballot.ts';
import type { ReplicaId } from '../../server/src/multipaxos/types/names.ts';
import type { LogRecord, RecoveredLog } from '../../server/src/multipaxos/types/records.ts';
import type { PaxosState } from '../../server/src/paxos/state.ts';
import type { PaxosConfig, PaxosEffect, PaxosInput } from '../../server/src/paxos/types/effects.ts';
import type { PaxosMessage } from '../../server/src/paxos/types/messages.ts';

export interface PaxosMutant {
  readonly name: string;
  /** Any of the rules that it may break first. */
  readonly breaks: readonly string[];
  readonly config?: Partial<PaxosConfig>;
  /** The host says that records are durable before they are. */
  readonly persistsAtOnce?: boolean;
  recovers?(recovered: RecoveredLog): RecoveredLog;
  begins?(state: PaxosState): void;
  hears?(state: PaxosState, input: PaxosInput): PaxosInput;
  does?(state: PaxosState, effects: readonly PaxosEffect[]): readonly PaxosEffect[];
}

type Heard<Kind extends PaxosMessage['kind']> = Extract<PaxosMessage, { kind: Kind }>;

/** Looks at, or alters, each message of one kind before the core does. */
function hearing<Kind extends PaxosMessage['kind']>(
  kind: Kind,
  alter: (state: PaxosState, message: Heard<Kind>) => PaxosMessage,
): NonNullable<PaxosMutant['hears']> {
  return (state, input) =>
    input.kind === 'Receive' && input.message.kind === kind
      ? { ...input, message: alter(state, input.message as Heard<Kind>) }
      : input;
}

function writing(alter: (records: readonly LogRecord[], state: PaxosState) => readonly LogRecord[]) {
  return (state: PaxosState, effects: readonly PaxosEffect[]): readonly PaxosEffect[] =>
    effects.map((effect) =>
      effect.kind === 'persist' ? { ...effect, records: alter(effect.records, state) } : effect,
    );
}

const wrong = ['Agreement', 'TellsWhatIsChosen', 'OneValuePerBallot', 'ChosenOnce', 'Invariant'];

export const paxosMutants: readonly PaxosMutant[] = [
  {
    name: 'promises and votes are told before they are durable',
    breaks: ['DurableBeforeRevealed'],
    persistsAtOnce: true,
  },
  {
    name: 'promises are forgotten at a restart',
    breaks: [...wrong, 'DurableBeforeRevealed'],
    recovers: (recovered) => ({ ...recovered, slotPromises: [] }),
  },
  {
    name: 'votes are forgotten at a restart',
    breaks: [...wrong, 'DurableBeforeRevealed'],
    recovers: (recovered) => ({ ...recovered, tail: recovered.tail.filter(({ ballot }) => ballot === null) }),
  },
  {
    name: 'an acceptor votes below its promise',
    breaks: wrong,
    hears: hearing('SlotAccept', (state, message) => {
      const held = state.slots.get(message.slot);
      if (held !== undefined && !held.decided && held.open === null) {
        held.promised = ballotNone;
        held.ballot = null;
      }
      return message;
    }),
  },
  {
    name: 'a proposer proposes its own in spite of votes',
    breaks: wrong,
    hears: hearing('SlotPromise', (_, message) => ({ ...message, vote: null })),
  },
  {
    name: 'a proposer takes the lowest vote',
    breaks: wrong,
    hears: hearing('SlotPromise', (state, message) => {
      const promises = state.slots.get(message.slot)?.open?.promises ?? new Map();
      for (const [from, vote] of promises) {
        if (vote === null || message.vote === null) continue;
        if (compareBallots(message.vote.ballot, vote.ballot) > 0) return { ...message, vote: null };
        promises.set(from, null);
      }
      return message;
    }),
  },
  {
    name: 'one replica is a quorum',
    breaks: wrong,
    begins: (state) => Object.assign(state, { config: { ...state.config, members: [state.config.id] } }),
  },
  {
    name: 'a slot is decided before a majority has voted',
    breaks: wrong,
    hears: hearing('SlotAccepted', (state, message) => {
      for (const ghost of ['ghost', 'another'])
        state.slots.get(message.slot)?.open?.votes.add(ghost as ReplicaId);
      return message;
    }),
  },
  {
    name: 'any vote is taken for what is chosen',
    breaks: wrong,
    hears: hearing('Learn', (state, message) => ({
      ...message,
      ballot: state.slots.get(message.slot)?.ballot ?? message.ballot,
    })),
  },
  {
    name: 'what a replica has done itself it forgets',
    breaks: ['PurgeLeavesNobody'],
    hears(state, input) {
      if (input.kind === 'Tick') for (const peer of state.peers) state.known.set(peer, state.done);
      return input;
    },
  },
  {
    name: 'a proposal moves when it is rejected',
    breaks: ['ChosenOnce', 'Invariant'],
    hears: hearing('SlotReject', (state, message) => {
      const held = state.slots.get(message.slot);
      if (held?.own == null) return message;
      state.waiting.push(held.own);
      held.own.losses = 2;
      held.own = null;
      return message;
    }),
  },
  {
    name: 'its own promise is not written',
    breaks: ['OneValuePerBallot', 'Agreement', 'Invariant', 'TellsWhatIsChosen'],
    does: writing((records, { config }) =>
      records.filter((record) => record.kind !== 'slotPromise' || record.ballot.replica !== config.id),
    ),
  },
  {
    name: 'the commit point is written ahead',
    breaks: [...wrong, 'Progress'],
    does: writing((records) =>
      records.map((record) =>
        record.kind === 'commitPoint' ? { ...record, slot: (record.slot + 1) as typeof record.slot } : record,
      ),
    ),
  },
  {
    name: 'what is learnt is not written',
    breaks: [...wrong, 'Progress', 'InOrder'],
    does: writing((records) => records.filter(({ kind }) => kind !== 'chosen')),
  },
  { name: 'nothing is sent again', breaks: ['Progress'], config: { retransmitMs: 1e9 } },
  { name: 'holes are not filled', breaks: ['Progress'], config: { holeMs: 1e9 } },
  {
    name: 'nobody asks for what it has missed',
    breaks: ['Progress'],
    does: (_, effects) =>
      effects.filter(
        ({ kind, ...effect }) => kind !== 'send' || !isRequest(effect as { message: PaxosMessage }),
      ),
  },
  {
    name: 'a proposal that lost its slot is given up',
    breaks: ['Progress'],
    hears: hearing('Learn', (state, message) => {
      const held = state.slots.get(message.slot);
      if (held?.own == null || held.label === held.own.label) return message;
      state.under.delete(held.own.label);
      held.own = null;
      return message;
    }),
  },
  {
    name: 'done is told ahead of what is durable',
    breaks: ['PurgeLeavesNobody'],
    hears: (_, input) => (input.kind === 'Applied' ? { ...input, durableSlot: input.slot } : input),
  },
];

function isRequest({ message }: { readonly message: PaxosMessage }): boolean {
  return message.kind === 'LearnRequest';
}
