/**
 * The compact frames of the two messages that travel for every entry: Accept, and Accepted.
 *
 * As msgpack each would be a map of a dozen names that is built and looked through on every replica for every entry; here each field has its place. An Accept that holds anything but commands, or texts that are too long for
 * their places, goes as msgpack like all other messages.
 * Responsible for: these bytes, and checking every field of them. Invariants: such a frame begins with a byte that no msgpack begins with; payloads are views of the frame, not copies.
 *
 *     0xC1, kind: u8, group: name, ballot (round: f64, replica: name), slots (first, last of Accepted only, commit point: f64 each), sentAtMs: f64
 *     Accept goes on: how many: u32, and of each entry: payload bytes: u32, request: f64, client bytes: u16, client, payload
 *     A name: bytes: u8, UTF-8. Numbers are little-endian.
 */
import type { Entry } from '../../multipaxos/types/entries.ts';
import type { Accept, Accepted, Message } from '../../multipaxos/types/messages.ts';
import type { GroupId, ReplicaId } from '../../multipaxos/types/names.ts';
import { clientCharsMax, entriesMax, FrameError, integer, nameCharsMax, slot, text, time } from './fields.ts';

/** Reserved, for ever, by msgpack. */
const mark = 0xc1;
const kinds = { Accept: 1, Accepted: 2 } as const;
const nameBytesMax = 0xff;
const clientBytesMax = 0xffff;
const entryHeadBytes = 14;

type Command = Extract<Entry, { kind: 'command' }>;

/** Null: to be sent as msgpack. */
export function encodeVote(message: Message): Uint8Array | null {
  if (message.kind === 'Accepted') return encodeAccepted(message);
  return message.kind === 'Accept' ? encodeAccept(message) : null;
}

function encodeAccepted(message: Accepted): Uint8Array | null {
  const head = headBytes(message);
  if (head === null) return null;
  const frame = Buffer.allocUnsafe(head + 4 * 8);
  let at = writeHead(frame, message);
  at = frame.writeDoubleLE(message.firstSlot, at);
  at = frame.writeDoubleLE(message.lastSlot, at);
  at = frame.writeDoubleLE(message.commitPoint, at);
  frame.writeDoubleLE(message.sentAtMs, at);
  return frame;
}

function encodeAccept(message: Accept): Uint8Array | null {
  const { entries } = message;
  const head = headBytes(message);
  const body = bodyBytes(entries);
  if (head === null || body === null) return null;
  const frame = Buffer.allocUnsafe(head + 3 * 8 + 4 + body);
  let at = writeHead(frame, message);
  at = frame.writeDoubleLE(message.firstSlot, at);
  at = frame.writeDoubleLE(message.commitPoint, at);
  at = frame.writeDoubleLE(message.sentAtMs, at);
  at = frame.writeUInt32LE(entries.length, at);
  for (const entry of entries as readonly Command[]) at = writeCommand(frame, at, entry);
  return frame;
}

function headBytes({ group, ballot }: Accept | Accepted): number | null {
  const [ofGroup, ofReplica] = [Buffer.byteLength(group), Buffer.byteLength(ballot.replica)];
  return ofGroup > nameBytesMax || ofReplica > nameBytesMax ? null : 2 + 1 + ofGroup + 8 + 1 + ofReplica;
}

function bodyBytes(entries: readonly Entry[]): number | null {
  let bytes = 0;
  for (const entry of entries) {
    if (entry.kind !== 'command') return null;
    const client = Buffer.byteLength(entry.proposal.client);
    if (client > clientBytesMax) return null;
    bytes += entryHeadBytes + client + entry.payload.length;
  }
  return bytes;
}

function writeHead(frame: Buffer, { kind, group, ballot }: Accept | Accepted): number {
  frame[0] = mark;
  frame[1] = kinds[kind];
  const at = writeName(frame, 2, group);
  return writeName(frame, frame.writeDoubleLE(ballot.round, at), ballot.replica);
}

