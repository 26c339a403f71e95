/**
 * Tells people who watch what passes between replicas where Multi-Paxos is not the protocol: one event for all that is sent and heard in one turn.
 *
 * Responsible for: which fields of a message are shown. Costs nothing while nobody watches. Nothing rests on it: what holds a run to its specification is the core's own trace.
 */
import type { PassedMessage } from '../../api/events.ts';
import { ballotNone } from '../../multipaxos/ballot.ts';
import { replicaOf } from '../../multipaxos/configuration.ts';
import type { ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { PaxosMessage } from '../../paxos/types/messages.ts';
import type { ReplicaEvents } from '../status/events.ts';
import type { PrimaryMessage } from './primary-codec.ts';

type Shown = Omit<PassedMessage, 'peer'>;

/** In one event. */
const messagesMax = 256;

export class PassedMessages<Message> {
  private readonly events: ReplicaEvents;
  private readonly shown: (message: Message) => Shown;
  private heardNow: PassedMessage[] = [];
  private sentNow: PassedMessage[] = [];
  /** When the first of them was noted: what is sent in a turn may arrive before the turn is over. */
  private sinceUs = 0;

  constructor(events: ReplicaEvents, shown: (message: Message) => Shown) {
    this.events = events;
    this.shown = shown;
  }

  heard(from: ReplicaId, message: Message): void {
    if (this.events.isWatched) this.note(this.heardNow, from, message);
  }

  sent(to: ReplicaId, message: Message): void {
    if (this.events.isWatched) this.note(this.sentNow, to, message);
  }

  private note(list: PassedMessage[], peer: ReplicaId, message: Message): void {
    const isFirst = this.heardNow.length + this.sentNow.length === 0;
    if (isFirst) this.sinceUs = this.events.nowUs();
    list.push({ peer: replicaOf(peer), ...this.shown(message) });
    if (list.length === messagesMax) this.tell();
    else if (isFirst) queueMicrotask(() => this.tell());
  }

  private tell(): void {
    const { heardNow: heard, sentNow: sent } = this;
    if (heard.length + sent.length === 0) return;
    this.heardNow = [];
    this.sentNow = [];
    this.events.operation({ name: 'MessagesPassed', heard, sent }, this.sinceUs);
  }
}

export function shownOfPaxos(message: PaxosMessage): Shown {
  const { kind } = message;
  switch (kind) {
    case 'SlotPrepare':
    case 'SlotPromise':
    case 'SlotAccept':
    case 'SlotAccepted':
    case 'Learn':
      return { kind, ballot: message.ballot, firstSlot: message.slot };
    case 'SlotReject':
      return { kind, ballot: message.ballot, firstSlot: message.slot, promised: message.promised };
    case 'LearnRequest':
      return { kind, ballot: ballotNone, firstSlot: message.fromSlot, lastSlot: message.toSlot };
    case 'LearnReply':
      return { kind, ballot: ballotNone, ...slotsFrom(message.firstSlot, message.entries.length) };
    case 'Status':
      return { kind, ballot: ballotNone, commitPoint: message.commitPoint };
    default:
      return message satisfies never;
  }
}

/** The ballot is the epoch. */
export function shownOfPrimary(message: PrimaryMessage): Shown {
  const { kind, epoch: ballot } = message;
  switch (kind) {
    case 'AskWord':
      return { kind, ballot, firstSlot: message.lastSlot };
    case 'Word':
      return { kind, ballot };
    case 'Refuse':
      return { kind, ballot, promised: message.promised };
    case 'Operations':
      return {
        kind,
        ballot,
        commitPoint: message.settled,
        ...slotsFrom((message.prevSlot + 1) as Slot, message.entries.length),
      };
    case 'Received':
      return { kind, ballot, firstSlot: message.received };
    case 'Told': {
      const slots = [...message.acknowledged, ...message.unacknowledged];
      const [any] = slots;
      if (any === undefined) return { kind, ballot };
      // They need not be one behind the other, and may be more than a call can be given.
      const firstSlot = slots.reduce((least, slot) => (slot < least ? slot : least), any);
      const lastSlot = slots.reduce((most, slot) => (slot > most ? slot : most), any);
      return { kind, ballot, firstSlot, lastSlot };
    }
    default:
      return message satisfies never;
  }
}

/** None: the message is about no slot. */
function slotsFrom(firstSlot: Slot, count: number): Pick<PassedMessage, 'firstSlot' | 'lastSlot'> {
  return count === 0 ? {} : { firstSlot, lastSlot: (firstSlot + count - 1) as Slot };
}
