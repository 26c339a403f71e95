/**
 * What a leader does not believe.
 *
 * Responsible for: refusing, on the way in, what a member cannot know. While a leader serves and holds its lease nobody else can have chosen anything: a
 * quorum promises no higher ballot, and whatever was chosen in a lower one it found in phase 1. So nothing is chosen above what it has proposed, and a
 * member that says so holds what was never chosen here: the database of another group, or a log from elsewhere. It is told by name, once, and not
 * heard or counted as long as this leadership lasts, even when the slots that it spoke of have been proposed since.
 *
 * Does not doubt a higher ballot: whoever leads in one has deposed this leader, or is turned away like any other. Without the lease a member may have learnt from
 * a newer leader's followers what this leader has not heard of: it is believed. Not in the spec, where no member says what it cannot know.
 */
import { compareBallots } from './ballot.ts';
import { leaseHeld } from './lease.ts';
import type { Run } from './run.ts';
import type { Message } from './types/messages.ts';
import type { ReplicaId, Slot } from './types/names.ts';

/** False: the message must be dropped. */
export function believes(run: Run, from: ReplicaId, message: Message): boolean {
  const { state } = run;
  const { leadership } = state;
  if (leadership === null || compareBallots(message.ballot, leadership.ballot) > 0) return true;
  if (leadership.disbelieved.has(from)) return false;
  const lastSlot = (leadership.nextSlot - 1) as Slot;
  const claimed = claimedSlot(message);
  if (claimed <= lastSlot || !state.roster.bits.has(from) || !leaseHeld(state, state.nowMs)) return true;
  leadership.disbelieved.add(from);
  run.effects.push({ kind: 'disbelieved', member: from, claimed, lastSlot });
  return false;
}

/** Everything at or below is chosen, if the message is true. Makes no objects: this is asked of every message to a leader. */
function claimedSlot(message: Message): Slot {
  switch (message.kind) {
    case 'Accepted':
    case 'Prepare':
    case 'Accept':
      return message.commitPoint;
    case 'HeartbeatAck':
      return higher(message.commitPoint, message.durableApplicationPointer);
    case 'Promise':
    case 'Heartbeat':
      return higher(message.commitPoint, message.configuration.slot);
    case 'CatchUpRequest':
      return (message.fromSlot - 1) as Slot;
    case 'CatchUpReply':
      return higher(higher(message.commitPoint, message.purgedTo), message.configuration.slot);
    case 'PreVoteReply':
      return message.configuration.slot;
    case 'PreVote':
    case 'Reject':
    case 'Resigned':
      return 0 as Slot;
    default:
      return message satisfies never;
  }
}

function higher(one: Slot, other: Slot): Slot {
  return one > other ? one : other;
}
