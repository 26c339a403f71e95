/** What is known of a message that flies, whichever protocol it is of; which of a few kinds it is to a reader; and whether one is another, or a part of it. Pure. */
import type { PassedMessage } from '../../../server/src/api/events.ts';
import type { Slot } from '../../../server/src/multipaxos/types/names.ts';
import type { TraceMessage } from '../../../server/src/multipaxos/types/trace.ts';

export type FlownMessage =
  | TraceMessage
  | (Omit<PassedMessage, 'peer'> & Partial<Pick<TraceMessage, 'labels'>>);

export type FlightKind =
  | 'prepare'
  | 'promise'
  | 'accept'
  | 'accepted'
  | 'heartbeat'
  | 'acknowledgement'
  | 'catchUp'
  | 'reject';

const kinds: Readonly<Record<FlownMessage['kind'], FlightKind>> = {
  PreVote: 'prepare',
  PreVoteReply: 'promise',
  Prepare: 'prepare',
  Promise: 'promise',
  Accept: 'accept',
  Accepted: 'accepted',
  Heartbeat: 'heartbeat',
  HeartbeatAck: 'acknowledgement',
  Resigned: 'reject',
  Reject: 'reject',
  CatchUpRequest: 'catchUp',
  CatchUpReply: 'catchUp',
  SlotPrepare: 'prepare',
  SlotPromise: 'promise',
  SlotAccept: 'accept',
  SlotAccepted: 'accepted',
  SlotReject: 'reject',
  Learn: 'heartbeat',
  LearnRequest: 'catchUp',
  LearnReply: 'catchUp',
  Status: 'heartbeat',
  AskWord: 'prepare',
  Word: 'promise',
  Refuse: 'reject',
  Operations: 'accept',
  Received: 'accepted',
  Told: 'heartbeat',
};

/** Operations without any are a sign of life. */
export function kindOf(message: FlownMessage): FlightKind {
  return message.kind === 'Operations' && message.firstSlot === undefined ? 'heartbeat' : kinds[message.kind];
}

/** 0 of what is about none. */
export function slotsOf({ firstSlot = 0 as Slot, lastSlot, labels }: FlownMessage): {
  readonly from: number;
  readonly to: number;
} {
  return { from: firstSlot, to: lastSlot ?? firstSlot + Math.max(0, (labels?.length ?? 1) - 1) };
}

/** Whether all of the other one is in it. */
export function carries(one: FlownMessage, other: FlownMessage): boolean {
  const [all, part] = [slotsOf(one), slotsOf(other)];
  return (
    one.kind === other.kind &&
    one.ballot.round === other.ballot.round &&
    one.ballot.replica === other.ballot.replica &&
    all.from <= part.from &&
    part.to <= all.to
  );
}
