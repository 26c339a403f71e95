/**
 * A state of ReplayMultiPaxos in the words of the code: replicas, ballots, slots and labels instead of TLA+ values.
 *
 * Responsible for: the mapping from the spec's values. Pure.
 */
import type { Entry, Vote } from '../../../server/src/multipaxos/types/entries.ts';
import type { Message } from '../../../server/src/multipaxos/types/messages.ts';
import type {
  Ballot,
  EntryLabel,
  GroupId,
  ReplicaId,
  Role,
  Slot,
} from '../../../server/src/multipaxos/types/names.ts';
import { votersOf } from '../../../server/src/multipaxos/configuration.ts';
import { entryLabel } from '../../../server/src/multipaxos/entry.ts';
import type { Configuration } from '../../../server/src/multipaxos/types/members.ts';
import {
  noBallot,
  specMessages,
  type Held,
  type SpecConfiguration,
  type SpecMessage,
} from '../trace/spec-message.ts';
import { membersOf, nameOfNumber } from './replay-members.ts';
import type { TlaState, TlaValue } from './tla-value.ts';

export const replayGroup = 'replay' as GroupId;

export interface SpecAction {
  readonly name: string;
  readonly params: Readonly<Record<string, TlaValue>>;
  readonly replica: ReplicaId;
}

/** What is compared between the spec and the core. */
export interface ReplicaView {
  readonly role: Role | 'down';
  readonly promised: Ballot;
  readonly durablePromised: Ballot;
  readonly commitPoint: number;
  readonly serving: boolean;
  /** By slot. */
  readonly log: Readonly<Record<number, Held>>;
  readonly durableLog: Readonly<Record<number, Held>>;
  /** Records that were appended and are not durable. */
  readonly buffered: number;
  /** The newest configuration that it knows to be chosen. */
  readonly configuration: SpecConfiguration;
  /** Leader: the slot of its own first entry, what it found and may not propose yet (`slot label`), and how many commands it takes. */
  readonly startSlot: number;
  readonly backlog: readonly string[];
  readonly room: number;
  /** Candidate: whose promises count, without its own. Leader: [slot, voter], without its own votes. */
  readonly counted: readonly string[];
}

export const asRecord = (value: TlaValue | undefined): Readonly<Record<string, TlaValue>> => {
  if (typeof value === 'object' && 'record' in value) return value.record;
  throw new TypeError(`not a record: ${JSON.stringify(value)}`);
};
export const asSequence = (value: TlaValue | undefined): readonly TlaValue[] => {
  if (Array.isArray(value)) return value as readonly TlaValue[];
  throw new TypeError(`not a sequence: ${JSON.stringify(value)}`);
};
export const asSet = (value: TlaValue | undefined): readonly TlaValue[] => {
  if (typeof value === 'object' && 'set' in value) return value.set;
  throw new TypeError(`not a set: ${JSON.stringify(value)}`);
};
export const asNumber = (value: TlaValue | undefined): number => {
  if (typeof value === 'number') return value;
  throw new TypeError(`not a number: ${JSON.stringify(value)}`);
};
export const asText = (value: TlaValue | undefined): string => {
  if (typeof value === 'string') return value;
  throw new TypeError(`not a string: ${JSON.stringify(value)}`);
};

export function replicaName(number: TlaValue | undefined): ReplicaId {
  return nameOfNumber(asNumber(number));
}

export function ballotOf(value: TlaValue | undefined): Ballot {
  const [round, owner] = asSequence(value);
  return asNumber(round) === 0 ? noBallot : { round: asNumber(round), replica: replicaName(owner) };
}

export function entryOf(value: TlaValue | undefined): Entry | null {
  const { kind, ballot, id, voters } = asRecord(value);
  if (kind === 'nothing') return null;
  if (kind === 'noop') return { kind: 'noop', group: replayGroup };
  if (kind === 'leaderStart') return { kind: 'leaderStart', group: replayGroup, ballot: ballotOf(ballot) };
  if (kind === 'configuration') {
    const members = membersOf(asSet(voters).map(asNumber));
    return { kind, group: replayGroup, ballot: ballotOf(ballot), version: asNumber(id), members };
  }
  const { round, replica } = ballotOf(ballot);
  const proposal = { client: `${round}.${replica}`, request: asNumber(id) };
  return { kind: 'command', group: replayGroup, proposal, payload: new Uint8Array([asNumber(id)]) };
}

export function configurationOf(value: TlaValue | undefined): Configuration {
  const { version, slot, voters } = asRecord(value);
  const members = membersOf(asSet(voters).map(asNumber));
  return { version: asNumber(version), slot: asNumber(slot) as Slot, members };
}

/** As it is compared: by its voters, in order. */
export function specConfiguration(configuration: Configuration): SpecConfiguration {
  const { version, slot } = configuration;
  return { version, slot, voters: votersOf(configuration).sort() };
}

function heldOf(value: TlaValue): Held | null {
  const { ballot, entry } = asRecord(value);
  const content = entryOf(entry);
  if (content === null) return null;
  const voted = ballotOf(ballot);
  return { ballot: voted.round === 0 ? null : voted, label: entryLabel(content) };
}

