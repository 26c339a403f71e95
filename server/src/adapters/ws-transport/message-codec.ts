/**
 * Peer messages to msgpack frames and back.
 *
 * Responsible for: encoding, and decoding with a check of every field, so that the core only ever sees well-formed messages.
 * Does not judge what a message means. Invariant: a decoded message holds exactly the known keys, rebuilt one by one; the
 * payloads of entries are views of the frame, not copies.
 */
import { Packr, Unpackr } from 'msgpackr';
import type { Ballot, Entry, GroupId, Message, ReplicaId, Slot, Vote } from '../../multipaxos/types.ts';

export class FrameError extends Error {
  override readonly name = 'FrameError';
  readonly code = 'malformedFrame';
}

/** More entries than any window or catch-up may hold. */
const entriesMax = 131_072;
const nameCharsMax = 64;
const clientCharsMax = 256;

// No record extension: a frame says all that is needed to read it, whatever came before on the connection.
const packr = new Packr({ useRecords: false, variableMapSize: true });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });

export function encodeMessage(message: Message): Uint8Array {
  return packr.pack(message);
}

/** @throws FrameError if the frame is not a well-formed message of this group */
export function decodeMessage(frame: Uint8Array, group: GroupId): Message {
  let value: unknown;
  try {
    value = unpackr.unpack(frame);
  } catch (cause) {
    throw new FrameError('not msgpack', { cause });
  }
  const fields = object(value, 'message');
  if (fields.group !== group) throw new FrameError('of another group');
  return readMessage(fields, { group, ballot: ballot(fields.ballot) });
}

type Fields = Readonly<Record<string, unknown>>;

function readMessage(fields: Fields, base: { readonly group: GroupId; readonly ballot: Ballot }): Message {
  const kind = fields.kind as Message['kind'];
  const commitPoint = (): Slot => slot(fields.commitPoint, 'commitPoint');
  const firstSlot = (): Slot => slot(fields.firstSlot, 'firstSlot');
  const sentAtMs = (): number => time(fields.sentAtMs);
  const entries = (): Entry[] => list(fields.entries, 'entries').map((item) => entry(item, base.group));
  switch (kind) {
    case 'PreVote':
      return { kind, ...base };
    case 'PreVoteReply':
      return { kind, ...base, granted: bool(fields.granted, 'granted') };
    case 'Prepare':
      return { kind, ...base, commitPoint: commitPoint() };
    case 'Promise': {
      const votes = list(fields.votes, 'votes').map((item) => vote(item, base.group));
      return { kind, ...base, commitPoint: commitPoint(), votes };
    }
    case 'Reject':
      return { kind, ...base, promised: ballot(fields.promised) };
    case 'Accept':
      return {
        kind,
        ...base,
        firstSlot: firstSlot(),
        entries: entries(),
        commitPoint: commitPoint(),
        sentAtMs: sentAtMs(),
      };
    case 'Accepted': {
      const lastSlot = slot(fields.lastSlot, 'lastSlot');
      return {
        kind,
        ...base,
        firstSlot: firstSlot(),
        lastSlot,
        commitPoint: commitPoint(),
        sentAtMs: sentAtMs(),
      };
    }
    case 'Heartbeat': {
      const globalApplicationPointer = slot(fields.globalApplicationPointer, 'globalApplicationPointer');
      return { kind, ...base, commitPoint: commitPoint(), sentAtMs: sentAtMs(), globalApplicationPointer };
    }
    case 'HeartbeatAck': {
      const durableApplicationPointer = slot(fields.durableApplicationPointer, 'durableApplicationPointer');
      return { kind, ...base, sentAtMs: sentAtMs(), commitPoint: commitPoint(), durableApplicationPointer };
    }
    case 'CatchUpRequest':
      return {
        kind,
        ...base,
        fromSlot: slot(fields.fromSlot, 'fromSlot'),
        toSlot: slot(fields.toSlot, 'toSlot'),
      };
    case 'CatchUpReply': {
      const purgedTo = slot(fields.purgedTo, 'purgedTo');
      return {
        kind,
        ...base,
        firstSlot: firstSlot(),
        entries: entries(),
        commitPoint: commitPoint(),
        purgedTo,
      };
    }
    default:
      kind satisfies never;
      throw new FrameError('of an unknown kind');
  }
}

function entry(value: unknown, group: GroupId): Entry {
  const fields = object(value, 'entry');
  if (fields.group !== group) throw new FrameError('entry of another group');
  const kind = fields.kind as Entry['kind'];
  switch (kind) {
    case 'noop':
      return { kind, group };
    case 'leaderStart':
      return { kind, group, ballot: ballot(fields.ballot) };
    case 'command': {
      const proposal = object(fields.proposal, 'proposal');
      const client = text(proposal.client, clientCharsMax, 'client');
      const request = integer(proposal.request, 'request');
      const payload = fields.payload;
      if (!(payload instanceof Uint8Array)) throw new FrameError('payload is not bytes');
      return { kind, group, proposal: { client, request }, payload };
    }
    default:
      kind satisfies never;
      throw new FrameError('entry of an unknown kind');
  }
}

function vote(value: unknown, group: GroupId): Vote {
  const fields = object(value, 'vote');
  return {
    slot: slot(fields.slot, 'slot'),
    ballot: ballot(fields.ballot),
    entry: entry(fields.entry, group),
  };
}

function ballot(value: unknown): Ballot {
  const fields = object(value, 'ballot');
  return {
    round: integer(fields.round, 'round'),
    replica: text(fields.replica, nameCharsMax, 'replica') as ReplicaId,
  };
}

function object(value: unknown, what: string): Fields {
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FrameError(`${what} is not a map`);
  return value as Fields;
}

function list(value: unknown, what: string): readonly unknown[] {
  if (!Array.isArray(value)) throw new FrameError(`${what} is not a list`);
  if (value.length > entriesMax) throw new FrameError(`${what} has more than ${entriesMax} items`);
  return value as readonly unknown[];
}

function integer(value: unknown, what: string): number {
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw new FrameError(`${what} is not a whole number`);
  return value as number;
}

function slot(value: unknown, what: string): Slot {
  return integer(value, what) as Slot;
}

function time(value: unknown): number {
  if (typeof value !== 'number' || !Number.isFinite(value)) throw new FrameError('sentAtMs is not a time');
  return value;
}

function text(value: unknown, charsMax: number, what: string): string {
  if (typeof value !== 'string' || value.length > charsMax)
    throw new FrameError(`${what} is not a short text`);
  return value;
}

function bool(value: unknown, what: string): boolean {
  if (typeof value !== 'boolean') throw new FrameError(`${what} is not true or false`);
  return value;
}
