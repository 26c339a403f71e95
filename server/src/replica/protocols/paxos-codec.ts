/**
 * Messages of single-decree Paxos as the bytes that a `Carried` message brings, and back.
 *
 * Responsible for: the form, and the check of every field, so that the core only ever sees well-formed messages. Does not judge what they mean. Payloads are views of the bytes, not copies.
 *
 *     form: u8, kind: u8, done: f64, and by kind: slots, ballots, entries (frames.ts)
 */
import type { GroupId } from '../../multipaxos/types/names.ts';
import type { PaxosMessage } from '../../paxos/types/messages.ts';
import { FrameError, Reader, Writer } from './frames.ts';

const form = 1;
const kinds = [
  'SlotPrepare',
  'SlotPromise',
  'SlotAccept',
  'SlotAccepted',
  'SlotReject',
  'Learn',
  'LearnRequest',
  'LearnReply',
  'Status',
] as const satisfies readonly PaxosMessage['kind'][];

export function encodePaxos(message: PaxosMessage): Uint8Array {
  const out = new Writer();
  out.byte(form);
  out.byte(kinds.indexOf(message.kind));
  out.number(message.done);
  if ('slot' in message) {
    out.number(message.slot);
    out.ballot(message.ballot);
  }
  switch (message.kind) {
    case 'SlotPromise':
      out.byte(message.vote === null ? 0 : 1);
      if (message.vote !== null) {
        out.ballot(message.vote.ballot);
        out.entry(message.vote.entry);
      }
      break;
    case 'SlotAccept':
      out.entry(message.entry);
      break;
    case 'SlotReject':
      out.ballot(message.promised);
      break;
    case 'LearnRequest':
      out.number(message.fromSlot);
      out.number(message.toSlot);
      break;
    case 'LearnReply':
      out.number(message.firstSlot);
      out.number(message.purgedTo);
      out.number(message.entries.length);
      for (const entry of message.entries) out.entry(entry);
      break;
    case 'Status':
      out.number(message.commitPoint);
      break;
    case 'SlotPrepare':
    case 'SlotAccepted':
    case 'Learn':
      break;
    default:
      message satisfies never;
  }
  return out.done();
}

/** @throws FrameError if the bytes are no well-formed message */
export function decodePaxos(bytes: Uint8Array, group: GroupId): PaxosMessage {
  const from = new Reader(bytes, group);
  try {
    const message = read(from, group);
    from.end();
    return message;
  } catch (error) {
    if (error instanceof RangeError) throw new FrameError('cut short', { cause: error });
    throw error;
  }
}

function read(from: Reader, group: GroupId): PaxosMessage {
  if (from.byte() !== form) throw new FrameError('of an unknown form');
  const kind = kinds[from.byte()];
  const base = { group, done: from.slot() };
  switch (kind) {
    case 'SlotPrepare':
    case 'SlotAccepted':
    case 'Learn':
      return { kind, ...base, ...from.place() };
    case 'SlotPromise':
      return { kind, ...base, ...from.place(), vote: from.vote() };
    case 'SlotAccept':
      return { kind, ...base, ...from.place(), entry: from.entry() };
    case 'SlotReject':
      return { kind, ...base, ...from.place(), promised: from.ballot() };
    case 'LearnRequest':
      return { kind, ...base, fromSlot: from.slot(), toSlot: from.slot() };
    case 'LearnReply':
      return { kind, ...base, firstSlot: from.slot(), purgedTo: from.slot(), entries: from.entries() };
    case 'Status':
      return { kind, ...base, commitPoint: from.slot() };
    case undefined:
      throw new FrameError('of an unknown kind');
    default:
      return kind satisfies never;
  }
}