function logOf(value: TlaValue | undefined): Record<number, Held> {
  const log: Record<number, Held> = {};
  for (const [i, item] of asSequence(value).entries()) {
    const held = heldOf(item);
    if (held !== null) log[i + 1] = held;
  }
  return log;
}

export function actionOf(state: TlaState): SpecAction {
  const { name, params } = asRecord(state.act);
  const fields = asRecord(params);
  if (typeof name !== 'string') throw new TypeError('an action without a name');
  const replica = replicaName(fields.replica);
  return {
    name,
    params: name === 'Restored' ? { ...fields, ...restoredEntries(state, fields) } : fields,
    replica,
  };
}

/** What a copy holds the parameters do not say: it is what the log of its replica says now. */
function restoredEntries(
  state: TlaState,
  { replica, commitPoint }: SpecAction['params'],
): SpecAction['params'] {
  const log = asSequence(asSequence(state.log)[asNumber(replica) - 1]);
  return { firstSlot: 1, entries: log.slice(0, asNumber(commitPoint)).map((item) => asRecord(item).entry!) };
}

export function replicaView(state: TlaState, number: number): ReplicaView {
  const of = (variable: string): TlaValue | undefined => asSequence(state[variable])[number - 1];
  const durable = asRecord(of('durable'));
  const promises = asSet(of('promises')).map((message) => replicaName(asRecord(message).from));
  const acks = asSequence(of('acks')).flatMap((voters, i) =>
    asSet(voters).map((voter) => `${i + 1} ${replicaName(voter)}`),
  );
  return {
    role: of('role') as ReplicaView['role'],
    promised: ballotOf(of('promised')),
    durablePromised: ballotOf(durable.promised),
    commitPoint: asNumber(of('commitPoint')),
    serving: of('serving') === true,
    log: logOf(of('log')),
    durableLog: logOf(durable.log),
    buffered: asSequence(of('buffer')).length,
    configuration: specConfiguration(configurationOf(of('config'))),
    startSlot: asNumber(of('startSlot')),
    backlog: asSequence(of('backlog')).map((item) => {
      const { slot, entry } = asRecord(item);
      return `${asNumber(slot)} ${entryLabel(entryOf(entry) as Entry)}`;
    }),
    room: asNumber(of('room')),
    counted: [...promises, ...acks].sort(),
  };
}

/** The spec's messages in what the core sends. */
export function specMessagesOf(from: ReplicaId, message: Message): SpecMessage[] {
  const labels = 'entries' in message ? message.entries.map(entryLabel) : [];
  const votes =
    'votes' in message
      ? message.votes.map(({ slot, ballot, entry }) => [slot, ballot, entryLabel(entry)] as const)
      : [];
  const version = 'configuration' in message ? { configuration: message.configuration.version } : {};
  const { kind, ballot } = message;
  const told = {
    ...('commitPoint' in message && { commitPoint: message.commitPoint }),
    ...('firstSlot' in message && { firstSlot: message.firstSlot }),
    ...('lastSlot' in message && { lastSlot: message.lastSlot }),
  };
  return specMessages(from, { kind, ballot, ...told, ...version, labels, votes });
}

export function messagesOf(state: TlaState): SpecMessage[] {
  return asSet(state.msgs).map((value) => messageOf(asRecord(value)));
}

function messageOf(fields: Readonly<Record<string, TlaValue>>): SpecMessage {
  const ballot = fields.ballot === undefined ? noBallot : ballotOf(fields.ballot);
  const label = (): EntryLabel => entryLabel(entryOf(fields.entry) ?? { kind: 'noop', group: replayGroup });
  const type = typeof fields.type === 'string' ? fields.type : '';
  switch (type) {
    case 'Prepare':
      return { type, ballot, commitPoint: asNumber(fields.commitPoint) };
    case 'Heartbeat':
      return { type, ballot, commitPoint: asNumber(fields.commitPoint), configuration: null };
    case 'Promise':
      return {
        type: 'Promise',
        from: replicaName(fields.from),
        ballot,
        commitPoint: asNumber(fields.commitPoint),
        configuration: asNumber(asRecord(fields.configuration).version),
        votes: votesOf(fields.votes).map(({ slot, ballot: voted, entry }) => ({
          slot,
          ballot: voted,
          label: entryLabel(entry),
        })),
      };
    case 'Accept':
      return { type: 'Accept', ballot, slot: asNumber(fields.slot), label: label(), voters: null };
    case 'Accepted':
      return { type: 'Accepted', from: replicaName(fields.from), ballot, slot: asNumber(fields.slot) };
    default:
      return { type: 'CatchUpReply', slot: asNumber(fields.slot), label: label() };
  }
}

/** In slot order. */
export function votesOf(value: TlaValue | undefined): Vote[] {
  const votes = asSet(value).map((item) => {
    const { slot, ballot, entry } = asRecord(item);
    return { slot: asNumber(slot) as Slot, ballot: ballotOf(ballot), entry: entryOf(entry) as Entry };
  });
  return votes.sort((a, b) => a.slot - b.slot);
}