function writeName(frame: Buffer, at: number, name: string): number {
  const bytes = frame.write(name, at + 1);
  frame[at] = bytes;
  return at + 1 + bytes;
}

function writeCommand(frame: Buffer, at: number, { proposal, payload }: Command): number {
  frame.writeUInt32LE(payload.length, at);
  frame.writeDoubleLE(proposal.request, at + 4);
  const client = frame.write(proposal.client, at + entryHeadBytes);
  frame.writeUInt16LE(client, at + 12);
  const payloadAt = at + entryHeadBytes + client;
  frame.set(payload, payloadAt);
  return payloadAt + payload.length;
}

export function isVote(frame: Uint8Array): boolean {
  return frame[0] === mark;
}

/** @throws FrameError if the frame is not a well-formed one of this group */
export function decodeVote(bytes: Uint8Array, group: GroupId): Accept | Accepted {
  const frame = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return readVote(frame, group);
  } catch (error) {
    // What the frame is too short for.
    if (error instanceof RangeError) throw new FrameError('a vote is cut short', { cause: error });
    throw error;
  }
}

/** @throws RangeError if it is cut short, FrameError */
function readVote(frame: Buffer, group: GroupId): Accept | Accepted {
  const kind = frame.readUInt8(1);
  const reader = new Reader(frame, 2);
  if (reader.name('group') !== group) throw new FrameError('of another group');
  const round = integer(reader.number(), 'round');
  const ballot = { round, replica: reader.name('replica') as ReplicaId };
  const firstSlot = slot(reader.number(), 'firstSlot');
  switch (kind) {
    case kinds.Accepted: {
      const lastSlot = slot(reader.number(), 'lastSlot');
      const commitPoint = slot(reader.number(), 'commitPoint');
      const sentAtMs = time(reader.number(), 'sentAtMs');
      reader.end();
      return { kind: 'Accepted', group, ballot, firstSlot, lastSlot, commitPoint, sentAtMs };
    }
    case kinds.Accept: {
      const commitPoint = slot(reader.number(), 'commitPoint');
      const sentAtMs = time(reader.number(), 'sentAtMs');
      const entries = reader.commands(group);
      reader.end();
      return { kind: 'Accept', group, ballot, firstSlot, entries, commitPoint, sentAtMs };
    }
    default:
      throw new FrameError('a vote of an unknown kind');
  }
}

class Reader {
  private readonly frame: Buffer;
  private at: number;

  constructor(frame: Buffer, at: number) {
    this.frame = frame;
    this.at = at;
  }

  number(): number {
    const value = this.frame.readDoubleLE(this.at);
    this.at += 8;
    return value;
  }

  name(what: string): string {
    const from = this.at + 1;
    this.at = this.upTo(from + this.frame.readUInt8(this.at));
    return text(this.frame.toString('utf8', from, this.at), nameCharsMax, what);
  }

  commands(group: GroupId): readonly Entry[] {
    const count = this.frame.readUInt32LE(this.at);
    if (count > entriesMax) throw new FrameError(`more than ${entriesMax} entries`);
    this.at += 4;
    const entries: Entry[] = [];
    for (let n = 0; n < count; n++) entries.push(this.command(group));
    return entries;
  }

  private command(group: GroupId): Entry {
    const { frame, at } = this;
    const clientAt = at + entryHeadBytes;
    const payloadAt = this.upTo(clientAt + frame.readUInt16LE(at + 12));
    this.at = this.upTo(payloadAt + frame.readUInt32LE(at));
    const client = text(frame.toString('utf8', clientAt, payloadAt), clientCharsMax, 'client');
    const request = integer(frame.readDoubleLE(at + 4), 'request');
    return {
      kind: 'command',
      group,
      proposal: { client, request },
      payload: frame.subarray(payloadAt, this.at),
    };
  }

  end(): void {
    if (this.at !== this.frame.length) throw new FrameError('a vote is followed by something');
  }

  private upTo(end: number): number {
    if (end > this.frame.length) throw new RangeError(`${end} is beyond the end of the frame`);
    return end;
  }
}
