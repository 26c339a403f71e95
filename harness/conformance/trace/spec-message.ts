/**
 * The messages of specs/MultiPaxos.tla, and which of them are in a message of the code.
 *
 * Responsible for: their shapes and names (equal names, equal messages), and the mapping. A message of many slots is many of the spec's.
 */
import type { Ballot, EntryLabel, ReplicaId } from '../../../server/src/multipaxos/types/names.ts';
import type { TraceMessage } from '../../../server/src/multipaxos/types/trace.ts';

/** `ballot` null: learnt as chosen. */
export interface Held {
  readonly ballot: Ballot | null;
  readonly label: EntryLabel;
}

export interface HeldVote extends Held {
  readonly slot: number;
}

/** A configuration that is known to be chosen. Its version names it. */
export interface SpecConfiguration {
  readonly version: number;
  readonly slot: number;
  readonly voters: readonly ReplicaId[];
}

/**
 * What a leader settles with its message, and does not depend on who takes it: who decides the slot of an Accept, and the configuration that it knows when
 * it tells a commit point. Not part of a message's name; null where only a name is wanted.
 */
export type SpecMessage =
  | { readonly type: 'Prepare'; readonly ballot: Ballot; readonly commitPoint: number }
  | {
      readonly type: 'Promise';
      readonly from: ReplicaId;
      readonly ballot: Ballot;
      readonly commitPoint: number;
      /** Its version. */
      readonly configuration: number;
      readonly votes: readonly HeldVote[];
    }
  | {
      readonly type: 'Accept';
      readonly ballot: Ballot;
      readonly slot: number;
      readonly label: EntryLabel;
      readonly voters: readonly ReplicaId[] | null;
    }
  | { readonly type: 'Accepted'; readonly from: ReplicaId; readonly ballot: Ballot; readonly slot: number }
  | {
      readonly type: 'Heartbeat';
      readonly ballot: Ballot;
      readonly commitPoint: number;
      readonly configuration: SpecConfiguration | null;
    }
  | { readonly type: 'CatchUpReply'; readonly slot: number; readonly label: EntryLabel };

export const noBallot: Ballot = { round: 0, replica: '' as ReplicaId };

export function ballotName({ round, replica }: Ballot): string {
  return `${round}.${replica}`;
}

export function messageName(message: SpecMessage): string {
  switch (message.type) {
    case 'Prepare':
    case 'Heartbeat':
      return `${message.type} ${ballotName(message.ballot)} ${message.commitPoint}`;
    case 'Promise': {
      const votes = message.votes.map(
        ({ slot, ballot, label }) => `${slot}:${ballotName(ballot ?? noBallot)}:${label}`,
      );
      const { from, ballot, commitPoint, configuration } = message;
      return `Promise ${from} ${ballotName(ballot)} ${commitPoint} ${configuration} ${votes.join(' ')}`;
    }
    case 'Accept':
      return `Accept ${ballotName(message.ballot)} ${message.slot} ${message.label}`;
    case 'Accepted':
      return `Accepted ${message.from} ${ballotName(message.ballot)} ${message.slot}`;
    case 'CatchUpReply':
      return `CatchUpReply ${message.slot} ${message.label}`;
    default:
      return message satisfies never;
  }
}

/** The spec's messages in one message of the code. */
export function specMessages(from: ReplicaId, message: TraceMessage): SpecMessage[] {
  const { ballot, commitPoint = 0, firstSlot = 0, lastSlot = 0, labels = [], votes = [] } = message;
  // The others are not in the spec.
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check
  switch (message.kind) {
    case 'Prepare':
      return [{ type: 'Prepare', ballot, commitPoint }];
    case 'Promise':
      return [
        {
          type: 'Promise',
          from,
          ballot,
          commitPoint,
          configuration: message.configuration ?? 1,
          votes: votes.map(([slot, b, label]) => ({ slot, ballot: b, label })),
        },
      ];
    case 'Accept':
      return [
        ...labels.map(
          (label, i): SpecMessage => ({
            type: 'Accept',
            ballot,
            slot: firstSlot + i,
            label,
            voters: null,
          }),
        ),
        { type: 'Heartbeat', ballot, commitPoint, configuration: null },
      ];
    case 'Accepted':
      return Array.from({ length: Math.max(0, lastSlot - firstSlot + 1) }, (_, i) => ({
        type: 'Accepted',
        from,
        ballot,
        slot: firstSlot + i,
      }));
    case 'Heartbeat':
      return [{ type: 'Heartbeat', ballot, commitPoint, configuration: null }];
    case 'CatchUpReply':
      return labels.map((label, i) => ({ type: 'CatchUpReply', slot: firstSlot + i, label }));
    default:
      return [];
  }
}
