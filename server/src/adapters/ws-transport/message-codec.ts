/**
 * Frames of the peers' connections: consensus messages and control messages as msgpack, and back; those that travel for every entry as vote-codec.ts has it.
 *
 * Responsible for: encoding, and decoding with a check of every field, so that the core only ever sees well-formed messages.
 * Does not judge what a message means, nor say whom it is for (envelope.ts). Invariant: a decoded message holds exactly the known
 * keys, rebuilt one by one; the payloads of entries are views of the frame, not copies.
 */
import { Packr, Unpackr } from 'msgpackr';
import type { Entry, Vote } from '../../multipaxos/types/entries.ts';
import type { Configuration } from '../../multipaxos/types/members.ts';
import type { LeaderNote, Message, Pace } from '../../multipaxos/types/messages.ts';
import type { Ballot, GroupId, ReplicaId, Slot } from '../../multipaxos/types/names.ts';
import type { ControlMessage } from '../../ports/control.ts';
import { clipped, controlBytesMax, isControlKind, readControl, withoutDigest } from './control-codec.ts';
import {
  bool,
  clientCharsMax,
  entriesMax,
  type Fields,
  FrameError,
  integer,
  list,
  nameCharsMax,
  object,
  slot,
  text,
  time,
} from './fields.ts';
import { readConfiguration, readMembers } from './member-codec.ts';
import { decodeVote, encodeVote, isVote } from './vote-codec.ts';

// No record extension: a frame says all that is needed to read it, whatever came before on the connection.
const packr = new Packr({ useRecords: false, variableMapSize: true });
const unpackr = new Unpackr({ useRecords: false, mapsAsObjects: true, int64AsType: 'number' });

export function encodeMessage(message: Message): Uint8Array {
  return encodeVote(message) ?? packr.pack(message);
}

/** A report whose digest is too large goes without it, and says so. Null: too large to be sent. */
export function encodeControl(message: ControlMessage, group: GroupId): Uint8Array | null {
  const frame = packr.pack({ group, ...clipped(message) });
  if (frame.byteLength <= controlBytesMax) return frame;
  const smaller = withoutDigest(message, frame.byteLength);
  return smaller === null ? null : packr.pack({ group, ...smaller });
}

export type Frame =
  | { readonly of: 'consensus'; readonly message: Message }
  | { readonly of: 'control'; readonly message: ControlMessage };

/** @throws FrameError if the frame is not a well-formed message of this group */
export function decodeFrame(frame: Uint8Array, group: GroupId): Frame {
  if (isVote(frame)) return { of: 'consensus', message: decodeVote(frame, group) };
  let value: unknown;
  try {
    value = unpackr.unpack(frame);
  } catch (cause) {
    throw new FrameError('not msgpack', { cause });
  }
  const fields = object(value, 'message');
  if (fields.group !== group) throw new FrameError('of another group');
  if (!isControlKind(fields.kind)) {
    return { of: 'consensus', message: readMessage(fields, { group, ballot: ballot(fields.ballot) }) };
  }
  if (frame.byteLength > controlBytesMax)
    throw new FrameError(`a control message of more than ${controlBytesMax} bytes`);
  return { of: 'control', message: readControl(fields, fields.kind) };
}

function readMessage(fields: Fields, base: { readonly group: GroupId; readonly ballot: Ballot }): Message {
  const kind = fields.kind as Message['kind'];
  const commitPoint = (): Slot => slot(fields.commitPoint, 'commitPoint');
  const firstSlot = (): Slot => slot(fields.firstSlot, 'firstSlot');
  const sentAtMs = (): number => time(fields.sentAtMs, 'sentAtMs');
  const configuration = (): Configuration => readConfiguration(fields.configuration);
  const entries = (): Entry[] =>
    list(fields.entries, entriesMax, 'entries').map((item) => entry(item, base.group));
  switch (kind) {
    case 'PreVote':
      return { kind, ...base };
    case 'PreVoteReply':
      return { kind, ...base, granted: bool(fields.granted, 'granted'), configuration: configuration() };
    case 'Prepare':
      return { kind, ...base, commitPoint: commitPoint() };
    case 'Promise': {
      const votes = list(fields.votes, entriesMax, 'votes').map((item) => vote(item, base.group));
      return { kind, ...base, commitPoint: commitPoint(), configuration: configuration(), votes };
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
      return {
        kind,
        ...base,
        commitPoint: commitPoint(),
        sentAtMs: sentAtMs(),
        globalApplicationPointer,
        configuration: configuration(),
        ...(fields.note === undefined ? {} : { note: leaderNote(fields.note) }),
      };
    }
    case 'HeartbeatAck': {
      const durableApplicationPointer = slot(fields.durableApplicationPointer, 'durableApplicationPointer');
      return {
        kind,
        ...base,
        sentAtMs: sentAtMs(),
        commitPoint: commitPoint(),
        durableApplicationPointer,
        ...(fields.pace === undefined ? {} : { pace: pace(fields.pace) }),
      };
    }
    case 'Resigned':
      return { kind, ...base, successor: text(fields.successor, nameCharsMax, 'successor') as ReplicaId };
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
        configuration: configuration(),
      };
    }
    default:
      kind satisfies never;
      throw new FrameError('of an unknown kind');
  }
}

function leaderNote(value: unknown): LeaderNote {
  const fields = object(value, 'note');
  return { serves: bool(fields.serves, 'serves'), ...(fields.asksLinks === true ? { asksLinks: true } : {}) };
}

function pace(value: unknown): Pace {
  const fields = object(value, 'pace');
  const ms = (name: keyof Pace): number | null => (fields[name] === null ? null : time(fields[name], name));
  return { logMs: ms('logMs'), databaseMs: ms('databaseMs'), quorumMs: ms('quorumMs') };
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
    case 'configuration': {
      const version = integer(fields.version, 'version');
      return { kind, group, ballot: ballot(fields.ballot), version, members: readMembers(fields.members) };
    }
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
