/**
 * The messages of specs/MultiPaxos.tla, and which of them are in a message of the code.
 *
 * Responsible for: their shapes and names (equal names, equal messages), and the mapping. A message of many slots is many of the spec's.
 */
import type { Ballot, EntryLabel, ReplicaId, TraceMessage } from '../../../server/src/multipaxos/types.ts';

/** `ballot` null: learnt as chosen. */
export interface Held {
  readonly ballot: Ballot | null;
  readonly label: EntryLabel;
}

export interface HeldVote extends Held {
  readonly slot: number;
}

export type SpecMessage =
  | { readonly type: 'Prepare'; readonly ballot: Ballot; readonly commitPoint: number }
  | {
      readonly type: 'Promise';
      readonly from: ReplicaId;
      readonly ballot: Ballot;
      readonly commitPoint: number;
      readonly votes: readonly HeldVote[];
    }
  | { readonly type: 'Accept'; readonly ballot: Ballot; readonly slot: number; readonly label: EntryLabel }
  | { readonly type: 'Accepted'; readonly from: ReplicaId; readonly ballot: Ballot; readonly slot: number }
  | { readonly type: 'Heartbeat'; readonly ballot: Ballot; readonly commitPoint: number }
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
      return `Promise ${message.from} ${ballotName(message.ballot)} ${message.commitPoint} ${votes.join(' ')}`;
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
          votes: votes.map(([slot, b, label]) => ({ slot, ballot: b, label })),
        },
      ];
    case 'Accept':
      return [
        ...labels.map((label, i): SpecMessage => ({ type: 'Accept', ballot, slot: firstSlot + i, label })),
        { type: 'Heartbeat', ballot, commitPoint },
      ];
    case 'Accepted':
      return Array.from({ length: Math.max(0, lastSlot - firstSlot + 1) }, (_, i) => ({
        type: 'Accepted',
        from,
        ballot,
        slot: firstSlot + i,
      }));
    case 'Heartbeat':
      return [{ type: 'Heartbeat', ballot, commitPoint }];
    case 'CatchUpReply':
      return labels.map((label, i) => ({ type: 'CatchUpReply', slot: firstSlot + i, label }));
    default:
      return [];
  }
}
